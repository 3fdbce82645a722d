package intercept_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
)

// toyFrame is the smallest frame: the length of an event, a colon, the event. An event of no
// bytes keeps a connection alive.
type toyFrame struct{ rest []byte }

func (f *toyFrame) Write(block []byte) error {
	f.rest = append(bytes.Clone(f.rest), block...)
	return nil
}

func (f *toyFrame) Next() (part []byte, ok bool, err error) {
	head, data, whole := bytes.Cut(f.rest, []byte(":"))
	if !whole {
		return nil, false, nil
	}
	n, err := strconv.Atoi(string(head))
	if err != nil || n < 0 {
		return nil, false, intercept.NotUnderstood("the length of an event is not a number")
	}
	if len(data) < n {
		return nil, false, nil
	}
	size := len(head) + 1 + n
	part, f.rest = f.rest[:size:size], f.rest[size:]
	return part, true, nil
}

func (f *toyFrame) Rest() []byte { return f.rest }

func (*toyFrame) Parse(p *intercept.Part) error {
	head, data, _ := bytes.Cut(p.Bytes, []byte(":"))
	if string(head) != strconv.Itoa(len(data)) || (len(data) > 0 && !p.Add(data)) {
		return intercept.NotUnderstood("an event is cut off, or no strict JSON")
	}
	return nil
}

func (*toyFrame) Check(*intercept.Part) error { return nil }

func (*toyFrame) Single(part []byte, _ string) (data []byte, ok bool) {
	_, data, ok = bytes.Cut(part, []byte(":"))
	return data, ok
}

func (*toyFrame) Append(dst []byte, e intercept.Event) []byte {
	return fmt.Appendf(dst, "%d:%s", len(e.Data), e.Data)
}

func (*toyFrame) Unended([]byte) string { return "" }

func (*toyFrame) Idle() string { return "0:" }

// played is what an agent got: the events that passed, and those after the ruling.
type played struct {
	before, after []string
	err           string
	nexts         int
}

// playIn plays events in a frame, nil for server-sent events, in blocks of n bytes.
func playIn(t *testing.T, newFrame func() intercept.Frame, request toyRequest, bodies [][]string, n int, rule intercepttest.Ruler) (p played) {
	t.Helper()
	var frame intercept.Frame = new(intercept.Stream)
	a := intercept.NewAnswer(request, intercept.Limits{MaxBytes: 1 << 20, MaxContinuations: 2, TurnID: "t"})
	if newFrame != nil {
		a.UseFrame(newFrame)
		frame = newFrame()
	}
	for i, events := range bodies {
		a.Begin()
		var body []byte
		for _, data := range events {
			body = frame.Append(body, intercept.Event{Data: data})
		}
		var err error
		for len(body) > 0 && err == nil {
			block := body[:min(n, len(body))]
			var out []byte
			out, err = a.Write(bytes.Clone(block))
			p.before = append(p.before, eventsIn(t, frame, out)...)
			body = body[len(block):]
		}
		if err == nil {
			p.before = append(p.before, eventsIn(t, frame, a.Heartbeat(intercept.HeartbeatEvent))...)
			_, err = a.End(true)
		}
		if err != nil {
			p.err = err.Error()
			p.after = eventsIn(t, frame, a.Fail(intercept.Cut()))
			return p
		}
		var rulings []intercept.Ruling
		for i, c := range a.Calls() {
			rulings = append(rulings, rule(i, c))
		}
		s, err := a.Resolve(rulings)
		if err != nil {
			t.Fatal(err)
		}
		if p.after = eventsIn(t, frame, s.Bytes); s.Next == nil {
			return p
		}
		if p.nexts++; i == len(bodies)-1 {
			t.Fatal("the answer has no end")
		}
		p.before, p.after = append(p.before, p.after...), nil
	}
	return p
}

// eventsIn are the events in a frame.
func eventsIn(t *testing.T, frame intercept.Frame, out []byte) (events []string) {
	t.Helper()
	if err := frame.Write(bytes.Clone(out)); err != nil {
		t.Fatal(err)
	}
	for {
		part, ok, err := frame.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return events
		}
		p := intercept.Part{Bytes: part}
		if err := frame.Parse(&p); err != nil {
			t.Fatal(err)
		}
		for _, data := range p.Payloads {
			events = append(events, string(data))
		}
	}
}

// TestASecondFrame: neither the machine nor a codec knows server-sent events. The same events in
// another frame pass, are held, ruled on and continued alike.
func TestASecondFrame(t *testing.T) {
	say, end := `{"say":"Hi."}`, `{"end":true}`
	call := toyCalls("held", "h", `{"x"`, `:"secret"}`)
	two := append(append([]string{say, say}, call...), append(toyCalls("other", "o", `{}`), say, end)...)
	for name, bodies := range map[string][][]string{
		"text":                {{say, say, end}},
		"calls":               {two, {say, end}},
		"an error":            {append(call[:2:2], `{"err":true}`)},
		"no strict JSON":      {{say, `{"say":"a","say":"b"}`}},
		"an unknown event":    {{say, `{"other":1}`, end}},
		"cut":                 {call[:2]},
		"a part that waits":   {{say, `{"wait":true}`, say, end}},
		"a call after an end": {append([]string{end}, call...)},
	} {
		for i, rule := range []intercepttest.Ruler{intercepttest.ReleaseAll, intercepttest.DenyAll, intercepttest.EditAll, intercepttest.Mixed, intercepttest.AbortAll} {
			for _, n := range []int{1, 7, 1 << 20} {
				request := toyRequest{overtakes: n == 7}
				want := playIn(t, nil, request, bodies, n, rule)
				got := playIn(t, func() intercept.Frame { return &toyFrame{} }, request, bodies, n, rule)
				if name == "no strict JSON" { // each frame has its own words
					want.err, got.err = strconv.FormatBool(want.err == ""), strconv.FormatBool(got.err == "")
				}
				if d := cmp.Diff(want, got, cmp.AllowUnexported(played{})); d != "" {
					t.Errorf("%s, ruler %d, blocks of %d (-server-sent +toy):\n%s", name, i, n, d)
				}
				if denied := i == 1 || i == 4; denied && strings.Contains(strings.Join(append(got.before, got.after...), ""), "secret") {
					t.Errorf("%s: a denied call leaked: %+v", name, got)
				}
			}
		}
	}
}
