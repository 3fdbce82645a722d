package messages

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// A message thread (beta message-threads-2026-08-12) is a conversation that Anthropic keeps for some
// minutes. The first request has the whole conversation and {"type":"create"}; a later one has
// the new messages, {"type":"continue","previous_message_id":ID}, and neither tools nor a system
// prompt. A message can be continued once. Clients answer the error thread_not_found by sending
// the whole conversation again.

// threaded reports whether upstream keeps the conversation for the next request.
func (r *request) threaded() bool { return r.Value("thread").IsObject() }

// continued is the message that the request continues, by the id that the agent knows; "" where
// the request has the whole conversation.
func (r *request) continued() string {
	if r.alias != "" {
		return r.alias
	}
	return r.Value("thread").Get("previous_message_id").Str
}

// previousPath is the path of the message that a request continues.
const previousPath = "thread.previous_message_id"

// follow brings what upstream lacks of the message that the request continues, and returns the id by which upstream
// knows that message. Results of calls alone belong to those of the agent.
func (s *splicer) follow(records []*answerRecord, id string) (end string) {
	end = id
	var missing []string
	var add joined
	for _, rec := range records {
		for _, text := range rec.Decided {
			add.texts = append(add.texts, textBlock(text))
		}
		if rec.Response == id && (rec.End() != id || rec.Lacks()) {
			end, missing = rec.End(), rec.Missing
			s.Place(&rec.TurnFingerprint, true, true)
			s.At(0).Note(rec.Notes(rec.Calls))
		}
	}
	if len(missing) == 1 {
		missing, add.results = nil, blocksOf(gjson.Parse(missing[0]))
	}
	if len(missing) > 0 {
		s.At(0).Before = missing
	}
	s.join(0, add)
	return end
}

// blocksOf are the blocks of a message. A text is one block.
func blocksOf(m gjson.Result) (blocks []string) {
	content := m.Get("content")
	if content.Type == gjson.String {
		return []string{textBlock(content.Str)}
	}
	for _, b := range contentBlocks(content) {
		blocks = append(blocks, b.Raw)
	}
	return blocks
}

// nextBody is the body of the request that continues the answer after a denial. If the agent's request
// continues a thread, so does this one. Else it has the whole conversation: people may have taken
// longer than upstream keeps a thread.
func (a *answer) nextBody(messages []string) ([]byte, error) {
	container, free := a.body.progress.container, intercept.Frees(a.body.blocks.calls())
	if a.req.continued() == "" {
		return extendRequest(a.earlier.request, messages, container, free)
	}
	body, err := strictjson.SetField(a.earlier.request, "messages", list(messages[len(messages)-1:]))
	if err != nil {
		return nil, fmt.Errorf("continue the thread: %w", err)
	}
	p := strictjson.Patch{JSON: string(body)}
	if p.Set(previousPath, a.body.progress.id); p.Err != nil {
		return nil, fmt.Errorf("continue the thread: %w", p.Err)
	}
	return extendRequest([]byte(p.JSON), nil, container, free)
}

// keep adds to a record what upstream, which keeps the answer in a thread, knows of it and lacks.
// It reports false if no request can continue the answer by its id.
func (a *answer) keep(rec *answerRecord, plan *intercept.Plan) bool {
	blocks, upstream := &a.body.blocks, gjson.Parse(a.body.progress.id).Str
	rec.Response, rec.Chain = a.knownID(), append(slices.Clone(a.earlier.chain), upstream)
	var results []string
	for _, b := range blocks.list {
		switch {
		case b.call == nil:
			continue
		case b.call.id == "" || blocks.callID(b) != b.call.id || b.attempt != blocks.attempt:
			return false
		case !plan.Reaches(&b.Unit):
			results = append(results, b.modelResult(b.call.id))
		}
		if ran, edited := plan.Edited(&b.Unit); edited {
			rec.SetRan(b.call.id, ran)
		}
	}
	if len(results) > 0 {
		rec.Missing = append(rec.Missing, userMessage(results))
		if plan.Notice != "" {
			rec.Missing = append(rec.Missing, assistantMessage([]string{textBlock(plan.Notice)}))
		}
	}
	return upstream != "" && rec.Response != "" && plan.Aborted == nil
}

// knownID is the id by which the agent knows the message.
func (a *answer) knownID() string {
	for _, raw := range []string{a.output.id, a.earlier.id, a.body.progress.id} {
		if id := gjson.Parse(raw).Str; id != "" {
			return id
		}
	}
	return ""
}

// Closing implements [intercept.Request]: the message has no id, since upstream has none.
func (r *request) Closing(streamed bool) []byte {
	if r.continued() == "" {
		return nil
	}
	const message = `{"type":"message","role":"assistant","model":null,"content":[%s],"stop_reason":%s,"stop_sequence":null}`
	text := notice.CallsDenied()
	if !streamed {
		return fmt.Appendf(nil, message, textBlock(text), `"end_turn"`)
	}
	out := appendEvent(nil, "message_start", `{"type":"message_start","message":`+fmt.Sprintf(message, "", "null")+`}`)
	out = appendBlockStart(out, 0, textBlock(""))
	out = appendDelta(out, 0, "text_delta", "text", text)
	out = appendBlockStop(out, 0)
	out = appendEvent(out, "message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":0}}`)
	return upstreamBody(appendEvent(out, "message_stop", `{"type":"message_stop"}`))
}

// list renders a JSON array.
func list(items []string) []byte { return strictjson.AppendItems([]byte("[]"), items...) }
