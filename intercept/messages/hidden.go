package messages

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// record is what heldcall remembers of an answer whose agent saw less, or other,
// than the model said. Messages and blocks are kept as the text they were sent
// as, so that each splice is the same bytes.
type record struct {
	intercept.TurnFingerprint
	// Turns are the messages of whole turns that the agent did not see as such;
	// they stand before the message that it did see.
	Turns []string `json:"turns,omitempty"`
	// Pieces are the blocks of the message that the agent saw, and those between
	// them that it did not see.
	Pieces []piece `json:"pieces,omitempty"`
	// Results answer the calls among the latter.
	Results []string `json:"results,omitempty"`
}

// piece is a block of the message that the agent saw.
type piece struct {
	// Key is what the agent's echo of it is known by; "" for a block that the
	// agent did not see.
	Key string `json:"key,omitempty"`
	// Raw is the block as the model said it, "" for a call that the agent saw: its
	// echo shows what ran.
	Raw string `json:"raw,omitempty"`
	// Before says that it stands in Turns: it is no part of the message there.
	Before bool `json:"before,omitempty"`
}

// differs reports whether the message as the model said it has the block and the
// agent's has not, or the reverse.
func (p piece) differs() bool { return p.Key == "" || p.Before }

func (rec *record) encode() ([]byte, error) { return json.Marshal(rec) }

// key is what a block is known by in the history that an agent sends.
func key(raw string) string {
	v := gjson.Parse(raw)
	kind := v.Get("type").Str
	switch kind {
	case "tool_use":
		return kind
	case "text":
		return intercept.Fingerprint(kind, intercept.StripSpace(v.Get("text").String()))
	case "thinking":
		return intercept.Fingerprint(kind, intercept.StripSpace(v.Get("thinking").String()))
	}
	for _, field := range []string{"id", "tool_use_id", "data"} {
		if id := v.Get(field); id.Type == gjson.String {
			return intercept.Fingerprint(kind, id.Str)
		}
	}
	return intercept.Fingerprint(kind)
}

// fingerprint identifies a message of a history: by the results of tools in it
// or, where there are none, by what it says.
func fingerprint(m gjson.Result) string {
	said := []string{m.Get("role").Str}
	m.Get("content").ForEach(func(_, part gjson.Result) bool {
		if part.Get("type").Str == "tool_result" {
			said = append(said, part.Get("tool_use_id").Str, intercept.StripSpace(strictjson.ContentText(part.Get("content"))))
		}
		return true
	})
	if len(said) > 1 {
		return intercept.Fingerprint(said...)
	}
	text, ok := userText(m)
	if !ok || text == "" {
		text = strictjson.ContentText(m.Get("content"))
	}
	return intercept.Fingerprint(append(said, intercept.StripSpace(text))...)
}

// ending is the fingerprint of the message that the agent's request ends with.
func (r *request) ending() string {
	if r.before == "" {
		r.before = before(r.value("messages").Array())
	}
	return r.before
}

// before is the fingerprint of the last message, "" where there is none. Those of
// the system do not count: agents put them between the others anew in each request.
func before(messages []gjson.Result) string {
	for _, m := range slices.Backward(messages) {
		if m.Get("role").Str != "system" {
			return fingerprint(m)
		}
	}
	return ""
}

// Splice implements [intercept.Request]. Only the messages that change are
// written anew; all other bytes of the body stay where they are.
func (r *request) Splice(records [][]byte) int {
	messages := r.value("messages").Array()
	s := splicer{records: intercept.Records[record](records), notes: make(map[string]string)}
	s.found = intercept.MatchMessages(intercept.Opening(r.opening()), messages, s.records, func(at int) intercept.HistoryTurn { return echo(messages, at) })
	if len(s.found) == 0 {
		return 0
	}
	history := intercept.RewriteItems(r.Field("messages"), messages, s.take)
	if len(s.owed) > 0 {
		history = strictjson.AppendItems(history, userMessage(s.owed))
	}
	at, _ := r.At("messages")
	spliced, err := parseRequest(r.With(strictjson.Replace(r.Envelope().Body, at, history)))
	if err != nil {
		return 0
	}
	spliced.before = r.ending()
	*r = *spliced
	for _, f := range s.found {
		r.AddPlacement(&s.records[f.Record].TurnFingerprint, f.Sure)
	}
	return len(s.found)
}

// echo is the i-th message, which is the assistant's, as the agent shows it.
func echo(messages []gjson.Result, i int) intercept.HistoryTurn {
	content := messages[i].Get("content")
	e := intercept.HistoryTurn{Before: before(messages[:i]), Text: intercept.StripSpace(strictjson.ContentText(content))}
	for _, c := range calls(blocks(content)) {
		e.Calls = append(e.Calls, intercept.NewCallFingerprint(c.Get("id").Str, c.Get("name").Str, c.Get("input").Raw))
	}
	return e
}

// blocks are the blocks of a content that is an array.
func blocks(content gjson.Result) []gjson.Result {
	if !content.IsArray() {
		return nil
	}
	return content.Array()
}

func calls(blocks []gjson.Result) (list []gjson.Result) {
	for _, b := range blocks {
		if b.Get("type").Str == "tool_use" {
			list = append(list, b)
		}
	}
	return list
}

// splicer rewrites a history message by message.
type splicer struct {
	records []*record
	found   map[int]intercept.Found // by the place of the assistant message
	owed    []string                // results that the next message begins with
	notes   map[string]string       // by the id of a call: what goes before its result
}

func (s *splicer) take(i int, m gjson.Result) (messages []string) {
	switch m.Get("role").Str {
	case "user":
		return []string{s.user(m)}
	case "system": // may stand before the results of the agent's calls
		return []string{m.Raw}
	}
	if len(s.owed) > 0 {
		messages = append(messages, userMessage(s.owed))
		s.owed = nil
	}
	if f, ok := s.found[i]; ok {
		return append(messages, s.assistant(s.records[f.Record], f, m)...)
	}
	return append(messages, m.Raw)
}

// assistant returns what the model really said in place of what the agent saw. Text
// and calls that the agent has changed stay as they are.
func (s *splicer) assistant(rec *record, f intercept.Found, m gjson.Result) []string {
	messages := append([]string(nil), rec.Turns...)
	seen := blocks(m.Get("content"))
	for i, c := range rec.Calls {
		id := c.ID
		if echoed := calls(seen); id == "" && i < len(echoed) {
			id = echoed[i].Get("id").Str
		}
		s.notes[id] = c.Note
	}
	s.owed = rec.Results
	if len(rec.Turns) == 0 && !slices.ContainsFunc(rec.Pieces, piece.differs) {
		return []string{m.Raw}
	}
	content := rec.beside(m.Get("content"))
	if f.Text && f.Calls {
		content = rec.content(m.Get("content").IsArray(), seen)
	}
	if len(content) == 0 {
		return messages
	}
	raw, err := sjson.SetRaw(m.Raw, "content", "["+strings.Join(content, ",")+"]")
	if err != nil {
		raw = m.Raw
	}
	return append(messages, raw)
}

// content is the message as the model said it: the agent's blocks, without those
// of earlier turns and with those that it did not see at their places. Where the
// agent shows its blocks in another form, the recorded ones stand for them.
func (rec *record) content(array bool, seen []gjson.Result) (content []string) {
	rest := seen
	for _, p := range rec.Pieces {
		switch {
		case p.Key == "":
			content = append(content, p.Raw)
		case len(rest) > 0 && key(rest[0].Raw) == p.Key:
			if !p.Before {
				content = append(content, rest[0].Raw)
			}
			rest = rest[1:]
		}
	}
	if array && len(rest) == 0 {
		return content
	}
	return rec.recorded(calls(seen))
}

// beside is the message with the blocks of the agent's, which has changed them, and
// the calls that it did not see. Thinking of earlier turns is in Turns already.
func (rec *record) beside(content gjson.Result) (list []string) {
	past := make(map[string]int)
	for _, p := range rec.Pieces {
		if p.Before && p.Key != "" {
			past[p.Key]++
		}
	}
	for _, b := range blocks(content) {
		if k := key(b.Raw); past[k] > 0 {
			past[k]--
			continue
		}
		list = append(list, b.Raw)
	}
	if content.Type == gjson.String && !blank(textBlock(content.Str)) {
		list = append(list, textBlock(content.Str))
	}
	for _, p := range rec.Pieces {
		if p.Key == "" {
			list = append(list, p.Raw)
		}
	}
	return list
}

func (rec *record) recorded(calls []gjson.Result) (content []string) {
	for _, p := range rec.Pieces {
		switch {
		case p.Before || blank(p.Raw):
		case p.Raw != "":
			content = append(content, p.Raw)
		case len(calls) > 0:
			content = append(content, calls[0].Raw)
			calls = calls[1:]
		}
	}
	return content
}

// user puts results that are owed before all else in a message of the user, and
// notes before the results of edited calls.
func (s *splicer) user(m gjson.Result) string {
	content := m.Get("content")
	parts := s.owed
	changed := len(s.owed) > 0
	s.owed = nil
	for _, part := range blocks(content) {
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
	raw, err := sjson.SetRaw(m.Raw, "content", "["+strings.Join(parts, ",")+"]")
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
