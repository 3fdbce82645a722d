// Package outline summarizes requests while they are read strictly: who wrote the history, and whether the
// provider may run a tool. Each request needs that, and nothing is read twice for it.
package outline

import (
	"bytes"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Schema describes the requests of an API.
type Schema struct {
	// Beginning are the roles besides user of the items of a history in which the model has not
	// written.
	Beginning []string
	// ResultPart is the type of the parts of a message of the role user that are results of calls.
	// The user did not write a message with such a part and without a text, except texts that begin
	// with Reminder: agents add those. "": the user wrote all messages of the role user.
	ResultPart, Reminder string
	// ResultID is the member by which such a part names its call.
	ResultID string
	// Members are those of an item, besides role and content, that Result reads: at most four.
	Members []string
	// Result tells of an item whether it is the result of a call, by its id as a JSON string, or an
	// answer of the model to the results before it. Its arguments are the values of role and of Members
	// as JSON, nil where the item has none.
	Result func(role []byte, members *[4][]byte) (id []byte, answers bool)
	// ToolTypes are types of the agent's own tools, "" for a tool without a type.
	ToolTypes []string
}

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
	// [Schema.Beginning], so that it is not the beginning of a conversation.
	Others bool
	// Results are the ids, as JSON strings, of the calls whose results follow the last answer of the
	// model.
	Results [][]byte

	schema *Schema
	item   authoredItem // that is being read
}

// authoredItem is what was read of an item. Results and text are those of the content.
type authoredItem struct {
	role, content []byte
	members       [4][]byte // see [Schema.Members]
	results, text bool
	ids           [][]byte // of the calls of the results
	parts         struct { // of the member that is being read
		results, text bool
		ids           [][]byte
	}
}

var _ strictjson.ItemReader = (*Authors)(nil)

// NewAuthors returns the authors of no history yet.
func NewAuthors(s *Schema) Authors { return Authors{schema: s} }

// Reset implements [strictjson.ItemReader].
func (a *Authors) Reset() { *a = NewAuthors(a.schema) }

// Part implements [strictjson.ItemReader].
func (a *Authors) Part(name, value []byte) {
	if a.schema.ResultPart == "" {
		return
	}
	switch parts := &a.item.parts; string(name) {
	case "type":
		parts.results = parts.results || IsString(value, a.schema.ResultPart)
	case "text":
		parts.text = parts.text || a.schema.byUser(value)
	case a.schema.ResultID:
		parts.ids = append(parts.ids, value)
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
		item.results, item.text, item.ids = item.parts.results, item.parts.text, item.parts.ids
	default:
		for i, member := range a.schema.Members {
			if string(name) == member {
				item.members[i] = value
			}
		}
	}
	item.parts.results, item.parts.text, item.parts.ids = false, false, nil
}

// ItemEnd implements [strictjson.ItemReader].
func (a *Authors) ItemEnd() {
	a.addResults()
	item := a.item
	a.item = authoredItem{}
	if !IsString(item.role, "user") {
		a.Others = a.Others || !slices.ContainsFunc(a.schema.Beginning, func(role string) bool { return IsString(item.role, role) })
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

// addResults adds the results in the item.
func (a *Authors) addResults() {
	if a.schema.Result == nil {
		return
	}
	id, answers := a.schema.Result(a.item.role, &a.item.members)
	switch {
	case answers:
		a.Results = a.Results[:0]
	case id != nil:
		a.Results = append(a.Results, id)
	default:
		a.Results = append(a.Results, a.item.ids...)
	}
}

// byUser reports whether a text of a message of the user was written by the user.
func (s *Schema) byUser(text []byte) bool {
	start := text[:min(len(text), len(s.Reminder)+1)]
	if len(start) > 1 && start[0] == '"' && bytes.IndexByte(start, '\\') < 0 {
		return start[1] != '"' && string(start[1:]) != s.Reminder
	}
	plain := gjson.ParseBytes(text).String()
	return plain != "" && !strings.HasPrefix(plain, s.Reminder)
}

// IsString reports whether a JSON value is a certain string of letters and underscores.
func IsString(value []byte, want string) bool {
	if len(value) == len(want)+2 {
		return string(value[1:len(value)-1]) == want && value[0] == '"'
	}
	return bytes.IndexByte(value, '\\') >= 0 && value[0] == '"' && gjson.ParseBytes(value).Str == want
}
