package chat

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// Bytes that a fuzzer changes at random seldom stay JSON. The targets here take
// them for throws of dice that decide what a generator writes: every deviation
// of every provider, in any combination. Names, ids and arguments are marked, so
// that what reached the agent can be told from the marks in it.

type dice struct {
	throws []byte
	marks  int
}

// n is the next throw, below n; 0 when there are none left.
func (d *dice) n(n int) int {
	if len(d.throws) == 0 {
		return 0
	}
	v := int(d.throws[0]) % n
	d.throws = d.throws[1:]
	return v
}

func (d *dice) pick(from ...string) string { return from[d.n(len(from))] }

func (d *dice) mark(kind string) string {
	d.marks++
	return fmt.Sprintf("%s%d%s", kind, d.marks, kind)
}

var marked = regexp.MustCompile(`[NIA]\d+[NIA]`)

// wild generates a stream, or a whole answer, of what servers have been seen to
// send and worse.
func (d *dice) wild() []byte {
	var last struct{ id, name string }
	entry := func() string {
		if d.n(2) == 0 {
			last.id, last.name = d.pick(d.mark("I"), d.mark("I"), last.id, ""), d.pick(d.mark("N"), d.mark("N"), last.name)
			return d.entry(intercept.Quote(last.id), intercept.Quote(last.name))
		}
		return d.entry(d.pick("", "", `""`, "null", intercept.Quote(last.id), intercept.Quote(d.mark("I"))), d.pick("", "", `""`, "null", intercept.Quote(last.name), intercept.Quote(d.mark("N"))))
	}
	message := func() string {
		var fields []string
		if d.n(3) == 0 {
			fields = append(fields, d.pick(`"role":"assistant"`, `"role":"assistant","refusal":"no"`, `"reasoning_content":"hm"`, `"reasoning_details":[{"type":"reasoning.text","index":0,"text":"hm"}]`, `"obfuscation":"x"`))
		}
		if d.n(3) == 0 {
			fields = append(fields, `"content":`+d.pick(`"text"`, `""`, "null", `[{"type":"text","text":"x"}]`, `"ü\n"`))
		}
		switch d.n(6) {
		case 0, 1, 2:
			fields = append(fields, d.pick(`"tool_calls"`, `"tool_calls"`, `"tool\u005fcalls"`)+`:[`+entry()+`]`)
		case 3:
			fields = append(fields, `"tool_calls":[`+entry()+`,`+entry()+`]`)
		}
		if d.n(8) == 0 {
			fields = append(fields, `"function_call":{"name":`+intercept.Quote(d.pick(d.mark("N"), "", ""))+`,"arguments":`+intercept.Quote(d.mark("A"))+`}`)
		}
		if d.n(2) == 0 {
			for i, j := 0, len(fields)-1; i < j; i, j = i+1, j-1 {
				fields[i], fields[j] = fields[j], fields[i]
			}
		}
		return "{" + strings.Join(fields, ",") + "}"
	}
	if d.n(5) == 0 {
		return []byte(d.pick("", "", "\n\n ", "\ufeff") + `{"id":"c1","choices":[` + d.choices("message", message) + `]` + d.pick("", `,"usage":{"total_tokens":1}`) + `}` + d.pick("", "\n"))
	}
	var out []byte
	for range 1 + d.n(12) {
		out = d.frame(out, d.event(message))
	}
	return append(out, d.pick("", done, "data: [DONE]")...)
}

// entry writes an entry of tool_calls; an empty id or name leaves it out.
func (d *dice) entry(id, name string) string {
	fields := []string{}
	if index := d.pick("0", "1", "0", "2", "", "null", "7"); index != "" {
		fields = append(fields, `"index":`+index)
	}
	if id != "" {
		fields = append(fields, `"id":`+id)
	}
	body, input := "function", "arguments"
	if d.n(6) == 0 {
		body, input = "custom", "input"
	}
	fields = append(fields, d.pick(`"type":"`+body+`"`, `"type":null`, `"extra_content":{"google":{"thought_signature":"sig"}}`))
	var inner []string
	if name != "" {
		inner = append(inner, `"name":`+name)
	}
	mark := d.mark("A")
	if args := d.pick(intercept.Quote(`{"m":"`+mark+`"}`), intercept.Quote(`{"m":"`+mark), intercept.Quote(mark+`"}`), `""`, "null", "", `{"m":"`+mark+`"}`, intercept.Quote(mark)); args != "" {
		inner = append(inner, `"`+input+`":`+args)
	}
	return "{" + strings.Join(append(fields, `"`+body+`":{`+strings.Join(inner, ",")+`}`), ",") + "}"
}

func (d *dice) choices(at string, message func() string) string {
	var list []string
	for range 1 + d.n(40)/39 {
		parts := []string{`"` + at + `":` + message()}
		if index := d.pick("0", "0", "0", "1", "", "null"); index != "" {
			parts = append(parts, `"index":`+index)
		}
		if d.n(6) == 0 {
			other := map[string]string{"delta": "message", "message": "delta"}[at]
			same := parts[0][strings.IndexByte(parts[0], ':')+1:]
			parts = append(parts, `"`+other+`":`+d.pick(same, same, message()))
		}
		parts = append(parts, `"finish_reason":`+d.pick("null", "null", "null", "null", `"tool_calls"`, `"stop"`, `"length"`, `""`))
		list = append(list, "{"+strings.Join(parts, ",")+"}")
	}
	return strings.Join(list, ",")
}

func (d *dice) event(message func() string) string {
	switch d.n(12) {
	case 0:
		return d.pick(`{"type":"ping"}`, "", "[DONE]", `{"choices":[],"usage":{"total_tokens":3}}`, `{"id":"","choices":[]}`, `{"error":{"message":"boom"}}`, `"x"`)
	case 1, 2:
		return `{"id":"c1","choices":[{"index":` + d.pick("0", "0", "1") + `,"delta":{"content":"` + d.pick("a", `\n`, "é", `q\"`) + `"}}]}`
	}
	return `{"id":"c1","choices":[` + d.choices("delta", message) + `]` + d.pick("", "", `,"usage":{"total_tokens":1}`) + `}`
}

// frame writes an event as servers do.
func (d *dice) frame(out []byte, payload string) []byte {
	switch d.n(16) {
	case 0:
		return append(out, "data:"+payload+"\n\n"...)
	case 1:
		return append(out, "data: "+payload+"\r\n\r\n"...)
	case 2:
		return append(out, "data: "+payload+"\n"...)
	case 3:
		return append(out, " data: "+payload+"\n\n"...)
	case 4:
		return append(out, ": x\n\ndata: "+payload+"\n\n"...)
	case 5:
		return append(out, "event: message\nid: 7\ndata: "+payload+"  \n\n"...)
	case 6:
		return append(out, "data: "+strings.ReplaceAll(payload, `,"`, ",\ndata: \"")+"\n\n"...)
	case 7:
		return append(out, "data: "+payload+"\r\r"...)
	}
	return append(out, "data: "+payload+"\n\n"...)
}

// FuzzWild drives everything that holds for any answer.
func FuzzWild(f *testing.F) {
	for i := range 40 {
		f.Add(throws(i, 400), []byte{6, 200})
	}
	f.Fuzz(func(t *testing.T, b, sizes []byte) {
		d := dice{throws: b}
		first, second := d.wild(), d.wild()
		checkDenied(t, first, second, sizes)
		checkReleased(t, first, sizes, false)
		checkReleased(t, first, sizes, true)
		checkChunking(t, first, sizes, 1<<20)
		checkMarks(t, first, second, sizes)
	})
}

// throws are dice for seeds: the same each time, with some order in them.
func throws(seed, n int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x >> 8)
	}
	return b
}

// checkMarks rules differently on each call and looks at the marks: those of a
// denied call, and the arguments of an edited one, reach the agent only if a
// released call has them too; those of a released call all do. Ids, and names
// that change, may stand in a fragment that was read as part of another call.
func checkMarks(t *testing.T, first, second, sizes []byte) {
	released, gone, names := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	note := func(in map[string]bool, texts ...string) {
		for _, m := range marked.FindAllString(strings.Join(texts, " "), -1) {
			in[m] = true
		}
	}
	p := play(t, request1, [][]byte{first, second}, sizes, intercept.Limits{}, func(n int, c intercept.Call) intercept.Ruling {
		r := mixed(n, c)
		switch r.Fate {
		case intercept.Release:
			note(released, c.Name, c.ID, c.Arguments)
		case intercept.Edit:
			note(released, c.Name, c.ID)
			note(gone, c.Arguments)
		default:
			note(gone, c.Arguments)
			note(names, c.Name)
		}
		return r
	})
	if !strings.Contains(fmt.Sprint(p.calls), "name changes") {
		maps.Copy(gone, names)
	}
	out := p.out()
	for m := range gone {
		if bytes.Contains(out, []byte(m)) && !released[m] {
			t.Fatalf("%s was not released and reached the agent: %s\nupstream: %s", m, out, first)
		}
	}
	if p.err != nil || len(p.nexts) > 0 {
		return
	}
	for m := range released {
		if !bytes.Contains(out, []byte(m)) {
			t.Fatalf("%s was released and did not reach the agent: %s\nupstream: %s", m, out, first)
		}
	}
}

// sane generates a stream as the standard has it: calls numbered from 0, a
// finish for each choice. It returns what each choice says.
func (d *dice) sane(id string, choices int) (stream []byte, said map[int]*choiceSeen) {
	said = make(map[int]*choiceSeen)
	line := func(index int, delta, finish string) {
		if finish != "null" {
			finish = intercept.Quote(finish)
		}
		part := fmt.Sprintf("data: {\"id\":%q,\"choices\":[{\"index\":%d,\"delta\":%s,\"finish_reason\":%s}]}\n\n", id, index, delta, finish)
		stream = append(stream, part...)
	}
	for i := range choices {
		said[i] = &choiceSeen{role: "assistant"}
		if d.n(3) > 0 {
			line(i, `{"role":"assistant","content":""}`, "null")
		} else {
			line(i, `{"role":"assistant"}`, "null")
		}
	}
	for range d.n(14) {
		i := d.n(choices)
		s := said[i]
		k := len(s.calls)
		switch throw := d.n(5); {
		case throw == 0:
			s.content += "word "
			line(i, `{"content":"word "}`, "null")
		case throw == 1 || k == 0:
			c := callSeen{id: d.mark("I"), name: d.mark("N"), args: d.pick("", `{"m":"`)}
			s.calls = append(s.calls, c)
			line(i, fmt.Sprintf(`{%s"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}`, d.pick("", `"content":null,`), k, c.id, c.name, c.args), "null")
		default:
			at := d.n(k)
			piece := d.mark("A")
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
	return append(stream, d.pick(done, "")...), said
}

// FuzzSane: of a well-formed answer of several choices, whatever the rulings, the
// agent gets a well-formed answer that has exactly what was released, as it was
// edited; and the conversation that it goes on with is one that providers accept.
func FuzzSane(f *testing.F) {
	for i := range 40 {
		f.Add(throws(i+100, 400), []byte{6, 200})
	}
	f.Fuzz(func(t *testing.T, b, sizes []byte) {
		d := dice{throws: b}
		turn := d.n(3)
		choices := 1 + d.n(4)/2
		stream, said := d.sane("c1", choices)
		upstream, saids := [][]byte{stream}, []map[int]*choiceSeen{said}
		for i := range 6 { // some servers answer with more than the one choice that they are asked for
			stream, said := d.sane(fmt.Sprint("c", i+2), 1+d.n(8)/7)
			upstream, saids = append(upstream, stream), append(saids, said)
		}
		upstream = append(upstream, []byte(finalWord))
		saids = append(saids, map[int]*choiceSeen{0: {role: "assistant", content: "Very well.", finish: "stop"}})
		fates := make(map[string]intercept.Fate)
		p := play(t, request1, upstream, sizes, intercept.Limits{}, func(n int, c intercept.Call) intercept.Ruling {
			r := mixed(turn+n*(1+turn/2), c)
			if fates[c.ID] = r.Fate; len(c.Ambiguous) > 0 && intercept.Strict([]byte(c.Arguments)) == nil {
				t.Fatalf("%+v is in no doubt", c)
			}
			return r
		})
		if p.err != nil {
			t.Fatalf("%v\nupstream: %s", p.err, upstream)
		}
		got, err := foldStrict(string(p.out()))
		if err != nil {
			t.Fatalf("%v\nagent: %s\nupstream: %s", err, p.out(), upstream)
		}
		want, continued := goesOn(saids, fates)
		if len(p.nexts) != continued || len(got.choices) != len(want) {
			t.Fatalf("%d continuations and %d choices, want %d and %d\nagent: %s", len(p.nexts), len(got.choices), continued, len(want), p.out())
		}
		for i, s := range want {
			checkChoice(t, got.choices[i], s, fates, p.out())
			checkEcho(t, got.choices[i], s, fates, p.hidden)
		}
	})
}

// goesOn is what each choice says in the end, and how many continuations it
// takes: the choices whose calls were all denied go on one after the other.
func goesOn(saids []map[int]*choiceSeen, fates map[string]intercept.Fate) (said map[int]*choiceSeen, continued int) {
	type lane struct {
		*choiceSeen
		turns int
		waits bool
	}
	var lanes []*lane
	settle := func(l *lane) {
		l.waits = false
		if len(l.calls) == 0 || slices.ContainsFunc(l.calls, func(c callSeen) bool { return fates[c.id] != intercept.Deny }) {
			return
		}
		if l.turns == 2 {
			both := *l.choiceSeen
			both.content += intercept.Paragraph(both.content, intercept.TooManyDenials(3))
			l.choiceSeen = &both
			return
		}
		l.turns++
		l.waits = true
	}
	for i := range len(saids[0]) {
		lanes = append(lanes, &lane{choiceSeen: saids[0][i]})
		settle(lanes[i])
	}
	for {
		at := slices.IndexFunc(lanes, func(l *lane) bool { return l.waits })
		if at < 0 {
			break
		}
		continued++
		now := saids[min(continued, len(saids)-1)]
		turns := lanes[at].turns
		lanes[at].choiceSeen = follow(lanes[at].choiceSeen, now[0])
		settle(lanes[at])
		for i := 1; i < len(now); i++ {
			l := &lane{choiceSeen: now[i], turns: turns}
			lanes = append(lanes, l)
			settle(l)
		}
	}
	said = make(map[int]*choiceSeen)
	for i, l := range lanes {
		said[i] = l.choiceSeen
	}
	return said, continued
}

// follow is what a choice says that goes on after a denial.
func follow(before, then *choiceSeen) *choiceSeen {
	both := *then
	if both.content = before.content; then.content != "" {
		both.content += intercept.Paragraph(before.content, then.content)
	}
	return &both
}

// checkEcho goes on with a choice as an agent does, and looks at what upstream
// then gets: every call has its result, and the denied ones are there.
func checkEcho(t *testing.T, got, said *choiceSeen, fates map[string]intercept.Fate, hidden [][]byte) {
	t.Helper()
	message := `{"role":"assistant","content":` + intercept.Quote(got.content)
	results := ""
	for i, c := range got.calls {
		message += []string{`,"tool_calls":[`, ","}[min(i, 1)] + fn(`"id":`+intercept.Quote(c.id), c.name, c.args)
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

func checkChoice(t *testing.T, got, said *choiceSeen, fates map[string]intercept.Fate, out []byte) {
	t.Helper()
	if got == nil {
		t.Fatalf("a choice is missing: %s", out)
	}
	var want []callSeen
	for _, c := range said.calls {
		switch fates[c.id] {
		case intercept.Edit:
			c.args = editedArguments
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
	for i := range want {
		same = same && got.calls[i] == want[i]
	}
	if !same || got.finish != finish || got.role != "assistant" || got.content != said.content {
		t.Fatalf("got  %+v\nwant %+v of\n     %+v\nagent: %s", got, want, said, out)
	}
}
