package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// Memory is what a provider remembers of stored responses and conversations, by
// their ids. The zero value is empty.
type Memory struct {
	said  map[string][]string // all items up to the end of a response or conversation
	items map[string]string   // each item by its own id
}

// Expand replaces the references of a request by their content: the items of the previous
// response or of the conversation, and the items that it names. A reference to an unknown
// item is an error, in OpenAI's words.
func (m *Memory) Expand(body []byte) ([]byte, error) {
	var items []string
	previous, conversation := gjson.GetBytes(body, "previous_response_id").String(), conversationOf(body)
	switch {
	case previous != "" && conversation != "":
		return nil, fmt.Errorf("mutually exclusive parameters: previous_response_id and conversation")
	case previous != "":
		said, ok := m.said[previous]
		if !ok {
			return nil, fmt.Errorf("previous response with id '%s' not found", previous)
		}
		items = slices.Clone(said)
	case conversation != "":
		items = slices.Clone(m.said[conversation])
	}
	for _, item := range inputOf(body) {
		raw := item.Raw
		if item.Get("type").String() == "item_reference" {
			known, ok := m.items[item.Get("id").String()]
			if !ok {
				return nil, fmt.Errorf("item with id '%s' not found", item.Get("id"))
			}
			raw = known
		}
		items = append(items, raw)
	}
	expanded, err := sjson.SetRawBytes(body, "input", []byte("["+strings.Join(items, ",")+"]"))
	if err != nil {
		return nil, err
	}
	for _, field := range []string{"previous_response_id", "conversation"} {
		if expanded, err = sjson.DeleteBytes(expanded, field); err != nil {
			return nil, err
		}
	}
	return expanded, nil
}

// Keep remembers the answer to a request that [Memory.Expand] has expanded.
func (m *Memory) Keep(body, expanded, answer []byte) {
	if gjson.GetBytes(body, "store").Type == gjson.False {
		return
	}
	if m.said == nil {
		m.said, m.items = make(map[string][]string), make(map[string]string)
	}
	output := Responses.Fold(answer)
	said := slices.Concat(raws(inputOf(expanded)), output.First().Items)
	for _, id := range append(output.IDs, conversationOf(body)) {
		m.said[id] = said
	}
	for _, raw := range said {
		m.items[gjson.Get(raw, "id").String()] = raw
	}
}

// conversationOf is the id of the conversation that a request belongs to.
func conversationOf(body []byte) string {
	conversation := gjson.GetBytes(body, "conversation")
	if conversation.IsObject() {
		return conversation.Get("id").String()
	}
	return conversation.String()
}
