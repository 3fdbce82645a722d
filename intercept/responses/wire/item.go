package wire

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Entry is an output item as one place of an answer shows it: where it begins,
// where it is complete, or in the list at the end.
type Entry struct {
	Raw         string
	Type        string
	ID          string
	CallID      string
	Name        string
	Namespace   string
	Server      string // label of an MCP server
	Status      string
	Caller      string   // raw: what makes the call, where that is a program
	Execution   string   // of a tool search: server or client
	Environment string   // type of the environment of a shell
	Beside      []string // filled fields in which some client could look for an input
	inputs      bool     // it has fields that calls have, or unknown ones
	input       input    // the last that was read
}

// input is the input of a call, as a call of a form.
type input struct {
	form  *Form
	text  string
	plain bool // all clients expect it in the form that it has
}

// entryFields are the names that have a meaning in an output item.
var entryFields = []string{"type", "id", "call_id", "name", "namespace", "server_label", "status", "caller", "execution", "environment", "arguments", "input", "action", "actions", "operation", "content"}

// ReadEntry reads an output item.
func ReadEntry(d *intercept.Reading, v gjson.Result) *Entry {
	e := &Entry{Raw: d.Raw(v)}
	if !v.IsObject() {
		d.Fail("an output item is not an object")
		return e
	}
	if e.Type = v.Get("type").Str; e.Type == "" {
		d.Fail("an output item has no type")
		return e
	}
	quiet := !strictjson.NamesCall(v.Raw) // then it has no word that only calls have
	v.ForEach(func(k, v gjson.Result) bool { return e.note(d, k.Str, v, quiet) })
	if passive[e.Type] && !quiet && callsWithin(v, 0) {
		d.Fail("an output item that is no call has one in it")
	}
	return e
}

func (e *Entry) note(d *intercept.Reading, key string, v gjson.Result, quiet bool) bool {
	e.noteInput(key, v)
	if into, what := e.textField(key); into != nil {
		e.inputs = e.inputs || into == &e.CallID || into == &e.Name
		return d.Text(into, v, what)
	}
	known := true
	switch key {
	case "arguments", "input", "action", "actions", "operation":
		e.inputs = true
		return true
	case "type":
		var typ string
		return d.Text(&typ, v, "the type of an output item")
	case "caller":
		if e.Caller = d.Raw(v); callerSchema.Fits(v) {
			return true
		}
	case "environment":
		e.Environment = v.Get("type").Str
	case "content":
	default:
		if known = false; strictjson.Misspelt(key, entryFields...) {
			return d.Fail("a known field of an output item is spelt in another letter case")
		}
	}
	switch {
	case quiet || (passive[e.Type] && !spoken[e.Type]):
		return true
	case known:
		return d.Unknown("", v)
	}
	return d.Unknown(key, v)
}

// textField returns the field for a text of the entry, and its name in errors. It is nil
// for any other key.
func (e *Entry) textField(key string) (into *string, what string) {
	switch key {
	case "id":
		return &e.ID, "the id of an output item"
	case "call_id":
		return &e.CallID, "the id of a call"
	case "name":
		return &e.Name, "the name of a call"
	case "namespace":
		return &e.Namespace, "the namespace of a call"
	case "server_label":
		return &e.Server, "the label of a server"
	case "status":
		return &e.Status, "the status of an output item"
	case "execution":
		return &e.Execution, "the execution of a tool search"
	}
	return nil, ""
}

// callWords are in the types of items that some client runs.
var callWords = []string{"call", "tool", "exec", "command", "action", "request"}

// Form is the form of a call that the agent runs, whatever tools are offered. It is nil
// for any other item.
func (e *Entry) Form() *Form {
	if e.Unknown() && (e.inputs || containsAny(strings.ToLower(e.Type), callWords)) {
		return &Form{Type: e.Type, Fixed: true, Unknown: true}
	}
	return Forms[e.Type]
}

// Unknown reports whether the type of the item is unknown.
func (e *Entry) Unknown() bool { return Forms[e.Type] == nil && !passive[e.Type] }

// Field is a value of the entry, as it is there.
func (e *Entry) Field(name string) gjson.Result { return gjson.Get(e.Raw, name) }

// Message is the text of a message for the user.
func (e *Entry) Message() string {
	if e.Type != "message" {
		return ""
	}
	return strictjson.ContentText(e.Field("content"))
}

// SameCall reports whether another entry shows the same call, but for its input and status.
func (e *Entry) SameCall(o *Entry) bool {
	ids := e.ID == o.ID && e.CallID == o.CallID
	names := e.Type == o.Type && e.Name == o.Name && e.Namespace == o.Namespace
	return ids && names && e.Caller == o.Caller && e.Execution == o.Execution && e.Environment == o.Environment
}

// Renamed reports whether a fuller entry of a call names another tool than the entry
// with which it began.
func (e *Entry) Renamed(fuller *Entry) bool {
	name := e.Name != "" && e.Name != fuller.Name
	namespace := (e.Namespace != "" || e.Name != "") && e.Namespace != fuller.Namespace
	server := e.Server != "" && e.Server != fuller.Server
	return name || namespace || server
}
