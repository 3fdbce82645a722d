package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
)

// outcome is what an answer makes of a stream.
type outcome struct {
	Calls []intercept.Call
	Got   string // by the agent, before any ruling
	Err   string
}

// readEvents reads a stream event by event. With forms, it learns those of its events.
func readEvents(t *testing.T, body string, forms bool) (r outcome) {
	t.Helper()
	p := newPlayer(t, asked(request1), 1<<20, intercept.Limits{})
	p.Answer.Begin()
	for _, event := range strings.SplitAfter(body, "\n\n") {
		out, err := p.Answer.Write([]byte(event))
		if r.Got += string(out); err != nil {
			r.Err = err.Error()
			return r
		}
		if !forms {
			p.Answer.Forget()
		}
	}
	if _, err := p.Answer.End(true); err != nil {
		r.Err = err.Error()
	}
	r.Calls = p.Answer.Calls()
	return r
}

// inPieces is a stream with one call, whose input comes in the given events: the text of a
// delta or, after a =, the whole.
func inPieces(events ...string) string {
	s := newScript("resp_1").begin()
	const of = `"item_id":"fc_a","output_index":0,`
	s.event("response.output_item.added", `"output_index":0,"item":`+strings.Replace(function("a", "bash", ""), "completed", "in_progress", 1))
	for _, text := range events {
		if whole, ok := strings.CutPrefix(text, "="); ok {
			s.event("response.function_call_arguments.done", of+fmt.Sprintf(`"arguments":%q`, whole))
		} else {
			s.event("response.function_call_arguments.delta", of+fmt.Sprintf(`"delta":%q`, text))
		}
	}
	s.event("response.output_item.done", `"output_index":0,"item":`+function("a", "bash", "{}"))
	s.items = append(s.items, function("a", "bash", "{}"))
	return s.end()
}

// An event of a known form means what the decoder makes of it.
func TestKnownFormsOfAnInput(t *testing.T) {
	for name, pieces := range map[string][]string{
		"in one piece":                {"{}", "={}"},
		"in pieces":                   {"{", "", "}", "={}"},
		"empty pieces":                {"", "", "={}"},
		"an empty piece at the end":   {"{", "}", "", "={}"},
		"other pieces":                {"{", `\"a\":1`, "={}"},
		"an empty piece after all":    {"{", "}", "={}", ""},
		"a piece after all":           {"{", "", "={}", "}"},
		"empty pieces, one after all": {"", "", "={}", ""},
	} {
		body := inPieces(pieces...)
		if diff := cmp.Diff(readEvents(t, body, false), readEvents(t, body, true)); diff != "" {
			t.Errorf("%s (-decoded +by known forms):\n%s", name, diff)
		}
	}
}

// The sequence number of an event has the same bound whether its form is known or not.
func TestKnownFormsOfANumber(t *testing.T) {
	for _, item := range []string{speech, function("a", "bash", ls)} {
		for _, first := range []int{1<<31 - 100, 1<<31 - 10, 1e15 - 10} {
			s := newScript("resp_1").begin()
			s.number, s.pieces = first, 20
			body := s.item(item).end()
			decoded, known := readEvents(t, body, false), readEvents(t, body, true)
			if diff := cmp.Diff(decoded, known); diff != "" {
				t.Errorf("from %d (-decoded +by known forms):\n%s", first, diff)
			}
			if refused := strings.Contains(decoded.Err, "a sequence number"); refused != (first > 1<<31-100) {
				t.Errorf("from %d: error %q", first, decoded.Err)
			}
		}
	}
}
