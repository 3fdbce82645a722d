package messages

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// ending is the fingerprint of the last message of the agent's request.
func (r *request) ending() string {
	if r.lastSent == "" {
		r.lastSent = endingOf(gjson.ParseBytes(r.AsSent()).Array())
	}
	return r.lastSent
}

// Splice implements [intercept.Request]. It renders only the messages that change; all
// other bytes of the body are kept. A request that continues a thread has no history.
func (r *request) Splice(hidden [][]byte) int {
	records := intercept.Records[answerRecord](hidden)
	if r.continued() != "" {
		return r.follow(records)
	}
	messages := r.Value("messages").Array()
	s := splicer{records: records, notes: make(map[string]string)}
	s.found = intercept.MatchMessages(intercept.Opening(r.Opening().String()), messages, s.records, func(at int) intercept.HistoryTurn { return historyTurn(messages, at) })
	if len(s.found) == 0 {
		return 0
	}
	history := intercept.RewriteItems(r.Field("messages"), messages, s.rewrite)
	if len(s.pending) > 0 {
		history = strictjson.AppendItems(history, userMessage(s.pending))
	}
	span, _ := r.At("messages")
	spliced, err := parseRequest(r.With(strictjson.Replace(r.Envelope().Body, span, history)))
	if err != nil {
		return 0
	}
	spliced.lastSent = r.ending()
	*r = *spliced
	for _, f := range s.found {
		r.AddPlacement(&s.records[f.Record].TurnFingerprint, f.Sure, f.Unique)
	}
	return len(s.found)
}

// historyTurn describes the i-th message, which is the assistant's.
func historyTurn(messages []gjson.Result, i int) intercept.HistoryTurn {
	content := messages[i].Get("content")
	t := intercept.HistoryTurn{Before: endingOf(messages[:i]), Text: intercept.StripSpace(strictjson.ContentText(content))}
	for _, c := range callBlocks(contentBlocks(content)) {
		t.Calls = append(t.Calls, intercept.NewCallFingerprint(c.Get("id").Str, c.Get("name").Str, c.Get("input").Raw))
	}
	return t
}

// splicer rewrites a history message by message.
type splicer struct {
	records []*answerRecord
	found   map[int]intercept.Found // by the place of the assistant message
	pending []string                // results with which the next message begins
	notes   map[string]string       // by the id of a call: the text before its result
}

// rewrite returns the messages that replace the i-th one.
func (s *splicer) rewrite(i int, m gjson.Result) (messages []string) {
	switch m.Get("role").Str {
	case "user":
		return []string{s.user(m)}
	case "system": // may precede the results of the agent's calls
		return []string{m.Raw}
	}
	if len(s.pending) > 0 {
		messages = append(messages, userMessage(s.pending))
		s.pending = nil
	}
	if f, ok := s.found[i]; ok {
		return append(messages, s.assistant(s.records[f.Record], f, m)...)
	}
	return append(messages, m.Raw)
}

// assistant returns the messages that the model wrote in place of the one that the
// agent got. Text and calls that the agent has changed are kept.
func (s *splicer) assistant(rec *answerRecord, f intercept.Found, m gjson.Result) []string {
	messages := append([]string(nil), rec.Turns...)
	shown := contentBlocks(m.Get("content"))
	for i, c := range rec.Calls {
		id := c.ID
		if echoed := callBlocks(shown); id == "" && i < len(echoed) {
			id = echoed[i].Get("id").Str
		}
		s.notes[id] = c.Note
	}
	s.pending = rec.Results
	if len(rec.Turns) == 0 && !slices.ContainsFunc(rec.Pieces, piece.differs) {
		return []string{m.Raw}
	}
	content := rec.changed(m.Get("content"))
	if f.Text && f.Calls {
		content = rec.content(m.Get("content").IsArray(), shown)
	}
	if len(content) == 0 {
		return messages
	}
	return append(messages, withContent(m, content))
}

// user puts pending results at the beginning of a message of the user, and notes before
// the results of edited calls.
func (s *splicer) user(m gjson.Result) string {
	content := m.Get("content")
	parts := s.pending
	changed := len(s.pending) > 0
	s.pending = nil
	for _, part := range contentBlocks(content) {
		raw := part.Raw
		if part.Get("type").Str == "tool_result" {
			raw = s.annotate(part)
		}
		changed = changed || raw != part.Raw
		parts = append(parts, raw)
	}
	if content.Type == gjson.String && strings.TrimSpace(content.Str) != "" {
		parts = append(parts, textBlock(content.Str))
	}
	if !changed {
		return m.Raw
	}
	return withContent(m, parts)
}

// withContent is a message with other blocks.
func withContent(m gjson.Result, blocks []string) string {
	raw, err := sjson.SetRaw(m.Raw, "content", "["+strings.Join(blocks, ",")+"]")
	if err != nil {
		return m.Raw
	}
	return raw
}

// annotate puts the note of an edit before the result of the call.
func (s *splicer) annotate(result gjson.Result) string {
	id := result.Get("tool_use_id").Str
	note := s.notes[id]
	if note == "" {
		return result.Raw
	}
	delete(s.notes, id)
	if raw, err := sjson.SetRaw(result.Raw, "content", strictjson.Annotated(result.Get("content"), note)); err == nil {
		return raw
	}
	return result.Raw
}
