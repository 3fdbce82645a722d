package chat

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// Bytes that a fuzzer changes at random seldom stay JSON. The targets here take
// them for throws of dice that decide what a generator writes: every deviation
// of every provider, in any combination. Names, ids and arguments are marked, so
// that the marks in what reached the agent identify it.

// dice write what servers of this API have been seen to send.
type dice struct{ *intercepttest.Dice }

// wild generates a stream, or a whole answer, of what servers have been seen to
// send and worse.
func (d dice) wild() []byte {
	var last struct{ id, name string }
	entry := func() string {
		if d.N(2) == 0 {
			last.id, last.name = d.Pick(d.Mark("I"), d.Mark("I"), last.id, ""), d.Pick(d.Mark("N"), d.Mark("N"), last.name)
			return d.entry(strictjson.Quote(last.id), strictjson.Quote(last.name))
		}
		return d.entry(d.Pick("", "", `""`, "null", strictjson.Quote(last.id), strictjson.Quote(d.Mark("I"))), d.Pick("", "", `""`, "null", strictjson.Quote(last.name), strictjson.Quote(d.Mark("N"))))
	}
	message := func() string {
		var fields []string
		if d.N(3) == 0 {
			fields = append(fields, d.Pick(`"role":"assistant"`, `"role":"assistant","refusal":"no"`, `"reasoning_content":"hm"`, `"reasoning_details":[{"type":"reasoning.text","index":0,"text":"hm"}]`, `"obfuscation":"x"`,
				`"audio":{"id":"audio_1","transcript":"hm"}`, `"audio":{"data":"AAAA"}`, `"audio":{"id":"audio_2","expires_at":1}`, `"thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"s"}]`, `"extra_content":{"google":{"thought_signature":"s"}}`))
		}
		if d.N(3) == 0 {
			fields = append(fields, `"content":`+d.Pick(`"text"`, `""`, "null", `[{"type":"text","text":"x"}]`, `"ü\n"`, `[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]`, `[]`))
		}
		switch d.N(6) {
		case 0, 1, 2:
			fields = append(fields, d.Pick(`"tool_calls"`, `"tool_calls"`, `"tool\u005fcalls"`)+`:[`+entry()+`]`)
		case 3:
			fields = append(fields, `"tool_calls":[`+entry()+`,`+entry()+`]`)
		}
		if d.N(8) == 0 {
			fields = append(fields, `"function_call":{"name":`+strictjson.Quote(d.Pick(d.Mark("N"), "", ""))+`,"arguments":`+strictjson.Quote(d.Mark("A"))+`}`)
		}
		if d.N(2) == 0 {
			for i, j := 0, len(fields)-1; i < j; i, j = i+1, j-1 {
				fields[i], fields[j] = fields[j], fields[i]
			}
		}
		return "{" + strings.Join(fields, ",") + "}"
	}
	if d.N(5) == 0 {
		return []byte(d.Pick("", "", "\n\n ", "\ufeff") + `{"id":"c1","choices":[` + d.choices("message", message) + `]` + d.Pick("", `,"usage":{"total_tokens":1}`) + `}` + d.Pick("", "\n"))
	}
	var out []byte
	for range 1 + d.N(12) {
		out = d.frame(out, d.event(message))
	}
	return append(out, d.Pick("", done, "data: [DONE]")...)
}

// entry writes an entry of tool_calls; an empty id or name leaves it out.
func (d dice) entry(id, name string) string {
	fields := []string{}
	if index := d.Pick("0", "1", "0", "2", "", "null", "7"); index != "" {
		fields = append(fields, `"index":`+index)
	}
	if id != "" {
		fields = append(fields, `"id":`+id)
	}
	body, input := "function", "arguments"
	if d.N(6) == 0 {
		body, input = "custom", "input"
	}
	fields = append(fields, d.Pick(`"type":"`+body+`"`, `"type":null`, `"extra_content":{"google":{"thought_signature":"sig"}}`))
	var inner []string
	if name != "" {
		inner = append(inner, `"name":`+name)
	}
	mark := d.Mark("A")
	if args := d.Pick(strictjson.Quote(`{"m":"`+mark+`"}`), strictjson.Quote(`{"m":"`+mark), strictjson.Quote(mark+`"}`), `""`, "null", "", `{"m":"`+mark+`"}`, strictjson.Quote(mark)); args != "" {
		inner = append(inner, `"`+input+`":`+args)
	}
	return "{" + strings.Join(append(fields, `"`+body+`":{`+strings.Join(inner, ",")+`}`), ",") + "}"
}

func (d dice) choices(at string, message func() string) string {
	var list []string
	for range 1 + d.N(40)/39 {
		parts := []string{`"` + at + `":` + message()}
		if index := d.Pick("0", "0", "0", "1", "", "null"); index != "" {
			parts = append(parts, `"index":`+index)
		}
		if d.N(6) == 0 {
			other := map[string]string{"delta": "message", "message": "delta"}[at]
			same := parts[0][strings.IndexByte(parts[0], ':')+1:]
			parts = append(parts, `"`+other+`":`+d.Pick(same, same, message()))
		}
		parts = append(parts, `"finish_reason":`+d.Pick("null", "null", "null", "null", `"tool_calls"`, `"stop"`, `"length"`, `""`))
		list = append(list, "{"+strings.Join(parts, ",")+"}")
	}
	return strings.Join(list, ",")
}

func (d dice) event(message func() string) string {
	switch d.N(12) {
	case 0:
		return d.Pick(`{"type":"ping"}`, "", "[DONE]", `{"choices":[],"usage":{"total_tokens":3}}`, `{"id":"","choices":[]}`, `{"error":{"message":"boom"}}`, `"x"`)
	case 1, 2:
		return `{"id":"c1","choices":[{"index":` + d.Pick("0", "0", "1") + `,"delta":{` + d.Pick(`"content":"a"`, `"content":"\n"`, `"content":"é"`, `"content":"q\""`, `"audio":{"transcript":"a"}`, `"audio":{"data":"AAAA"}`, `"reasoning":"a"`) + `}}]}`
	}
	return `{"id":"c1","choices":[` + d.choices("delta", message) + `]` + d.Pick("", "", `,"usage":{"total_tokens":1}`) + `}`
}

// frame writes an event as servers do.
func (d dice) frame(out []byte, payload string) []byte {
	switch d.N(16) {
	case 0:
		return append(out, "data:"+payload+"\n\n"...)
	case 1:
		return append(out, "data: "+payload+"\r\n\r\n"...)
	case 2:
		return append(out, "data: "+payload+"\n"...)
	case 3:
		return append(out, d.Pick("", "", "", "", " ")+"data: "+payload+"\n\n"...)
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
		f.Add(intercepttest.Throws(i, 400), []byte{6, 200})
	}
	f.Fuzz(func(t *testing.T, b, sizes []byte) {
		d := dice{&intercepttest.Dice{Throws: b}}
		first, second := d.wild(), d.wild()
		checkDenied(t, first, second, sizes)
		checkReleased(t, first, sizes)
		checkChunking(t, first, sizes, 1<<20)
		// Ids may be in a fragment that belongs to another call.
		intercepttest.CheckMarks(t, "NA", first, func(rule intercepttest.Ruler) *intercepttest.Played {
			return play(t, request1, [][]byte{first, second}, sizes, intercept.Limits{}, rule)
		})
	})
}
