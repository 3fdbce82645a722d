package chat

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
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
			fields = append(fields, d.pick(`"role":"assistant"`, `"role":"assistant","refusal":"no"`, `"reasoning_content":"hm"`, `"reasoning_details":[{"type":"reasoning.text","index":0,"text":"hm"}]`, `"obfuscation":"x"`,
				`"audio":{"id":"audio_1","transcript":"hm"}`, `"audio":{"data":"AAAA"}`, `"audio":{"id":"audio_2","expires_at":1}`, `"thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"s"}]`, `"extra_content":{"google":{"thought_signature":"s"}}`))
		}
		if d.n(3) == 0 {
			fields = append(fields, `"content":`+d.pick(`"text"`, `""`, "null", `[{"type":"text","text":"x"}]`, `"ü\n"`, `[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]`, `[]`))
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
		return `{"id":"c1","choices":[{"index":` + d.pick("0", "0", "1") + `,"delta":{` + d.pick(`"content":"a"`, `"content":"\n"`, `"content":"é"`, `"content":"q\""`, `"audio":{"transcript":"a"}`, `"audio":{"data":"AAAA"}`, `"reasoning":"a"`) + `}}]}`
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
