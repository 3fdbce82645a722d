package responses

import (
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// script writes a stream as OpenAI does.
type script struct {
	id      string
	object  string // further fields of the response
	number  int
	items   []string
	out     strings.Builder
	partial bool // leaves the numbers out
	pieces  int  // how many deltas a text comes in, 2 at least
	renders bool // it writes calls as heldcall does
}

func newScript(id string) *script {
	s := &script{id: id, object: `"store":true`}
	return s
}

func (s *script) event(typ, fields string) *script {
	number := fmt.Sprintf(`"sequence_number":%d,`, s.number)
	if s.partial {
		number = ""
	}
	s.number++
	fmt.Fprintf(&s.out, "event: %s\ndata: {\"type\":%q,%s%s}\n\n", typ, typ, number, fields)
	return s
}

func (s *script) response(status, output string) string {
	usage := "null"
	if status == "completed" || status == "incomplete" {
		usage = `{"input_tokens":10,"output_tokens":5,"total_tokens":15}`
	}
	return fmt.Sprintf(`{"id":%q,"object":"response","created_at":7,"status":%q,"error":null,"model":"m1","output":[%s],"parallel_tool_calls":true,"previous_response_id":null,"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}],%s,"usage":%s}`,
		s.id, status, output, s.object, usage)
}

func (s *script) begin() *script {
	return s.event("response.created", `"response":`+s.response("in_progress", "")).event("response.in_progress", `"response":`+s.response("in_progress", ""))
}

// item writes an item, given as it is when it is done, with its events.
func (s *script) item(item string) *script {
	at := fmt.Sprintf(`"output_index":%d`, len(s.items))
	v := gjson.Parse(item)
	began := item
	var events []func()
	of := `"item_id":` + v.Get("id").Raw + "," + at
	texts := func(event, field, text string, more string) {
		if s.renders && event != "response.output_text" {
			events = append(events, func() {
				s.event(event+".delta", of+more+`,"delta":`+strictjson.Quote(text)).event(event+".done", of+more+`,"`+field+`":`+strictjson.Quote(text))
			})
			return
		}
		for i := range max(2, s.pieces) {
			n := max(2, s.pieces)
			delta := text[i*len(text)/n : (i+1)*len(text)/n]
			events = append(events, func() {
				s.event(event+".delta", of+more+`,"delta":`+strictjson.Quote(delta)+`,"obfuscation":"xy"`)
			})
		}
		events = append(events, func() { s.event(event+".done", of+more+`,"`+field+`":`+strictjson.Quote(text)) })
	}
	set := func(path, raw string) { began, _ = sjson.SetRaw(began, path, raw) }
	set("status", `"in_progress"`)
	typ := v.Get("type").Str
	if s.renders && (typ == "local_shell_call" || typ == "tool_search_call") { // no event brings their input
		typ = ""
	}
	switch typ {
	case "message":
		set("content", "[]")
		part := `,"content_index":0`
		events = append(events, func() {
			s.event("response.content_part.added", of+part+`,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`)
		})
		texts("response.output_text", "text", v.Get("content.0.text").Str, part+`,"logprobs":[]`)
		events = append(events, func() { s.event("response.content_part.done", of+part+`,"part":`+v.Get("content.0").Raw) })
	case "function_call":
		set("arguments", `""`)
		texts("response.function_call_arguments", "arguments", v.Get("arguments").Str, "")
	case "custom_tool_call":
		set("input", `""`)
		texts("response.custom_tool_call_input", "input", v.Get("input").Str, "")
	case "apply_patch_call":
		set("operation.diff", `""`)
		texts("response.apply_patch_call_operation_diff", "diff", v.Get("operation.diff").Str, "")
	case "shell_call":
		set("action.commands", "[]")
		of = at
		for i, c := range v.Get("action.commands").Array() {
			n := fmt.Sprintf(`,"command_index":%d`, i)
			events = append(events, func() { s.event("response.shell_call_command.added", at+n+`,"command":""`) })
			texts("response.shell_call_command", "command", c.Str, n)
		}
	case "local_shell_call":
		set("action.command", "[]")
	case "tool_search_call":
		set("arguments", "{}")
	}
	s.event("response.output_item.added", at+`,"item":`+began)
	for _, e := range events {
		e()
	}
	s.event("response.output_item.done", at+`,"item":`+item)
	s.items = append(s.items, item)
	return s
}

func (s *script) end() string {
	s.event("response.completed", `"response":`+s.response("completed", strings.Join(s.items, ",")))
	return s.out.String()
}

// stream is a whole stream of items.
func stream(id string, items ...string) string {
	s := newScript(id).begin()
	for _, item := range items {
		s.item(item)
	}
	return s.end()
}

// rendered is a whole stream of items, whose calls are in canonical form.
func rendered(id string, items ...string) string {
	s := newScript(id).begin()
	s.renders = true
	for _, item := range items {
		s.item(item)
	}
	return s.end()
}

// whole is a whole answer of items.
func whole(id string, items ...string) string {
	return newScript(id).response("completed", strings.Join(items, ","))
}

func unstored(body string) string {
	return strings.ReplaceAll(body, `"store":true`, `"store":false`)
}

func message(id, text string) string {
	return fmt.Sprintf(`{"id":%q,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":%s}]}`, id, strictjson.Quote(text))
}

func reasoning(id string) string {
	return fmt.Sprintf(`{"id":%q,"type":"reasoning","summary":[],"encrypted_content":"enc-%s"}`, id, id)
}

func function(id, name, args string) string {
	return fmt.Sprintf(`{"id":"fc_%s","type":"function_call","status":"completed","arguments":%s,"call_id":"call_%s","name":%q}`, id, strictjson.Quote(args), id, name)
}

const (
	ls         = `{"command":"ls"}`
	custom     = `{"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"call_c","input":"SELECT 1","name":"sql"}`
	local      = `{"id":"lsh_1","type":"local_shell_call","status":"completed","action":{"type":"exec","command":["ls","-a"],"env":{}},"call_id":"call_l"}`
	shell      = `{"id":"sh_1","type":"shell_call","status":"completed","action":{"commands":["ls -a","pwd"],"max_output_length":8912,"timeout_ms":null},"call_id":"call_s"}`
	patch      = `{"id":"apc_1","type":"apply_patch_call","status":"completed","call_id":"call_p","operation":{"type":"create_file","diff":"+a\n+b","path":"x.md"}}`
	computer   = `{"id":"cu_1","type":"computer_call","status":"completed","call_id":"call_u","action":{"type":"click","x":1,"y":2},"pending_safety_checks":[{"id":"sc_1","code":"c","message":"m"}]}`
	search     = `{"id":"tsc_1","type":"tool_search_call","status":"completed","arguments":{"goal":"find"},"call_id":"call_t","execution":"client"}`
	approval   = `{"id":"mcpr_1","type":"mcp_approval_request","arguments":"{\"url\":\"x\"}","name":"shorten","server_label":"zip"}`
	hostedCall = `{"id":"mcp_1","type":"mcp_call","status":"completed","approval_request_id":"mcpr_1","arguments":"{\"url\":\"x\"}","name":"shorten","server_label":"zip","output":"ok","error":null}`
	web        = `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`
)
