package fakemodel

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
)

// createResponse answers POST /responses.
func (m *Model) createResponse(r *Request, _ string) Reply {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	before, input, failed := m.memory.read(r.Body)
	if failed != nil {
		return failed.reply(Responses, r)
	}
	made := digest(append([]string{string(r.Body)}, raws(before)...)...)
	answer := m.answer(responsesConversation(r.Body, slices.Concat(before, input)))
	answer = answer.counted(r.Body).named(func(i int) string { return fmt.Sprintf("call_%s%02d", made[:22], i) })
	answer.ID = or(answer.ID, "resp_"+made[:50])
	kept := m.memory.keep(r.Body, before, input, answer.ResponsesStream(r.Body))
	switch {
	case r.Streamed():
		kept.lookedAt = 2 // a client that reads the stream to its end sees it done
		return Events(kept.stream.Writes()...)
	case kept.background:
		return wholeJSON(kept.stream.object("queued", nil, nil))
	}
	return Whole(http.StatusOK, kept.stream.Whole())
}

// read returns the items of a request and those that it continues from, checked as the
// provider does.
func (m *memory) read(body []byte) (before, input []gjson.Result, failed *refusal) {
	if !gjson.ValidBytes(body) {
		return nil, nil, invalid("", "We could not parse the JSON body of your request.")
	}
	if gjson.GetBytes(body, "model").String() == "" {
		f := invalid("model", "Missing required parameter: 'model'.")
		f.code = "missing_required_parameter"
		return nil, nil, f
	}
	if gjson.GetBytes(body, "background").Bool() && !stores(body) {
		return nil, nil, invalid("background", "Background mode requires store to be true.")
	}
	if before, failed = m.before(body); failed != nil {
		return nil, nil, failed
	}
	if input, failed = m.inputItems(body); failed != nil {
		return nil, nil, failed
	}
	return before, input, m.checkInput(before, input)
}

// getResponse answers GET /responses/{id}, whole or from an event on.
func (m *Model) getResponse(r *Request, id string) Reply {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	kept, failed := m.memory.find(id)
	if failed != nil {
		return failed.reply(Responses, r)
	}
	query, err := url.ParseQuery(r.RawQuery)
	if err != nil {
		return invalid("", err.Error()).reply(Responses, r)
	}
	if query.Get("stream") != "true" {
		return wholeJSON(kept.look())
	}
	after := -1
	if text := query.Get("starting_after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil {
			return invalid("starting_after", "starting_after must be a sequence number").reply(Responses, r)
		}
	}
	kept.lookedAt = 2 // a client that reads the stream to its end sees it done
	writes := kept.stream.Writes()
	return Events(writes[min(max(after+1, 0), len(writes)):]...)
}

// deleteResponse answers DELETE /responses/{id}.
func (m *Model) deleteResponse(r *Request, id string) Reply {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	if _, failed := m.memory.find(id); failed != nil {
		return failed.reply(Responses, r)
	}
	delete(m.memory.responses, id)
	return wholeJSON(encode(map[string]any{"id": id, "object": "response", "deleted": true}))
}

// cancelResponse answers POST /responses/{id}/cancel.
func (m *Model) cancelResponse(r *Request, id string) Reply {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	kept, failed := m.memory.find(id)
	if failed != nil {
		return failed.reply(Responses, r)
	}
	if !kept.background {
		return invalid("", "Cannot cancel a synchronous response.").reply(Responses, r)
	}
	kept.cancelled = kept.cancelled || kept.pending()
	return wholeJSON(kept.look())
}

// listInput answers GET /responses/{id}/input_items: the last one first, as is
// the default there.
func (m *Model) listInput(r *Request, id string) Reply {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	kept, failed := m.memory.find(id)
	if failed != nil {
		return failed.reply(Responses, r)
	}
	items := slices.Clone(kept.before)
	slices.Reverse(items)
	return Whole(http.StatusOK, itemList(items))
}

// countInput answers POST /responses/input_tokens.
func (m *Model) countInput(r *Request, _ string) Reply {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	if _, _, failed := m.memory.read(r.Body); failed != nil {
		return failed.reply(Responses, r)
	}
	return wholeJSON(encode(map[string]any{"object": "response.input_tokens", "input_tokens": len(r.Body) / 4}))
}

// createConversation answers POST /conversations. The same body makes the same
// conversation, empty again but for its items.
func (m *Model) createConversation(r *Request, _ string) Reply {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	if m.memory.threads == nil {
		m.memory.threads = make(map[string][]gjson.Result)
	}
	id := "conv_" + digest(string(r.Body))[:48]
	m.memory.threads[id] = gjson.GetBytes(r.Body, "items").Array()
	return wholeJSON(fmt.Appendf(nil, `{"id":%q,"object":"conversation","created_at":%d,"metadata":%s}`,
		id, defaultCreated, rawField(r.Body, "metadata", "{}")))
}

// listConversation answers GET /conversations/{id}/items.
func (m *Model) listConversation(r *Request, id string) Reply {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	thread, ok := m.memory.threads[id]
	if !ok {
		return notFound(fmt.Sprintf("Conversation with id '%s' not found.", id)).reply(Responses, r)
	}
	items := slices.Clone(thread)
	slices.Reverse(items)
	return Whole(http.StatusOK, itemList(items))
}

func (m *memory) find(id string) (*keptResponse, *refusal) {
	if kept := m.responses[id]; kept != nil {
		return kept, nil
	}
	return nil, notFound(fmt.Sprintf("Response with id '%s' not found.", id))
}

// wholeJSON is a whole answer laid out over several lines, as OpenAI does.
func wholeJSON(value []byte) Reply {
	return Whole(http.StatusOK, append(indent(value, ""), '\n'))
}

func raws(items []gjson.Result) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.Raw
	}
	return texts
}
