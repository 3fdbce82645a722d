package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// wilderness generates a stream, or a whole answer, with the deviations of real servers
// and worse ones. Names, ids and arguments have marks, which show what reached the agent.
type wilderness struct {
	*intercepttest.Dice
	number int
	last   struct{ typ, id, call, name string }
}

func wild(d *intercepttest.Dice) []byte {
	w := wilderness{Dice: d}
	if d.N(6) == 0 {
		return []byte(d.Pick("", "", "\n\n ", "\ufeff") + w.response(d.Pick("completed", "completed", "incomplete", "in_progress", "failed"), 4) + d.Pick("", "\n"))
	}
	var out []byte
	for i := range 2 + d.N(16) {
		throw := d.N(20)
		if i == 0 && d.N(8) > 0 {
			throw = 0
		}
		out = d.Frame(out, w.event(throw))
	}
	if d.N(6) > 0 {
		out = d.Frame(out, w.ending())
	}
	return append(out, d.Pick("", "", done, "data: [DONE]")...)
}

// item writes an output item, mostly a call.
func (w *wilderness) item() string {
	if w.N(4) == 0 {
		return w.Pick(reasoning("rs_1"), speech, web, `{"type":"message","content":null}`, `{"type":"mcp_call","id":"m","name":"echo","arguments":"{}"}`, `{"type":"program","id":"p","code":"x()"}`,
			`{"id":"ts","type":"tool_search_call","execution":"server","arguments":{}}`, `{"id":"x","type":"code_interpreter_call","code":"x()"}`, `{"type":""}`, `{"id":"a"}`)
	}
	if w.N(2) == 0 || w.last.typ == "" {
		w.last.typ = w.Pick("function_call", "function_call", "function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call", "browser_call")
		w.last.id, w.last.call, w.last.name = w.Pick(w.Mark("I"), w.Mark("I"), "same", ""), w.Pick(w.Mark("I"), w.Mark("I"), w.Mark("I"), "same", ""), w.Pick(w.Mark("N"), w.Mark("N"), "bash")
	}
	fields := []string{`"type":` + w.Pick(strictjson.Quote(w.last.typ), strictjson.Quote(w.last.typ), `"`+strings.Replace(w.last.typ, "_", `\u005f`, 1)+`"`)}
	if w.N(8) > 0 {
		fields = append(fields, `"id":`+strictjson.Quote(w.last.id))
	}
	if w.N(8) > 0 {
		fields = append(fields, `"call_id":`+strictjson.Quote(w.last.call))
	}
	if w.last.typ == "tool_search_call" {
		fields = append(fields, `"execution":"client"`)
	}
	if callForms[w.last.typ] == nil || callForms[w.last.typ].tool == "" {
		fields = append(fields, `"name":`+strictjson.Quote(w.Pick(w.last.name, w.last.name, w.last.name, w.Mark("N"))))
	}
	fields = append(fields, w.input()...)
	if w.N(2) == 0 {
		fields = append(fields, `"status":"`+w.Pick("completed", "in_progress", "incomplete")+`"`)
	}
	if w.N(3) == 0 {
		for i, j := 0, len(fields)-1; i < j; i, j = i+1, j-1 {
			fields[i], fields[j] = fields[j], fields[i]
		}
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// input writes the fields with what a call is to do.
func (w *wilderness) input() []string {
	mark := w.Mark("A")
	object := w.Pick(`{"m":"`+mark+`"}`, `{"m":"`+mark+`"}`, `{"command":["`+mark+`"]}`, `{"commands":["`+mark+`"]}`, `{"type":"create_file","diff":"`+mark+`","path":"x"}`, "{}", "null")
	if f := callForms[w.last.typ]; f != nil && f.text {
		text := w.Pick(strictjson.Quote(`{"m":"`+mark+`"}`), strictjson.Quote(`{"m":"`+mark+`"}`), `""`, "null", object, strictjson.Quote(mark))
		if w.N(8) == 0 {
			return nil
		}
		return []string{`"` + f.field + `":` + text}
	}
	field := "action"
	if f := callForms[w.last.typ]; f != nil {
		field = f.field
	}
	return []string{`"` + field + `":` + object}
}

func (w *wilderness) response(status string, items int) string {
	var output []string
	for range w.N(items) {
		output = append(output, w.item())
	}
	return `{"id":"resp_1","object":"response","created_at":7,"status":"` + status + `","output":[` + strings.Join(output, ",") + `],"store":` + w.Pick("true", "false") + w.Pick(`,"usage":{"total_tokens":1}`, "") + "}"
}

// event writes the payload of an event, which begins with its type.
func (w *wilderness) event(throw int) string {
	number := ""
	if w.N(9) > 0 {
		number = fmt.Sprintf(`,"sequence_number":%d`, w.number)
	}
	w.number++
	at := w.Pick(`,"output_index":0`, `,"output_index":1`, `,"output_index":0`, `,"output_index":2`, "", `,"output_index":null`)
	of := w.Pick(`,"item_id":`+strictjson.Quote(w.last.id), "", `,"item_id":"same"`, `,"item_id":"other"`)
	switch throw {
	case 0:
		return `{"type":"` + w.Pick("response.created", "response.created", "response.created", "response.in_progress", "response.queued") + `"` + number + `,"response":` + w.response("in_progress", 1+w.N(12)/11) + `}`
	case 1:
		return w.Pick(`{"type":"keepalive"}`, "", "[DONE]", `{"type":"error","message":"boom"}`, `{"type":"response.unknown","x":1}`, `"x"`, `{"type":"keepalive"`+number+`}`)
	case 2, 3, 4:
		return `{"type":"` + w.Pick("response.output_text.delta", "response.reasoning_summary_text.delta", "response.refusal.delta", "response.web_search_call.searching", "response.mcp_call_arguments.delta") + `"` + number + at + of + `,"delta":"é"}`
	case 5, 6, 7, 8, 9, 10:
		return w.inputEvent(number + at + of)
	case 11, 12, 13, 14:
		return `{"type":"response.output_item.done"` + number + at + `,"item":` + w.item() + `}`
	}
	return `{"type":"response.output_item.added"` + number + at + `,"item":` + w.item() + `}`
}

// inputEvent writes a part of a call's input, mostly of the last one.
func (w *wilderness) inputEvent(fields string) string {
	kind := map[string]string{
		"custom_tool_call": "response.custom_tool_call_input", "shell_call": "response.shell_call_command", "apply_patch_call": "response.apply_patch_call_operation_diff",
	}[w.last.typ]
	if kind == "" || w.N(12) == 0 {
		kind = "response.function_call_arguments"
	}
	if kind == "response.shell_call_command" {
		fields += fmt.Sprintf(`,"command_index":%d`, w.N(3))
	}
	text := w.Pick(strictjson.Quote(`{"m":"`+w.Mark("A")), strictjson.Quote(w.Mark("A")+`"}`), strictjson.Quote(`{"m":"`+w.Mark("A")+`"}`), `""`, strictjson.Quote(w.Mark("A")))
	if w.N(3) > 0 {
		return `{"type":"` + kind + `.delta"` + fields + `,"delta":` + text + w.Pick("", `,"obfuscation":"x"`) + `}`
	}
	e := inputEvents[kind+".done"]
	return `{"type":"` + kind + `.done"` + fields + `,"` + e.field + `":` + text + w.Pick("", "", `,"name":`+strictjson.Quote(w.last.name)) + `}`
}

func (w *wilderness) ending() string {
	typ := w.Pick("completed", "completed", "completed", "completed", "incomplete", "failed")
	return fmt.Sprintf(`{"type":"response.%s","sequence_number":%d,"response":%s}`, typ, w.number, w.response(typ, 4))
}

// FuzzWild drives everything that holds for any answer.
func FuzzWild(f *testing.F) {
	for i := range 80 {
		f.Add(intercepttest.Throws(i, 500), []byte{6, 200})
	}
	f.Fuzz(func(t *testing.T, b, sizes []byte) {
		d := &intercepttest.Dice{Throws: b}
		as := byte(d.N(3))
		first, second := wild(d), wild(d)
		checkDenied(t, first, second, sizes, as)
		checkReleased(t, first, sizes)
		checkChunking(t, first, sizes, 1<<20)
		intercepttest.CheckMarks(t, "NIA", first, func(rule intercepttest.Ruler) *intercepttest.Played {
			p := play(t, asking[as], [][]byte{first, second}, sizes, intercept.Limits{}, rule)
			if settled(first) {
				p.Nexts = append(p.Nexts, "") // what was released need not be there
			}
			return p
		})
	})
}
