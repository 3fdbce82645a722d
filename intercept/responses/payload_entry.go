package responses

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// entry is an output item as one place of an answer shows it: where it begins,
// where it is complete, or in the list at the end.
type entry struct {
	raw         string
	typ         string
	id          string
	callID      string
	name        string
	namespace   string
	server      string // label of an MCP server
	status      string
	caller      string     // raw: what makes the call, where that is a program
	agent       string     // at the provider: the one that makes the item, where a request has several
	execution   string     // of a tool search: server or client
	environment string     // type of the environment of a shell
	beside      []string   // filled fields in which some client could look for an input
	inputs      bool       // it has fields that calls have, or unknown ones
	lastInput   entryInput // the last that was read
}

// entryInput is the input of a call, as a call of a form.
type entryInput struct {
	form  *callForm
	text  string
	plain bool // all clients expect it in the form that it has
}

// maxAgentName bounds the name of an agent at the provider, in bytes: it is in requests, on cards and in the audit log.
const maxAgentName = 512

// entryFields are the names that have a meaning in an output item.
var entryFields = []string{"type", "id", "call_id", "name", "namespace", "server_label", "status", "caller", "agent", "execution", "environment", "arguments", "input", "action", "actions", "operation", "content"}

// readEntry reads an output item.
func readEntry(d *intercept.Reading, v gjson.Result) *entry {
	e := &entry{raw: d.Raw(v)}
	if !v.IsObject() {
		d.Fail("an output item is not an object")
		return e
	}
	if e.typ = v.Get("type").Str; e.typ == "" {
		d.Fail("an output item has no type")
		return e
	}
	quiet := !strictjson.NamesCall(v.Raw) // then it has no word that only calls have
	v.ForEach(func(k, v gjson.Result) bool { return e.note(d, k.Str, v, quiet) })
	if passive[e.typ] && !quiet && callsWithin(v, 0) {
		d.Fail("an output item that is no call has one in it")
	}
	return e
}

func (e *entry) note(d *intercept.Reading, key string, v gjson.Result, quiet bool) bool {
	e.noteInput(key, v)
	if into, what := e.textField(key); into != nil {
		e.inputs = e.inputs || into == &e.callID || into == &e.name
		return d.Text(into, v, what)
	}
	accepted := true
	switch key {
	case "arguments", "input", "action", "actions", "operation":
		e.inputs = true
		return true
	case "type":
		var typ string
		return d.Text(&typ, v, "the type of an output item")
	case "caller", "agent", "environment":
		if e.noteMaker(d, key, v) || !d.OK() {
			return d.OK()
		}
	case "content":
	default:
		if accepted = false; strictjson.Misspelt(key, entryFields...) {
			return d.Fail("a known field of an output item is spelt in another letter case")
		}
	}
	switch {
	case quiet || (passive[e.typ] && !spoken[e.typ]):
		return true
	case accepted:
		return d.Unknown("", v)
	}
	return d.Unknown(key, v)
}

// noteMaker takes what makes an item, and where a call runs. It reports whether all of the value is known.
func (e *entry) noteMaker(d *intercept.Reading, key string, v gjson.Result) bool {
	switch key {
	case "caller":
		e.caller = d.Raw(v)
		return callerSchema.Fits(v)
	case "agent":
		if d.Text(&e.agent, v.Get("agent_name"), "the name of an agent"); len(e.agent) > maxAgentName {
			d.Fail("the name of an agent is too long")
		}
	case "environment":
		e.environment = v.Get("type").Str
	}
	return false
}

// textField returns the field for a text of the entry, and its name in errors. It is nil
// for any other key.
func (e *entry) textField(key string) (into *string, what string) {
	switch key {
	case "id":
		return &e.id, "the id of an output item"
	case "call_id":
		return &e.callID, "the id of a call"
	case "name":
		return &e.name, "the name of a call"
	case "namespace":
		return &e.namespace, "the namespace of a call"
	case "server_label":
		return &e.server, "the label of a server"
	case "status":
		return &e.status, "the status of an output item"
	case "execution":
		return &e.execution, "the execution of a tool search"
	}
	return nil, ""
}

// callWords are in the types of items that some client runs.
var callWords = []string{"call", "tool", "exec", "command", "action", "request"}

// form is the form of a call that the agent runs, whatever tools are offered. It is nil
// for any other item.
func (e *entry) form() *callForm {
	if e.isUnknown() && (e.inputs || containsAny(strings.ToLower(e.typ), callWords)) {
		return &callForm{typ: e.typ, fixed: true, unknown: true}
	}
	return callForms[e.typ]
}

// isUnknown reports whether the type of the item is unknown.
func (e *entry) isUnknown() bool { return callForms[e.typ] == nil && !passive[e.typ] }

// field is a value of the entry, as it is there.
func (e *entry) field(name string) gjson.Result { return gjson.Get(e.raw, name) }

// message is the text of a message for the user.
func (e *entry) message() string {
	if e.typ != "message" {
		return ""
	}
	return strictjson.ContentText(e.field("content"))
}

// renamed reports whether a fuller entry of a call names another tool than the entry
// with which it began.
func (e *entry) renamed(fuller *entry) bool {
	name := e.name != "" && e.name != fuller.name
	namespace := (e.namespace != "" || e.name != "") && e.namespace != fuller.namespace
	server := e.server != "" && e.server != fuller.server
	return name || namespace || server
}
