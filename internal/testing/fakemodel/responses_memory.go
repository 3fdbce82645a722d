package fakemodel

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/tidwall/gjson"
)

// memory is what a model keeps from one request to the next, as the provider
// does: stored responses, conversations, and what it once put out.
type memory struct {
	mu        sync.Mutex
	responses map[string]*keptResponse
	threads   map[string][]gjson.Result // items of each conversation
	items     map[string]madeItem       // each output item there ever was, by id
	thoughts  map[string][]string       // thinking before a tool_use, by its id
	messages  map[string]*keptMessage   // the last messages of message threads, by their ids
}

// keptResponse is a response that was stored.
type keptResponse struct {
	before []gjson.Result // all items before its output
	stream *ResponsesStream
	// lookedAt counts how often a response in the background was asked for. It is
	// done at the second time.
	background bool
	lookedAt   int
	cancelled  bool
}

// madeItem is an output item that the model put out.
type madeItem struct {
	item   gjson.Result
	needs  string // the id of the reasoning that it goes with, or ""
	stored bool
}

// output are the items that the response put out.
func (k *keptResponse) output() []gjson.Result {
	items := make([]gjson.Result, len(k.stream.output))
	for i, item := range k.stream.output {
		items[i] = gjson.ParseBytes(item)
	}
	return items
}

// look returns the response in its present state. In the background it advances one step
// with every look.
func (k *keptResponse) look() []byte {
	switch {
	case k.cancelled:
		return k.stream.object("cancelled", nil, nil)
	case !k.background || k.lookedAt >= 2:
		return k.stream.final
	}
	k.lookedAt++
	if k.lookedAt == 1 {
		return k.stream.object("in_progress", nil, nil)
	}
	return k.stream.final
}

func (k *keptResponse) pending() bool { return k.background && k.lookedAt < 2 && !k.cancelled }

// before are the items that a request continues from: those of a stored response
// and its output, or those of a conversation.
func (m *memory) before(body []byte) ([]gjson.Result, *refusal) {
	previous, conversation := gjson.GetBytes(body, "previous_response_id").String(), conversationOf(body)
	switch {
	case previous != "" && conversation != "":
		f := invalid("previous_response_id", "Mutually exclusive parameters. Ensure you are only providing one of: 'previous_response_id' or 'conversation'.")
		f.code = "mutually_exclusive_parameters"
		return nil, f
	case previous != "":
		kept := m.responses[previous]
		if kept == nil {
			f := invalid("previous_response_id", fmt.Sprintf("Previous response with id '%s' not found.", previous))
			f.code = "previous_response_not_found"
			return nil, f
		}
		return slices.Concat(kept.before, kept.output()), nil
	case conversation != "":
		thread, ok := m.threads[conversation]
		if !ok {
			return nil, notFound(fmt.Sprintf("Conversation with id '%s' not found.", conversation))
		}
		return thread, nil
	}
	return nil, nil
}

// keep remembers a response: its items in any case, itself if it is stored.
func (m *memory) keep(body []byte, before, input []gjson.Result, s *ResponsesStream) *keptResponse {
	stored := stores(body)
	needs := ""
	kept := &keptResponse{before: slices.Concat(before, input), stream: s, background: s.background()}
	if m.items == nil {
		m.items, m.responses = make(map[string]madeItem), make(map[string]*keptResponse)
	}
	for _, item := range kept.output() {
		id := item.Get("id").String()
		if item.Get("type").String() == "reasoning" {
			m.items[id] = madeItem{item: item, stored: stored}
			needs = id
			continue
		}
		m.items[id] = madeItem{item: item, needs: needs, stored: stored}
	}
	if id := conversationOf(body); id != "" {
		m.threads[id] = slices.Concat(kept.before, kept.output())
	}
	if stored {
		m.responses[s.ID] = kept
	}
	return kept
}

// stores reports whether a request wants its response stored, which is the default.
func stores(body []byte) bool { return gjson.GetBytes(body, "store").Type != gjson.False }

func notFound(message string) *refusal {
	return &refusal{status: 404, kind: "invalid_request_error", message: message}
}

// itemList is a list of items as the API answers it.
func itemList(items []gjson.Result) []byte {
	list := struct {
		Object  string            `json:"object"`
		Data    []json.RawMessage `json:"data"`
		FirstID string            `json:"first_id"`
		HasMore bool              `json:"has_more"`
		LastID  string            `json:"last_id"`
	}{Object: "list", Data: []json.RawMessage{}}
	for _, item := range items {
		list.Data = append(list.Data, json.RawMessage(item.Raw))
	}
	if n := len(items); n > 0 {
		list.FirstID, list.LastID = items[0].Get("id").String(), items[n-1].Get("id").String()
	}
	return append(indent(encode(list), ""), '\n')
}
