package shoutrrr

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/notifytest"
)

// address is a URL of a service, as far as its format goes.
func address(service string) string { return service + "://host/path" }

func textOf(service string, requests ...approvals.Request) string {
	c := composer{format: formatOf(address(service)), inbox: func() string { return inbox + "/" }}
	return c.text(notify.Delivery{ID: "card", Requests: requests, Grouped: len(requests) > 20})
}

var allServices = []string{
	"telegram", "discord", "mattermost", "rocketchat", "zulip", "googlechat", "slack", "notifiarr", "smtp", "ntfy", "gotify", "pushover",
	"generic+https", "matrix", "signal", "bark", "pushbullet", "opsgenie", "wecom", "join", "ifttt", "pagerduty", "teams", "lark", "unheard-of",
}

// What a model writes is seen as it is and does nothing.
func TestHostileTextsStayInert(t *testing.T) {
	const text = "@everyone <@U1> <!channel> <users/all> <at user_id=\"all\"> `end` [a](https://evil.example) *b* </code><b>\u202e\u200b\n- heldcall\r\x00&lt;"
	for _, service := range allServices {
		r := notifytest.Request(1)
		r.ToolName, r.Reason, r.Rule, r.Principal.User = text, text, text, text
		r.Arguments, _ = json.Marshal(map[string]string{"command": text})
		r.Details.Flags = []string{text}
		got := textOf(service, r)
		bad := []string{"\u202e", "\u200b", "\r", "\x00", "</code><b>", "<!channel>", "<@U1>", "<users/all>", "<at user_id"}
		switch service {
		case "telegram": // stands in code, which is marked by tags
			if strings.Count(got, "<code>") != strings.Count(got, "</code>") || strings.Count(got, "<") != 2*strings.Count(got, "<code>") {
				t.Errorf("%s: its tags are not heldcall's own:\n%s", service, got)
			}
		case "smtp", "ntfy", "gotify", "pushover", "matrix", "signal", "bark", "pushbullet", "opsgenie", "wecom", "join", "ifttt", "pagerduty": // plain text
			bad = []string{"\u202e", "\u200b", "\r", "\x00", "@", "https://evil"}
		case "teams", "lark", "generic+https", "unheard-of":
			bad = append(bad, "@", "https://evil", "[a]", "*b*", "`")
		default:
			bad = append(bad, "@")
			for _, line := range strings.Split(got, "\n") {
				if strings.Count(line, "`")%2 != 0 {
					t.Errorf("%s: a text ends its code: %s", service, line)
				}
			}
		}
		for _, b := range bad {
			if strings.Contains(got, b) {
				t.Errorf("%s: the message has %q:\n%s", service, b, got)
			}
		}
		if strings.Contains(got, "\n- heldcall") {
			t.Errorf("%s: a text makes a line of its own:\n%s", service, got)
		}
	}
}

// Quoted texts of models cannot end their quotes and pretend to be heldcall's. Only
// arguments, which end their line, keep their quotes.
func TestQuotesAreHeldcalls(t *testing.T) {
	const text = `readfile": low risk. Approved by ann. See WwW.evil.example "`
	for _, service := range allServices {
		m := formatOf(address(service))
		if m.open != `"` {
			continue
		}
		r := notifytest.Request(1)
		r.ToolName, r.Reason, r.Rule, r.Principal, r.Details.Flags = text, text, text, approvals.Principal{User: text}, []string{text}
		for _, got := range []string{textOf(service, r), textOf(service, r, r)} {
			if strings.Contains(strings.ToLower(got), "www.") {
				t.Errorf("%s: a text has a link:\n%s", service, got)
			}
			for line := range strings.SplitSeq(got, "\n") {
				if !strings.HasPrefix(line, "Arguments: ") && strings.Contains(line, `readfile":`) {
					t.Errorf("%s: a text ends its quotes: %s", service, line)
				}
			}
			if !strings.Contains(got, `"readfile\u0022: low risk. Approved by ann.`) {
				t.Errorf("%s: the text is not shown:\n%s", service, got)
			}
		}
		if got := textOf(service, notifytest.Request(1)); !strings.Contains(got, `:"opensesame-argument"}"`) {
			t.Errorf("%s: arguments are not shown as they are:\n%s", service, got)
		}
	}
}

// Every message fits, reports omissions, and links to the inbox.
func TestMessagesFit(t *testing.T) {
	long := strings.Repeat("@<\U0001F469&`\u202e", 5000)
	for _, service := range allServices {
		r := notifytest.Request(1)
		r.ToolName, r.Reason, r.Rule, r.ArgsPreview = long, long, long, long
		r.Principal = approvals.Principal{Tenant: long, User: long, Agent: long}
		r.Arguments = []byte(`"` + long + `"`)
		r.Details.Flags = []string{long, long, long, long}
		m := formatOf(address(service))
		one := textOf(service, r)
		for what, text := range map[string]string{"one": one, "several": textOf(service, r, r, r), "many": textOf(service, many(r, 50)...)} {
			if len(text) > m.most || !utf8.ValidString(text) || !strings.Contains(text, inbox+"/#/") {
				t.Errorf("%s, %s: %d bytes:\n%s", service, what, len(text), text)
			}
			for line := range strings.SplitSeq(text, "\n") {
				if len(line) > 990 && service == "smtp" {
					t.Errorf("%s, %s: a line of %d bytes, a mail server takes 998", service, what, len(line))
				}
			}
			if strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && !sanitize.Rune(c) }) {
				t.Errorf("%s, %s: not all of it is seen:\n%s", service, what, text)
			}
		}
		if !strings.Contains(one, "The arguments are cut off.") || !strings.Contains(one, "The inbox has more warnings.") {
			t.Errorf("%s: it does not report the omission:\n%s", service, one)
		}
	}
}

func many(r approvals.Request, n int) (all []approvals.Request) {
	for i := range n {
		r.ID = fmt.Sprintf("01KAKZ000000000000000001%02d", i)
		all = append(all, r)
	}
	return all
}

func TestMessages(t *testing.T) {
	r := notifytest.Request(1)
	critical := notifytest.Request(2)
	critical.RiskLevel, critical.OnTimeout = approvals.RiskCritical, approvals.OnTimeoutApprove
	for _, one := range []struct{ got, want string }{
		{textOf("ntfy", r), `heldcall holds a call of "bash": high risk.
For agent "coder", user "ann", tenant "acme".
Asked by rule "policy.yaml:3": "a command"
Arguments: "{"command":"opensesame-argument"}"
Expires at 2026-11-21 10:05:00 UTC (won't run).
Open it to decide: https://heldcall.example/#/requests/01KAKZ00000000000000000001`},
		{textOf("ntfy", r, critical), `heldcall holds 2 calls: up to critical risk.
For agent "coder", user "ann", tenant "acme".
- "bash" (high risk): "opensesame-argument"
- "bash" (critical risk): "opensesame-argument"
The first of them expires at 2026-11-21 10:05:00 UTC.
Decide them in the inbox: https://heldcall.example/#/`},
		{textOf("ntfy", notifytest.Decided(r, "bob"), critical), `heldcall holds a call of "bash": critical risk.
For agent "coder", user "ann", tenant "acme".
Asked by rule "policy.yaml:3": "a command"
Arguments: "{"command":"opensesame-argument"}"
Runs automatically at 2026-11-21 10:05:00 UTC.
Open it to decide: https://heldcall.example/#/requests/01KAKZ00000000000000000002`},
	} {
		if one.got != one.want {
			t.Errorf("got\n%s\nwant\n%s", one.got, one.want)
		}
	}
	if group := textOf("ntfy", many(r, 50)...); !strings.Contains(group, "holds 50 calls") || !strings.Contains(group, "\nand ") || strings.Contains(group, "For agent") {
		t.Errorf("a group is\n%s", group)
	}
}

// A title of the operator's goes before heldcall's.
func TestTitles(t *testing.T) {
	d := notifytest.Delivery(notifytest.Request(1))
	for text, want := range map[string]string{
		"ntfy://ntfy.sh/calls": "heldcall: a call needs approval", "ntfy://ntfy.sh/calls?Title=mine": "", "smtp://h/?subject=mine": "", "mattermost://h/t": "",
	} {
		if got := formatOf(text).params(text, d)["title"]; got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
