package chat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// sane generates a stream as the standard has it: calls numbered from 0, a
// finish for each choice. It returns the contents of each choice.
func (d dice) sane(id string, choices int) (stream []byte, said map[int]*choiceSeen) {
	said = make(map[int]*choiceSeen)
	line := func(index int, delta, finish string) {
		if finish != "null" {
			finish = strictjson.Quote(finish)
		}
		part := fmt.Sprintf("data: {\"id\":%q,\"choices\":[{\"index\":%d,\"delta\":%s,\"finish_reason\":%s}]}\n\n", id, index, delta, finish)
		stream = append(stream, part...)
	}
	for i := range choices {
		said[i] = &choiceSeen{role: "assistant"}
		if d.N(3) > 0 {
			line(i, `{"role":"assistant","content":""}`, "null")
		} else {
			line(i, `{"role":"assistant"}`, "null")
		}
	}
	for range d.N(14) {
		i := d.N(choices)
		s := said[i]
		k := len(s.calls)
		switch throw := d.N(5); {
		case throw == 0:
			s.content += "word "
			line(i, `{"content":"word "}`, "null")
		case throw == 1 || k == 0:
			c := callSeen{id: d.Mark("I"), name: d.Mark("N"), args: d.Pick("", `{"m":"`)}
			s.calls = append(s.calls, c)
			line(i, fmt.Sprintf(`{%s"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}`, d.Pick("", `"content":null,`), k, c.id, c.name, c.args), "null")
		default:
			at := d.N(k)
			piece := d.Mark("A")
			s.calls[at].args += piece
			line(i, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]}`, at, piece), "null")
		}
	}
	for i := range choices {
		s := said[i]
		s.finish = "stop"
		if len(s.calls) > 0 {
			s.finish = "tool_calls"
		}
		line(i, "{}", s.finish)
	}
	stream = append(stream, fmt.Sprintf("data: {\"id\":%q,\"choices\":[],\"usage\":{\"total_tokens\":1}}\n\n", id)...)
	return append(stream, d.Pick(done, "")...), said
}

// FuzzSane: of a well-formed answer of several choices, whatever the rulings, the
// agent gets a well-formed answer that has exactly what was released, as it was
// edited; and providers accept the conversation with which it continues.
func FuzzSane(f *testing.F) {
	for i := range 40 {
		f.Add(intercepttest.Throws(i+100, 400), []byte{6, 200})
	}
	f.Fuzz(func(t *testing.T, b, sizes []byte) {
		d := dice{&intercepttest.Dice{Throws: b}}
		turn := d.N(3)
		choices := 1 + d.N(4)/2
		stream, said := d.sane("c1", choices)
		upstream, saids := [][]byte{stream}, []map[int]*choiceSeen{said}
		for i := range 2 {
			stream, said := d.sane(fmt.Sprint("c", i+2), 1)
			upstream, saids = append(upstream, stream), append(saids, said)
		}
		fates := make(map[string]intercept.Action)
		p := play(t, request1, upstream, sizes, intercept.Limits{}, func(n int, c intercept.Call) intercept.Ruling {
			r := intercepttest.Mixed(turn+n*(1+turn/2), c)
			if fates[c.ID] = r.Action; len(c.Ambiguous) > 0 && strictjson.Strict([]byte(c.Arguments)) == nil {
				t.Fatalf("%+v is in no doubt", c)
			}
			return r
		})
		if p.Err != nil {
			t.Fatalf("%v\nupstream: %s", p.Err, upstream)
		}
		got, err := foldStrict(string(p.Out()))
		if err != nil {
			t.Fatalf("%v\nagent: %s\nupstream: %s", err, p.Out(), upstream)
		}
		want, continued := finalChoices(saids, fates)
		if len(p.Nexts) != continued || len(got.choices) != len(want) {
			t.Fatalf("%d continuations and %d choices, want %d and %d\nagent: %s", len(p.Nexts), len(got.choices), continued, len(want), p.Out())
		}
		for i, s := range want {
			checkChoice(t, got.choices[i], s, fates, p.Out())
			checkEcho(t, got.choices[i], s, fates, p.Hidden)
		}
	})
}

// finalChoices returns the final contents of each choice, and how many continuations it
// takes: an answer with one choice goes on while all its calls are denied, twice at most. Others end.
func finalChoices(saids []map[int]*choiceSeen, fates map[string]intercept.Action) (said map[int]*choiceSeen, continued int) {
	lost := func(c *choiceSeen) bool {
		return len(c.calls) > 0 && !slices.ContainsFunc(c.calls, func(c callSeen) bool { return fates[c.id] != intercept.Deny })
	}
	said = maps.Clone(saids[0])
	for ; len(said) == 1 && continued < 2 && lost(said[0]); continued++ {
		said[0] = follow(said[0], saids[continued+1][0])
	}
	text := closed
	if len(said) == 1 {
		text = notice.TooManyDenials(3)
	}
	for i, c := range said {
		if lost(c) {
			said[i] = follow(c, &choiceSeen{role: c.role, content: text, calls: c.calls})
		}
	}
	return said, continued
}

// follow returns the contents of a choice that continues after a denial.
func follow(before, then *choiceSeen) *choiceSeen {
	both := *then
	if both.content = before.content; then.content != "" {
		both.content += strictjson.Paragraph(before.content, then.content)
	}
	return &both
}

// checkEcho continues with a choice as an agent does, and checks what upstream
// then gets: every call has its result, and the denied ones are there.
func checkEcho(t *testing.T, got, said *choiceSeen, fates map[string]intercept.Action, hidden [][]byte) {
	t.Helper()
	message := `{"role":"assistant","content":` + strictjson.Quote(got.content)
	results := ""
	for i, c := range got.calls {
		message += []string{`,"tool_calls":[`, ","}[min(i, 1)] + fn(`"id":`+strictjson.Quote(c.id), c.name, c.args)
		results += "," + toolResult(c.id, "done")
	}
	if len(got.calls) > 0 {
		message += "]"
	}
	r, err := parseRequest(asked(`{"messages":[{"role":"user","content":"hi"},` + message + "}" + results + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Splice(hidden)
	checkAnswered(t, string(r.Envelope().Body))
	for _, c := range said.calls {
		if len(got.calls) > 0 && fates[c.id] == intercept.Deny && !strings.Contains(string(r.Envelope().Body), `"tool_call_id":"`+c.id+`"`) {
			t.Fatalf("the denial of %s is lost: %s\n%s", c.id, r.Envelope().Body, hidden)
		}
	}
}

func checkChoice(t *testing.T, got, said *choiceSeen, fates map[string]intercept.Action, out []byte) {
	t.Helper()
	if got == nil {
		t.Fatalf("a choice is missing: %s", out)
	}
	var want []callSeen
	for _, c := range said.calls {
		switch fates[c.id] {
		case intercept.Edit:
			c.args = intercepttest.Edited
			want = append(want, c)
		case intercept.Release:
			want = append(want, c)
		}
	}
	finish := said.finish
	if len(want) == 0 {
		finish = "stop"
	}
	same := len(got.calls) == len(want)
	for i := 0; same && i < len(want); i++ {
		if want[i].args == "" && got.calls[i].args == "{}" { // in canonical form
			want[i].args = "{}"
		}
		same = same && got.calls[i] == want[i]
	}
	if !same || got.finish != finish || got.role != "assistant" || got.content != said.content {
		t.Fatalf("got  %+v\nwant %+v of\n     %+v\nagent: %s", got, want, said, out)
	}
}
