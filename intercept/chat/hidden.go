package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// record is what heldcall remembers of an answer whose agent saw less, or other,
// than the model said. Messages are kept as the text they were sent as, so that
// each splice is the same bytes.
type record struct {
	// Before is the fingerprint of the message that the agent's request ended
	// with: the answer stands right behind it.
	Before string `json:"before"`
	// Text and Calls are what the agent saw of the answer.
	Text  string     `json:"text"`
	Calls []seenCall `json:"calls,omitempty"`
	// Turns are the messages of whole turns that the agent did not see; they
	// stand before the assistant message that it did see.
	Turns []string `json:"turns,omitempty"`
	// LastText is what of Text belongs to the message that the agent saw.
	LastText string `json:"last_text"`
	// LastCalls are all calls of that message, where some were denied.
	LastCalls []lastCall `json:"last_calls,omitempty"`
}

type seenCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Note string `json:"note,omitempty"` // what the model reads before its result, after an edit
}

// lastCall is a call of the last message: one that the agent saw (by its place
// in Calls), or a denied one with the messages that stand for it.
type lastCall struct {
	Seen   int    `json:"seen"` // -1: denied
	Entry  string `json:"entry,omitempty"`
	Denial string `json:"denial,omitempty"`
}

func (rec *record) encode() ([]byte, error) { return json.Marshal(rec) }

// fingerprint identifies a message by what it says, because agents render the
// messages of a history anew (cache marks come and go).
func fingerprint(m gjson.Result) string {
	said := strings.Join([]string{m.Get("role").Str, m.Get("tool_call_id").Str, contentText(m.Get("content"))}, "\x00")
	sum := sha256.Sum256([]byte(said))
	return hex.EncodeToString(sum[:16])
}

// ending is the fingerprint of the message that the agent's request ends with.
func (r *request) ending() string {
	if r.before == "" {
		var last gjson.Result
		gjson.ParseBytes(r.look().messages).ForEach(func(_, m gjson.Result) bool {
			last = m
			return true
		})
		r.before = fingerprint(last)
	}
	return r.before
}

// Splice implements [intercept.Request]. Only the messages that change are
// written anew; all other bytes of the body stay where they are.
func (r *request) Splice(records [][]byte) int {
	messages := gjson.ParseBytes(r.look().messages).Array()
	s := splicer{records: match(messages, records), notes: make(map[string]string)}
	if len(s.records) == 0 {
		return 0
	}
	at := 0 // how far of the array has been written
	for i, m := range messages {
		s.out = append(s.out, r.messages[at:m.Index]...)
		s.take(i, m)
		at = m.Index + len(m.Raw)
	}
	s.out = append(s.out, r.messages[at:]...)
	body := make([]byte, 0, len(r.body)+len(s.out)-len(r.messages))
	body = append(body, r.body[:r.at]...)
	body = append(body, s.out...)
	body = append(body, r.body[r.at+len(r.messages):]...)
	again, err := parseRequest(body)
	if err != nil {
		return 0
	}
	again.before = r.ending()
	*r = *again
	return len(s.records)
}

// match finds the assistant message of each record, by its place in messages.
// What the agent saw of the answer has to stand there. Ids repeat at many
// providers, so of several such messages it is the one that follows the message
// that the answer followed; without one, because agents shorten and rewrite
// their history, a message with calls counts if it is the only one.
func match(messages []gjson.Result, records [][]byte) map[int]*record {
	found := make(map[int]*record)
	var late []*record
	for _, raw := range records {
		rec := &record{}
		if json.Unmarshal(raw, rec) != nil {
			continue
		}
		if at := rec.follows(messages, found); at >= 0 {
			found[at] = rec
		} else {
			late = append(late, rec)
		}
	}
	for _, rec := range late {
		if at := rec.only(messages, found); at >= 0 {
			found[at] = rec
		}
	}
	return found
}

func (rec *record) follows(messages []gjson.Result, found map[int]*record) int {
	for i, m := range messages {
		if found[i] == nil && rec.saw(m) && i > 0 && fingerprint(messages[i-1]) == rec.Before {
			return i
		}
	}
	return -1
}

func (rec *record) only(messages []gjson.Result, found map[int]*record) int {
	at := -1
	for i, m := range messages {
		if len(rec.Calls) == 0 || !rec.saw(m) {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = i
	}
	if found[at] != nil {
		return -1
	}
	return at
}

// splicer rewrites a history message by message.
type splicer struct {
	records map[int]*record // by the place of their assistant message
	out     []byte
	notes   map[string]string // what stands before the result of an edited call
}

func (s *splicer) take(i int, m gjson.Result) {
	messages := []string{m.Raw}
	switch m.Get("role").Str {
	case "assistant":
		if rec := s.records[i]; rec != nil {
			messages = s.assistant(rec, m)
		}
	case "tool":
		messages[0] = s.annotate(m, m.Get("tool_call_id").Str)
	case "function":
		messages[0] = s.annotate(m, m.Get("name").Str)
	}
	s.out = append(s.out, strings.Join(messages, ",")...)
}

// saw reports whether a message is what the agent saw of the answer. Some agents
// leave out the text beside calls.
func (rec *record) saw(m gjson.Result) bool {
	if m.Get("role").Str != "assistant" {
		return false
	}
	text := strings.TrimSpace(contentText(m.Get("content")))
	return rec.sawCalls(m) && (text == strings.TrimSpace(rec.Text) || text == "" && len(rec.Calls) > 0)
}

func (rec *record) sawCalls(m gjson.Result) bool {
	calls := m.Get("tool_calls").Array()
	if legacy := m.Get("function_call"); legacy.IsObject() {
		return len(rec.Calls) == 1 && len(calls) == 0 && rec.Calls[0].Name == legacy.Get("name").Str
	}
	if len(calls) != len(rec.Calls) {
		return false
	}
	for i, c := range calls {
		name := c.Get("function.name").Str
		if name == "" {
			name = c.Get("custom.name").Str
		}
		seen := rec.Calls[i]
		if name != seen.Name || seen.ID != "" && c.Get("id").Str != seen.ID {
			return false
		}
	}
	return true
}

// assistant returns what the model really said in place of what the agent saw.
func (s *splicer) assistant(rec *record, m gjson.Result) []string {
	messages := append([]string(nil), rec.Turns...)
	raw := m.Raw
	if len(rec.Turns) > 0 && rec.LastText != rec.Text {
		raw = setContent(raw, rec.LastText)
	}
	seen := m.Get("tool_calls").Array()
	var entries, denials []string
	for _, c := range rec.LastCalls {
		switch {
		case c.Seen < 0:
			entries = append(entries, c.Entry)
			denials = append(denials, c.Denial)
		case c.Seen < len(seen):
			entries = append(entries, seen[c.Seen].Raw)
		}
	}
	if len(denials) > 0 {
		if next, err := sjson.SetRaw(raw, "tool_calls", "["+strings.Join(entries, ",")+"]"); err == nil {
			raw = next
		}
	}
	for i, c := range rec.Calls {
		key := c.ID
		if key == "" && i < len(seen) {
			key = seen[i].Get("id").Str
		}
		if c.Note != "" && key == "" {
			key = c.Name
		}
		s.notes[key] = c.Note
	}
	return append(append(messages, raw), denials...)
}

func setContent(raw, text string) string {
	content := quote(text)
	if text == "" {
		content = "null"
	}
	if next, err := sjson.SetRaw(raw, "content", content); err == nil {
		return next
	}
	return raw
}

// annotate puts the note of an edit before the result of the call.
func (s *splicer) annotate(m gjson.Result, key string) string {
	note := s.notes[key]
	if note == "" {
		return m.Raw
	}
	delete(s.notes, key)
	content := m.Get("content")
	value := quote(note + "\n" + content.String())
	if content.IsArray() {
		items := strings.TrimSpace(content.Raw[1 : len(content.Raw)-1])
		value = fmt.Sprintf(`[{"type":"text","text":%s}%s]`, quote(note), joinAfter(items != "", []string{items}))
	}
	if next, err := sjson.SetRaw(m.Raw, "content", value); err == nil {
		return next
	}
	return m.Raw
}
