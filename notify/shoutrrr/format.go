package shoutrrr

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/notify"
)

type format struct {
	open, end string            // around a foreign text
	escapes   map[rune]string   // what would be markup or a mention in it
	links     bool              // foreign text is code, in which nothing becomes a link
	most      int               // bytes of a message
	title     bool              // the message has a title
	settings  map[string]string // that select this format, whatever the URL has
}

const (
	// mostBytes is what every service but the small ones takes as one message.
	mostBytes = 1900
	// fewBytes is what those take.
	fewBytes = 1000
)

// asEscape returns escapes of characters, in the form of [sanitize.Line].
func asEscape(chars string) map[rune]string {
	escapes := map[rune]string{}
	for _, r := range chars {
		escapes[r] = fmt.Sprintf(`\u%04x`, r)
	}
	return escapes
}

// Texts of models are in code where a service has it. Elsewhere they are in quotes, and
// characters that could be markup or end the quotes are written as escapes. Everywhere so
// are those that could be a mention.
var (
	asHTML   = format{open: "<code>", end: "</code>", escapes: map[rune]string{'&': "&amp;", '<': "&lt;", '>': "&gt;"}, links: true}
	asCode   = format{open: "`", end: "`", escapes: asEscape("`@<"), links: true}
	asPlain  = format{open: `"`, end: `"`, escapes: asEscape(`"@`)}
	asLetter = format{open: `"`, end: `"`, escapes: asEscape("\"`*_[]#~<>|&@")}
)

func (f format) with(most int, title bool, settings map[string]string) format {
	f.most, f.title, f.settings = most, title, settings
	return f
}

// formatOf returns that of the service of a URL: the most careful where it is not known.
func formatOf(text string) format {
	scheme, _, _ := strings.Cut(text, ":")
	scheme, _, _ = strings.Cut(strings.ToLower(scheme), "+")
	switch scheme {
	case "telegram":
		return asHTML.with(mostBytes, true, map[string]string{"parsemode": "HTML", "preview": "No"})
	case "discord": // with a title it is an embed, which mentions nobody
		return asCode.with(mostBytes, true, map[string]string{"splitlines": "No"})
	case "mattermost", "rocketchat", "zulip", "googlechat", "hangouts", "notifiarr":
		return asCode.with(mostBytes, false, nil)
	case "slack":
		f := asCode.with(mostBytes, false, nil)
		f.escapes = asEscape("`@")
		for r, escape := range asHTML.escapes {
			f.escapes[r] = escape
		}
		return f
	case "smtp", "ntfy", "gotify":
		return asPlain.with(mostBytes, true, nil)
	case "pushover":
		return asPlain.with(fewBytes, true, nil)
	case "matrix", "signal", "bark", "pushbullet", "opsgenie", "wecom":
		return asPlain.with(mostBytes, false, nil)
	case "join", "ifttt", "pagerduty":
		return asPlain.with(fewBytes, false, nil)
	}
	return asLetter.with(mostBytes, false, nil)
}

// params returns the settings of one message. The title contains no text of a model; a
// title in the URL replaces it.
func (f format) params(text string, d notify.Delivery) map[string]string {
	params := map[string]string{}
	for key, value := range f.settings {
		params[key] = value
	}
	u, err := url.Parse(text)
	if !f.title || err != nil {
		return params
	}
	for key := range u.Query() {
		if key = strings.ToLower(key); key == "title" || key == "subject" {
			return params
		}
	}
	params["title"] = titleOf(d.Requests)
	return params
}

func titleOf(requests []approvals.Request) string {
	words, many := approvals.WordsFor(requests[0].Kind), approvals.ManyFor(requests)
	switch {
	case len(requests) == 1 && words.Asks != "":
		return "heldcall: the agent " + words.Asks
	case len(requests) == 1:
		return "heldcall: " + words.One + " needs approval"
	case many == words.Many && words.Asks == "":
		return "heldcall: " + many + " need approval"
	default:
		return "heldcall: " + many + " wait for people"
	}
}

// wwwDot begins a link that names no scheme.
var wwwDot = regexp.MustCompile(`(?i)(www)\.`)

// quote returns a foreign text in this format: on one line, within a number of bytes, and
// whether that is all of it.
func (f format) quote(text string, most int) (quoted string, whole bool) {
	if len(text) > most+utf8.UTFMax { // it does not fit, and may be megabytes
		end := most
		for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:max(end, 0)] + "…"
	}
	text = sanitize.Line(text)
	if !f.links {
		text = strings.ReplaceAll(text, "://", `:\u002f\u002f`)
		text = wwwDot.ReplaceAllString(text, `$1\u002e`)
	}
	if strings.TrimSpace(text) == "" {
		text = "(empty)"
	}
	var out strings.Builder
	left := most - len(f.open) - len(f.end) - len("…")
	for _, r := range text {
		piece, special := f.escapes[r]
		if !special {
			piece = string(r)
		}
		if left -= len(piece); left < 0 {
			return f.open + out.String() + "…" + f.end, false
		}
		out.WriteString(piece)
	}
	return f.open + out.String() + f.end, true
}

// ending returns a foreign text that ends its line: quotes, of which JSON is full, are left
// in it.
func (f format) ending(text string, most int) (quoted string, whole bool) {
	f.escapes = maps.Clone(f.escapes)
	delete(f.escapes, '"')
	return f.quote(text, most)
}

// own returns a text of heldcall's, with its markup escaped.
func (f format) own(text string) string {
	if f.open != asHTML.open {
		return text
	}
	return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(text)
}
