package watch

import (
	"fmt"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

type mode int

const (
	browsing    mode = iota
	noting           // the note of a denial is typed
	filtering        // the filter of the list is typed
	remembering      // the patterns of a grant are chosen
	patterning       // one more of them is typed
	confirming       // an edit is shown
	helping          // the keys are shown
	answering        // an answer, or words to a call, are typed
)

type question struct {
	mode  mode
	input string // as typed so far
	grant grantDraft
	form  form
}

// asks reports whether the question is about the selected request.
func (q *question) asks() bool {
	return q.mode == noting || q.mode == remembering || q.mode == patterning || q.mode == confirming || q.mode == answering
}

func (q *question) ask(mode mode) { q.mode, q.input, q.form = mode, "", form{} }

func (q *question) filter(now string) { q.mode, q.input = filtering, now }

func (q *question) close() {
	if q.asks() {
		q.ask(browsing)
	}
}

// writesOn reports whether the reviewer writes something else than the note or the answer
// that was sent.
func (q *question) writesOn(note string) bool {
	return q.mode == patterning || (q.mode == answering && !q.form.sent) || (q.mode == noting && strings.TrimSpace(q.input) != note)
}

func (q *question) paste(text string) {
	if q.mode == noting || q.mode == filtering || q.mode == patterning || (q.mode == answering && !q.form.isSummary()) {
		q.input += text
		q.form.sent = false
	}
}

func (q *question) typed(key tea.KeyPressMsg) {
	switch key.String() {
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(q.input)
		q.input = q.input[:len(q.input)-size]
	case "ctrl+u":
		q.input = ""
	default:
		q.input += key.Key().Text
	}
}

func (q *question) typePattern(key tea.KeyPressMsg) {
	switch key.String() {
	case "esc":
		q.ask(remembering)
	case "enter":
		if pattern := strings.TrimSpace(q.input); pattern != "" {
			q.grant = q.grant.with(pattern)
		}
		q.ask(remembering)
	default:
		q.typed(key)
	}
}

// prompt writes the question about a request, and returns the keys that answer it; ""
// while nothing is asked.
func (q *question) prompt(f *footer, r *approvals.Request) (keys string) {
	switch q.mode {
	case helping:
		return "any key goes back"
	case noting:
		f.add(styles.label, "Reason (sent to the model): "+q.input+"▏")
		return "Enter deny · Esc cancel"
	case answering:
		return q.form.prompt(f, r, q.input)
	case filtering:
		f.add(styles.label, "Filter: "+q.input+"▏")
		return "Enter apply · Esc show all"
	case remembering:
		f.add(styles.label, fmt.Sprintf("From now on, for %s, %s:", r.Whose(q.grant.scopes[q.grant.scope]), q.grant.howLong()))
		for i, chosen := range q.grant.chosen {
			f.add(styles.plain, fmt.Sprintf("%d [%s] %s", i+1, map[bool]string{true: "x", false: " "}[chosen], q.grant.patterns[i]))
			if effect := q.grant.effects[q.grant.patterns[i]]; effect != "" {
				f.add(styles.dim, "      "+effect)
			}
		}
		return "1-9 toggle · t custom · s scope · l how long · a allow · d deny · Esc back"
	case patterning:
		f.add(styles.label, "Pattern, such as "+q.grant.example()+": "+q.input+"▏")
		return "Enter add · Esc cancel"
	case confirming:
		return "Enter approve with these · e edit again · Esc discard · arrows scroll"
	}
	return ""
}
