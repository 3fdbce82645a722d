package intercept

import (
	"bytes"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Authors is who wrote the history of a request, found while the request is read strictly: the
// identity of each request depends on it. It implements [strictjson.ItemReader].
type Authors struct {
	// Users is the number of messages that the user wrote.
	Users int
	// First is the content of the first message of the role user, Last that of the last message
	// that the user wrote, as JSON. They are nil if there is none, and empty if the message has no
	// content. They alias the body.
	First, Last []byte
	// Others reports whether the history has an item with another role than those of
	// [RequestSchema.Beginning], so that it is not the beginning of a conversation.
	Others bool

	form *RequestSchema
	item authoredItem // that is being read
}

// authoredItem is what was read of an item. Results and text are those of the content.
type authoredItem struct {
	role, content []byte
	results, text bool
	parts         struct{ results, text bool } // of the member that is being read
}

var _ strictjson.ItemReader = (*Authors)(nil)

// Reset implements [strictjson.ItemReader].
func (a *Authors) Reset() { *a = Authors{form: a.form} }

// Part implements [strictjson.ItemReader].
func (a *Authors) Part(name, value []byte) {
	if a.form.ResultPart == "" {
		return
	}
	switch parts := &a.item.parts; string(name) {
	case "type":
		parts.results = parts.results || isString(value, a.form.ResultPart)
	case "text":
		parts.text = parts.text || a.form.byUser(value)
	}
}

// Member implements [strictjson.ItemReader].
func (a *Authors) Member(name, value []byte) {
	item := &a.item
	switch string(name) {
	case "role":
		item.role = value
	case "content":
		item.content = value
		item.results, item.text = item.parts.results, item.parts.text
	}
	item.parts.results, item.parts.text = false, false
}

// ItemEnd implements [strictjson.ItemReader].
func (a *Authors) ItemEnd() {
	item := a.item
	a.item = authoredItem{}
	if !isString(item.role, "user") {
		a.Others = a.Others || !slices.ContainsFunc(a.form.Beginning, func(role string) bool { return isString(item.role, role) })
		return
	}
	if item.content == nil {
		item.content = []byte{}
	}
	if a.First == nil {
		a.First = item.content
	}
	if !item.results || item.text {
		a.Users, a.Last = a.Users+1, item.content
	}
}

// byUser reports whether a text of a message of the user was written by the user.
func (f *RequestSchema) byUser(text []byte) bool {
	start := text[:min(len(text), len(f.Reminder)+1)]
	if len(start) > 1 && start[0] == '"' && bytes.IndexByte(start, '\\') < 0 {
		return start[1] != '"' && string(start[1:]) != f.Reminder
	}
	plain := gjson.ParseBytes(text).String()
	return plain != "" && !strings.HasPrefix(plain, f.Reminder)
}

// isString reports whether a JSON value is a certain string of letters and underscores.
func isString(value []byte, want string) bool {
	if len(value) == len(want)+2 {
		return string(value[1:len(value)-1]) == want && value[0] == '"'
	}
	return bytes.IndexByte(value, '\\') >= 0 && value[0] == '"' && gjson.ParseBytes(value).Str == want
}
