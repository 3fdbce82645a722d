package responses

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// entry is an output item as one place of an answer shows it: where it begins,
// where it is done, or in the list at the end.
type entry struct {
	raw       string
	typ       string
	id        string
	callID    string
	name      string
	namespace string
	server    string // label of an MCP server
	status    string
	caller    string   // raw: who makes the call, where that is a program
	execution string   // of a tool search: server or client
	place     string   // type of the environment of a shell
	inputs    bool     // it has something that calls have, or that nobody knows
	beside    []string // filled fields in which some client could look for an input
	read      *form    // as which its input was read
	text      string   // the input
	plain     bool     // it stood there in the form that all clients expect
}

// form is what is known of a type of items that the agent runs.
type form struct {
	typ     string
	ids     string // how the ids of items begin
	tool    string // the tool's name, "" where the item has its own
	field   string // where the input stands, "" for all of the item
	text    bool   // the input is text, not JSON of its own
	free    bool   // the text is free, not JSON either
	fixed   bool   // the agent cannot be given another input
	unknown bool   // of a type that nobody knows yet
	events  string // type of the events that stream its texts, but for its last word
}

// forms are the items that the agent runs.
var forms = map[string]*form{
	"function_call":        {typ: "function_call", ids: "fc_", field: "arguments", text: true, events: "response.function_call_arguments"},
	"custom_tool_call":     {typ: "custom_tool_call", ids: "ctc_", field: "input", text: true, free: true, events: "response.custom_tool_call_input"},
	"local_shell_call":     {typ: "local_shell_call", ids: "lsh_", tool: "local_shell", field: "action"},
	"shell_call":           {typ: "shell_call", ids: "sh_", tool: "shell", field: "action", events: "response.shell_call_command"},
	"apply_patch_call":     {typ: "apply_patch_call", ids: "apc_", tool: "apply_patch", field: "operation", events: "response.apply_patch_call_operation_diff"},
	"computer_call":        {typ: "computer_call", ids: "cu_", tool: "computer", field: "action"},
	"tool_search_call":     {typ: "tool_search_call", ids: "tsc_", tool: "tool_search", field: "arguments"},
	"mcp_approval_request": {typ: approvalRequest, field: "arguments", text: true, fixed: true},
}

// approvalRequest is the item by which the provider asks whether it may run a
// tool of an MCP server. It is answered to upstream; no agent ever gets one.
const approvalRequest = "mcp_approval_request"

// passive are the items that nobody runs any more: what the model says, what the
// provider has run itself, and results.
var passive = map[string]bool{
	"message": true, "reasoning": true, "compaction": true, "item_reference": true, "additional_tools": true,
	"web_search_call": true, "file_search_call": true, "code_interpreter_call": true, "image_generation_call": true,
	"mcp_call": true, "mcp_list_tools": true, "mcp_approval_response": true, "program": true, "program_output": true,
	"function_call_output": true, "custom_tool_call_output": true, "local_shell_call_output": true, "shell_call_output": true,
	"apply_patch_call_output": true, "computer_call_output": true, "tool_search_output": true,
}

// spoken are those of them that hold what the model says, and no lists of tools
// or of what was found, which have names of their own.
var spoken = map[string]bool{"message": true, "reasoning": true}

// entryFields are the names that have a meaning in an output item.
var entryFields = []string{"type", "id", "call_id", "name", "namespace", "server_label", "status", "caller", "execution", "environment", "arguments", "input", "action", "actions", "operation", "content"}

// readEntry reads an output item.
func readEntry(d *intercept.Reading, v gjson.Result) *entry {
	e := &entry{raw: v.Raw}
	if !v.IsObject() {
		d.Refuse("an output item is not an object")
		return e
	}
	if e.typ = typeOf(v); e.typ == "" {
		d.Refuse("an output item has no type")
		return e
	}
	quiet := !intercept.NamesCall(v.Raw) // then nothing in it is suspect
	v.ForEach(func(k, v gjson.Result) bool { return e.note(d, k.Str, v, quiet) })
	if passive[e.typ] && !quiet && callsWithin(v, 0) {
		d.Refuse("an output item that is no call has one in it")
	}
	return e
}

func (e *entry) note(d *intercept.Reading, key string, v gjson.Result, quiet bool) bool {
	e.noteInput(key, v)
	switch key {
	case "type":
		var typ string
		return d.Text(&typ, v, "the type of an output item")
	case "id":
		return d.Text(&e.id, v, "the id of an output item")
	case "call_id":
		e.inputs = true
		return d.Text(&e.callID, v, "the id of a call")
	case "name":
		e.inputs = true
		return d.Text(&e.name, v, "the name of a call")
	case "namespace":
		return d.Text(&e.namespace, v, "the namespace of a call")
	case "server_label":
		return d.Text(&e.server, v, "the label of a server")
	case "status":
		return d.Text(&e.status, v, "the status of an output item")
	case "execution":
		return d.Text(&e.execution, v, "the execution of a tool search")
	case "caller":
		if e.caller = v.Raw; callerSchema.Fits(v) {
			return true
		}
	case "environment":
		e.place = v.Get("type").Str
	case "arguments", "input", "action", "actions", "operation":
		e.inputs = true
		return true
	case "content":
	default:
		if intercept.Misspelt(key, entryFields...) {
			return d.Refuse("a known field of an output item is spelt in another letter case")
		}
		return quiet || passive[e.typ] && !spoken[e.typ] || d.Unknown(key, v)
	}
	return quiet || passive[e.typ] && !spoken[e.typ] || d.Unknown("", v)
}

// inputWords are in the names of fields in which an input may stand.
var inputWords = []string{"argument", "input", "param", "action", "operation", "command", "code", "script", "patch", "content"}

// noteInput notes a field that could be the input of a call beside the one where
// its form has it. An item of a type that nobody knows is a call if there is more
// in it than what the model says.
func (e *entry) noteInput(key string, v gjson.Result) {
	if !filled(v) || passive[e.typ] {
		return
	}
	f := forms[e.typ]
	switch {
	case f == nil:
		e.inputs = e.inputs || !says(key, v)
	case key != f.field && (f.fixed || itemSchemas[f.typ].Fields[key] == nil) && speaks(strings.ToLower(key), inputWords):
		e.beside = append(e.beside, key)
	}
}

// says reports whether a field of an item, with something in it, holds what the
// model says and nothing that an agent could run: text, or a list of pieces of it.
func says(key string, v gjson.Result) (only bool) {
	switch key {
	case "type", "id", "status", "role", "text", "encrypted_content", "signature", "phase", "created_by":
		return v.Type == gjson.String
	case "content", "summary":
		only = v.Type == gjson.String || v.IsArray()
	}
	if v.IsArray() {
		v.ForEach(func(_, part gjson.Result) bool {
			only = only && saysPart(part)
			return only
		})
	}
	return only
}

// saysPart is [says] for an element of a list.
func saysPart(part gjson.Result) bool {
	if !part.IsObject() {
		return part.Type == gjson.String || !filled(part)
	}
	only := true
	part.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "annotations", "logprobs":
		case "type", "text", "refusal":
			only = v.Type == gjson.String || !filled(v)
		default:
			only = !filled(v)
		}
		return only
	})
	return only
}

// filled reports whether there is something in a value.
func filled(v gjson.Result) bool {
	return v.Type == gjson.String && v.Str != "" || (v.IsArray() || v.IsObject()) && strings.Trim(v.Raw, "[]{} \t\r\n") != ""
}

func speaks(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// callWords are in the types of items that somebody runs.
var callWords = []string{"call", "tool", "exec", "command", "action", "request"}

// form is that of a call that the agent runs, whatever tools are offered; nil for
// any other item.
func (e *entry) form() *form {
	f := forms[e.typ]
	if e.unknown() && (e.inputs || speaks(strings.ToLower(e.typ), callWords)) {
		return &form{typ: e.typ, fixed: true, unknown: true}
	}
	return f
}

// unknown reports an item of a type that nobody knows yet.
func (e *entry) unknown() bool { return forms[e.typ] == nil && !passive[e.typ] }

// callsWithin reports whether an item that the agent would run stands anywhere
// in a value that is none itself: one of a known type, or one that has the id of a
// call and an input.
func callsWithin(v gjson.Result, depth int) (found bool) {
	if !v.IsArray() && !v.IsObject() || depth == 0 && !intercept.NamesCall(v.Raw) {
		return false
	}
	if depth > maxDepth {
		return true
	}
	var id, input bool
	v.ForEach(func(k, item gjson.Result) bool {
		id = id || strings.EqualFold(k.Str, "call_id")
		input = input || slices.ContainsFunc(inputFields, func(name string) bool { return strings.EqualFold(k.Str, name) })
		found = callsWithin(item, depth+1) ||
			strings.EqualFold(k.Str, "type") && depth > 0 && forms[strings.ToLower(item.Str)] != nil
		return !found
	})
	return found || depth > 0 && id && input
}

// inputFields are the names that inputs of calls have.
var inputFields = []string{"arguments", "input", "action", "operation"}

// maxDepth bounds the search for calls: each level reads all below it again.
const maxDepth = 64

// field is a value of the entry, as it stands there.
func (e *entry) field(name string) gjson.Result { return gjson.Get(e.raw, name) }

// message is what a message says to the user.
func (e *entry) message() string {
	if e.typ != "message" {
		return ""
	}
	return intercept.ContentText(e.field("content"))
}

// input is the input of a call as its reviewer and policy see it, and whether it
// stood there in the form that all clients expect.
func (e *entry) input(f *form) (text string, plain bool) {
	if e.read != f {
		e.read = f
		e.text, e.plain = e.readInput(f)
	}
	return e.text, e.plain
}

func (e *entry) readInput(f *form) (text string, plain bool) {
	if f.field == "" {
		return e.raw, true
	}
	v := e.field(f.field)
	switch {
	case f.typ == "computer_call":
		return e.actions(v)
	case v.Type == gjson.Null:
		return "", true
	case v.Type == gjson.String:
		return v.Str, f.text
	case v.IsObject() || v.IsArray():
		return v.Raw, !f.text
	}
	return v.Raw, false
}

// actions is what a computer is to do: one action or a list of them, with the
// safety checks that the provider wants looked at. Where they are of another form
// it is the whole item.
func (e *entry) actions(one gjson.Result) (input string, plain bool) {
	list := e.field("actions")
	if filled(one) && !one.IsObject() || filled(list) && !list.IsArray() {
		return e.raw, false
	}
	p := intercept.Patch{JSON: "{}"}
	if one.IsObject() {
		p.JSON = one.Raw
	}
	if list.IsArray() {
		p.Set("actions", list.Raw)
	}
	if checks := e.field(safetyChecks); checks.IsArray() && len(checks.Array()) > 0 {
		p.Set(safetyChecks, checks.Raw)
	}
	return p.JSON, true
}

const safetyChecks = "pending_safety_checks"

// withInput is the entry with another input, which [form.takes].
func (e *entry) withInput(f *form, input string) string {
	p := intercept.Patch{JSON: e.raw}
	for _, key := range e.beside {
		p.Delete(gjson.Escape(key))
	}
	switch strict := intercept.Strict([]byte(input)) == nil; {
	case f.text && (e.field(f.field).Type != gjson.JSON || !strict):
		p.Set(f.field, intercept.Quote(input))
	case !strict: // it never came
	case f.typ == "computer_call":
		e.setActions(&p, gjson.Parse(input))
	default:
		p.Set(f.field, input)
	}
	if p.Err != nil {
		return e.raw
	}
	return p.JSON
}

// takes reports whether a call of the form can have a text as its input.
func (f *form) takes(input string) bool {
	return !f.fixed && (f.text || intercept.Strict([]byte(input)) == nil && gjson.Parse(input).IsObject())
}

func (e *entry) setActions(p *intercept.Patch, input gjson.Result) {
	if _, plain := e.actions(e.field("action")); !plain {
		p.Delete("action")
		p.Delete("actions")
	}
	if list := input.Get("actions"); list.Exists() {
		p.Set("actions", list.Raw)
		return
	}
	one := intercept.Patch{JSON: input.Raw}
	one.Delete(safetyChecks)
	p.Set("action", one.JSON)
}

// maxGrowing bounds how deep [grows] looks: each level reads all below it again.
const maxGrowing = 32

// grows reports whether a value is what another one began as: texts, lists and
// objects in it are the beginnings of those in the other.
func grows(from, to gjson.Result, depth int) bool {
	switch {
	case depth > maxGrowing:
		return false
	case from.Type == gjson.Null || from.Raw == to.Raw:
		return true
	case from.Type == gjson.String:
		return to.Type == gjson.String && strings.HasPrefix(to.Str, from.Str)
	case from.IsArray():
		list, longer := from.Array(), to.Array()
		if !to.IsArray() || len(list) > len(longer) {
			return false
		}
		for i := range list {
			if !grows(list[i], longer[i], depth+1) {
				return false
			}
		}
		return true
	case from.IsObject():
		members := to.Map()
		ok := to.IsObject()
		from.ForEach(func(k, v gjson.Result) bool {
			ok = ok && grows(v, members[k.Str], depth+1)
			return ok
		})
		return ok
	}
	return false
}
