package wire

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Entry is an output item as one place of an answer shows it: where it begins,
// where it is done, or in the list at the end.
type Entry struct {
	Raw         string
	Type        string
	ID          string
	CallID      string
	Name        string
	Namespace   string
	Server      string // label of an MCP server
	Status      string
	Caller      string   // raw: who makes the call, where that is a program
	Execution   string   // of a tool search: server or client
	Environment string   // type of the environment of a shell
	inputs      bool     // it has something that calls have, or that nobody knows
	Beside      []string // filled fields in which some client could look for an input
	read        *Form    // as which its input was read
	Text        string   // the input
	plain       bool     // it stood there in the form that all clients expect
}

// Form is what is known of a type of items that the agent runs.
type Form struct {
	Type     string
	IDPrefix string // how the ids of items begin
	Tool     string // the tool's name, "" where the item has its own
	Field    string // that contains the input, "" for all of the item
	Text     bool   // the input is text, not JSON of its own
	Free     bool   // the text is free, not JSON either
	Fixed    bool   // the agent cannot be given another input
	Unknown  bool   // of a type that nobody knows yet
	Events   string // type of the events that stream its texts, but for its last word
}

// Forms are the items that the agent runs.
var Forms = map[string]*Form{
	"function_call":        {Type: "function_call", IDPrefix: "fc_", Field: "arguments", Text: true, Events: "response.function_call_arguments"},
	"custom_tool_call":     {Type: "custom_tool_call", IDPrefix: "ctc_", Field: "input", Text: true, Free: true, Events: "response.custom_tool_call_input"},
	"local_shell_call":     {Type: "local_shell_call", IDPrefix: "lsh_", Tool: "local_shell", Field: "action"},
	"shell_call":           {Type: "shell_call", IDPrefix: "sh_", Tool: "shell", Field: "action", Events: "response.shell_call_command"},
	"apply_patch_call":     {Type: "apply_patch_call", IDPrefix: "apc_", Tool: "apply_patch", Field: "operation", Events: "response.apply_patch_call_operation_diff"},
	"computer_call":        {Type: "computer_call", IDPrefix: "cu_", Tool: "computer", Field: "action"},
	"tool_search_call":     {Type: "tool_search_call", IDPrefix: "tsc_", Tool: "tool_search", Field: "arguments"},
	"mcp_approval_request": {Type: ApprovalRequest, Field: "arguments", Text: true, Fixed: true},
}

// ApprovalRequest is the item by which the provider asks whether it may run a
// tool of an MCP server. It is answered to upstream; no agent ever gets one.
const ApprovalRequest = "mcp_approval_request"

// passive are the items that are not run any more: the model's text, what the
// provider has run itself, and results.
var passive = map[string]bool{
	"message": true, "reasoning": true, "compaction": true, "item_reference": true, "additional_tools": true,
	"web_search_call": true, "file_search_call": true, "code_interpreter_call": true, "image_generation_call": true,
	"mcp_call": true, "mcp_list_tools": true, "mcp_approval_response": true, "program": true, "program_output": true,
	"function_call_output": true, "custom_tool_call_output": true, "local_shell_call_output": true, "shell_call_output": true,
	"apply_patch_call_output": true, "computer_call_output": true, "tool_search_output": true,
}

// spoken are those of them that contain the model's text, and no lists of tools
// or of what was found, which have names of their own.
var spoken = map[string]bool{"message": true, "reasoning": true}

// entryFields are the names that have a meaning in an output item.
var entryFields = []string{"type", "id", "call_id", "name", "namespace", "server_label", "status", "caller", "execution", "environment", "arguments", "input", "action", "actions", "operation", "content"}

// ReadEntry reads an output item.
func ReadEntry(d *intercept.Reading, v gjson.Result) *Entry {
	e := &Entry{Raw: v.Raw}
	if !v.IsObject() {
		d.Fail("an output item is not an object")
		return e
	}
	if e.Type = TypeOf(v); e.Type == "" {
		d.Fail("an output item has no type")
		return e
	}
	quiet := !strictjson.NamesCall(v.Raw) // then nothing in it is suspect
	v.ForEach(func(k, v gjson.Result) bool { return e.note(d, k.Str, v, quiet) })
	if passive[e.Type] && !quiet && callsWithin(v, 0) {
		d.Fail("an output item that is no call has one in it")
	}
	return e
}

func (e *Entry) note(d *intercept.Reading, key string, v gjson.Result, quiet bool) bool {
	e.noteInput(key, v)
	switch key {
	case "type":
		var typ string
		return d.Text(&typ, v, "the type of an output item")
	case "id":
		return d.Text(&e.ID, v, "the id of an output item")
	case "call_id":
		e.inputs = true
		return d.Text(&e.CallID, v, "the id of a call")
	case "name":
		e.inputs = true
		return d.Text(&e.Name, v, "the name of a call")
	case "namespace":
		return d.Text(&e.Namespace, v, "the namespace of a call")
	case "server_label":
		return d.Text(&e.Server, v, "the label of a server")
	case "status":
		return d.Text(&e.Status, v, "the status of an output item")
	case "execution":
		return d.Text(&e.Execution, v, "the execution of a tool search")
	case "caller":
		if e.Caller = v.Raw; callerSchema.Fits(v) {
			return true
		}
	case "environment":
		e.Environment = v.Get("type").Str
	case "arguments", "input", "action", "actions", "operation":
		e.inputs = true
		return true
	case "content":
	default:
		if strictjson.Misspelt(key, entryFields...) {
			return d.Fail("a known field of an output item is spelt in another letter case")
		}
		return quiet || (passive[e.Type] && !spoken[e.Type]) || d.Unknown(key, v)
	}
	return quiet || (passive[e.Type] && !spoken[e.Type]) || d.Unknown("", v)
}

// inputWords are in the names of fields in which an input may stand.
var inputWords = []string{"argument", "input", "param", "action", "operation", "command", "code", "script", "patch", "content"}

// noteInput notes a field that could be the input of a call beside the one where
// its form has it. An item of a type that nobody knows is a call if there is more
// in it than the model's text.
func (e *Entry) noteInput(key string, v gjson.Result) {
	if !filled(v) || passive[e.Type] {
		return
	}
	f := Forms[e.Type]
	switch {
	case f == nil:
		e.inputs = e.inputs || !says(key, v)
	case key != f.Field && (f.Fixed || ItemSchemas[f.Type].Fields[key] == nil) && speaks(strings.ToLower(key), inputWords):
		e.Beside = append(e.Beside, key)
	}
}

// says reports whether a field of an item, with something in it, holds the model's
// text and nothing that an agent could run: text, or a list of pieces of it.
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
	return (v.Type == gjson.String && v.Str != "") || ((v.IsArray() || v.IsObject()) && strings.Trim(v.Raw, "[]{} \t\r\n") != "")
}

func speaks(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// callWords are in the types of items that somebody runs.
var callWords = []string{"call", "tool", "exec", "command", "action", "request"}

// Form is that of a call that the agent runs, whatever tools are offered; nil for
// any other item.
func (e *Entry) Form() *Form {
	f := Forms[e.Type]
	if e.Unknown() && (e.inputs || speaks(strings.ToLower(e.Type), callWords)) {
		return &Form{Type: e.Type, Fixed: true, Unknown: true}
	}
	return f
}

// Unknown reports an item of a type that nobody knows yet.
func (e *Entry) Unknown() bool { return Forms[e.Type] == nil && !passive[e.Type] }

// callsWithin reports whether an item that the agent would run is anywhere
// in a value that is none itself: one of a known type, or one that has the id of a
// call and an input.
func callsWithin(v gjson.Result, depth int) (found bool) {
	if (!v.IsArray() && !v.IsObject()) || (depth == 0 && !strictjson.NamesCall(v.Raw)) {
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
			(strings.EqualFold(k.Str, "type") && depth > 0 && Forms[strings.ToLower(item.Str)] != nil)
		return !found
	})
	return found || (depth > 0 && id && input)
}

// inputFields are the names that inputs of calls have.
var inputFields = []string{"arguments", "input", "action", "operation"}

// maxDepth bounds the search for calls: each level reads all below it again.
const maxDepth = 64

// Field is a value of the entry, as it is there.
func (e *Entry) Field(name string) gjson.Result { return gjson.Get(e.Raw, name) }

// Message is the text of a message for the user.
func (e *Entry) Message() string {
	if e.Type != "message" {
		return ""
	}
	return strictjson.ContentText(e.Field("content"))
}

// Input is the input of a call as its reviewer and policy see it, and whether it
// stood there in the form that all clients expect.
func (e *Entry) Input(f *Form) (text string, plain bool) {
	if e.read != f {
		e.read = f
		e.Text, e.plain = e.readInput(f)
	}
	return e.Text, e.plain
}

func (e *Entry) readInput(f *Form) (text string, plain bool) {
	if f.Field == "" {
		return e.Raw, true
	}
	v := e.Field(f.Field)
	switch {
	case f.Type == "computer_call":
		return e.actions(v)
	case v.Type == gjson.Null:
		return "", true
	case v.Type == gjson.String:
		return v.Str, f.Text
	case v.IsObject() || v.IsArray():
		return v.Raw, !f.Text
	}
	return v.Raw, false
}

// actions is what a computer is to do: one action or a list of them, with the
// safety checks that the provider wants looked at. Where they are of another form
// it is the whole item.
func (e *Entry) actions(one gjson.Result) (input string, plain bool) {
	list := e.Field("actions")
	if (filled(one) && !one.IsObject()) || (filled(list) && !list.IsArray()) {
		return e.Raw, false
	}
	p := strictjson.Patch{JSON: "{}"}
	if one.IsObject() {
		p.JSON = one.Raw
	}
	if list.IsArray() {
		p.Set("actions", list.Raw)
	}
	if checks := e.Field(SafetyChecks); checks.IsArray() && len(checks.Array()) > 0 {
		p.Set(SafetyChecks, checks.Raw)
	}
	return p.JSON, true
}

// SafetyChecks is the field of a computer call with what the provider wants looked at.
const SafetyChecks = "pending_safety_checks"

// WithInput is the entry with another input, which [form.takes].
func (e *Entry) WithInput(f *Form, input string) string {
	p := strictjson.Patch{JSON: e.Raw}
	for _, key := range e.Beside {
		p.Delete(gjson.Escape(key))
	}
	switch strict := strictjson.Strict([]byte(input)) == nil; {
	case f.Text && (e.Field(f.Field).Type != gjson.JSON || !strict):
		p.Set(f.Field, strictjson.Quote(input))
	case !strict: // it never came
	case f.Type == "computer_call":
		e.setActions(&p, gjson.Parse(input))
	default:
		p.Set(f.Field, input)
	}
	if p.Err != nil {
		return e.Raw
	}
	return p.JSON
}

// Takes reports whether a call of the form can have a text as its input.
func (f *Form) Takes(input string) bool {
	return !f.Fixed && (f.Text || (strictjson.Strict([]byte(input)) == nil && gjson.Parse(input).IsObject()))
}

func (e *Entry) setActions(p *strictjson.Patch, input gjson.Result) {
	if _, plain := e.actions(e.Field("action")); !plain {
		p.Delete("action")
		p.Delete("actions")
	}
	if list := input.Get("actions"); list.Exists() {
		p.Set("actions", list.Raw)
		return
	}
	one := strictjson.Patch{JSON: input.Raw}
	one.Delete(SafetyChecks)
	p.Set("action", one.JSON)
}

// maxGrowing bounds how deep [grows] looks: each level reads all below it again.
const maxGrowing = 32

// Grows reports whether a value is what another one began as: texts, lists and
// objects in it are the beginnings of those in the other.
func Grows(from, to gjson.Result, depth int) bool {
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
			if !Grows(list[i], longer[i], depth+1) {
				return false
			}
		}
		return true
	case from.IsObject():
		members := to.Map()
		ok := to.IsObject()
		from.ForEach(func(k, v gjson.Result) bool {
			ok = ok && Grows(v, members[k.Str], depth+1)
			return ok
		})
		return ok
	}
	return false
}

// SameCall reports whether another entry shows the same call, but for its input and status.
func (e *Entry) SameCall(o *Entry) bool {
	ids := e.ID == o.ID && e.CallID == o.CallID
	names := e.Type == o.Type && e.Name == o.Name && e.Namespace == o.Namespace
	return ids && names && e.Caller == o.Caller && e.Execution == o.Execution && e.Environment == o.Environment
}

// SameInput reports whether another entry shows a call with the same input.
func (e *Entry) SameInput(o *Entry, f *Form) bool {
	own, _ := e.Input(f)
	other, _ := o.Input(f)
	return own == other
}

// Renamed reports whether a fuller entry of a call names another tool than the entry
// with which it began.
func (e *Entry) Renamed(fuller *Entry) bool {
	name := e.Name != "" && e.Name != fuller.Name
	namespace := (e.Namespace != "" || e.Name != "") && e.Namespace != fuller.Namespace
	server := e.Server != "" && e.Server != fuller.Server
	return name || namespace || server
}
