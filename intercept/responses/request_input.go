package responses

import (
	"cmp"
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// historyInput is the history that a request brings, read when it is needed.
type historyInput struct {
	raw        []byte          // a JSON array
	items      []gjson.Result  // nil while they have not been read
	identities map[string]bool // nil while nothing has been looked up
}

// inputOf returns the input in a field of a request. A text is a message of the user's.
func inputOf(field []byte) historyInput {
	switch {
	case len(field) > 0 && field[0] == '[':
		return historyInput{raw: field}
	case len(field) > 0 && field[0] == '"':
		return historyInput{raw: []byte(`[{"type":"message","role":"user","content":` + string(field) + "}]")}
	}
	return historyInput{raw: []byte("[]")}
}

// list returns the items.
func (in *historyInput) list() []gjson.Result {
	if in.items == nil {
		in.items = append([]gjson.Result{}, gjson.ParseBytes(in.raw).Array()...)
	}
	return in.items
}

// has reports whether an item is in the input.
func (in *historyInput) has(identity string) bool {
	if in.identities == nil {
		in.identities = make(map[string]bool)
		for _, item := range in.list() {
			in.identities[identityOf(item)] = true
		}
	}
	return in.identities[identity]
}

// calls lists the items of the model's.
func (in *historyInput) calls() (list []intercept.CallFingerprint) {
	for _, item := range in.list() {
		if isModels(item) {
			list = append(list, intercept.CallFingerprint{ID: item.Get("call_id").Str, Name: item.Get("name").Str})
		}
	}
	return list
}

// approvals are the labels of the MCP servers of which the agent's own request
// approves calls, "" where it does not name one. No agent gets a question about such a
// call, so none has one to answer.
func (in *historyInput) approvals() (labels []string) {
	servers := make(map[string]string)
	for _, item := range in.list() {
		switch item.Get("type").Str {
		case approvalRequest:
			servers[item.Get("id").Str] = item.Get("server_label").Str
		case approvalResponse:
			if item.Get("approve").Type != gjson.False {
				labels = append(labels, servers[item.Get("approval_request_id").Str])
			}
		}
	}
	return labels
}

// inputKey identifies an item of an input. An input that is a text is a message of the user's.
func inputKey(item gjson.Result) string {
	if item.Type == gjson.String {
		return intercept.Fingerprint("user", item.Str)
	}
	return itemFingerprint(item)
}

// itemFingerprint identifies an item of a history by its content.
func itemFingerprint(item gjson.Result) string {
	if role := item.Get("role").Str; role != "" {
		return intercept.Fingerprint(role, strictjson.ContentText(item.Get("content")))
	}
	return intercept.Fingerprint(item.Get("type").Str, item.Get("call_id").Str, item.Get("output").Raw)
}

// identityOf distinguishes items by their content.
func identityOf(item gjson.Result) string {
	content := []string{typeOf(item), item.Get("call_id").Str, item.Get("approval_request_id").Str, item.Get("namespace").Str, item.Get("name").Str}
	for _, name := range []string{"arguments", "input", "action", "operation", "output", "tools"} {
		content = append(content, item.Get(name).Raw)
	}
	return intercept.Fingerprint(append(content, strictjson.ContentText(item.Get("content")))...)
}

// isModels reports whether an item of a history is the model's.
func isModels(item gjson.Result) bool {
	if role := item.Get("role").Str; role != "" {
		return role == "assistant"
	}
	typ := item.Get("type").Str
	if typ == "" {
		return item.Get("id").Exists()
	}
	return !isOutput(typ) && !slices.Contains(neutralTypes, typ)
}

// neutralTypes are the types of items without a role that are neither the model's nor results.
var neutralTypes = []string{"additional_tools", "compaction", "compaction_trigger", "configuration_update"}

// isAgents reports whether the agent made an item of a history.
func isAgents(item gjson.Result) bool { return !isModels(item) && typeOf(item) != "compaction" }

// callIDOf is the id by which a call and its output belong together. Items of a local shell
// may have only an id.
func callIDOf(item gjson.Result) string {
	return cmp.Or(item.Get("call_id").Str, item.Get("id").Str)
}

// typeOf is the type of an item of a history, in which some items have no type field.
func typeOf(item gjson.Result) string {
	switch typ := item.Get("type").Str; {
	case typ != "":
		return typ
	case item.Get("role").Exists():
		return "message"
	}
	return "item_reference"
}
