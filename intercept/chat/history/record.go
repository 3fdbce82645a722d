package history

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// Record is what heldcall remembers of an answer whose agent saw less, or other,
// than the model said. Messages are kept as the text they were sent as, so that
// each splice is the same bytes.
type Record struct {
	intercept.TurnFingerprint
	// Turns are the messages of whole turns that the agent did not see; they
	// stand before the assistant message that it did see.
	Turns []string `json:"turns,omitempty"`
	// Speech is what was spoken in Turns, Spoken all that the agent heard.
	Speech []SpokenTurn `json:"speech,omitempty"`
	Spoken string       `json:"spoken,omitempty"`
	// LastText is what of Text belongs to the message that the agent saw.
	LastText string `json:"last_text"`
	Last     Last   `json:"last,omitzero"`
	// LastCalls are all calls of that message, where some were denied.
	LastCalls []LastCall `json:"last_calls,omitempty"`
}

// Last is what besides text the last turn of an answer said. The message that the
// agent saw has that of all turns.
type Last struct {
	Content string   `json:"content,omitempty"` // where it came as an array
	Audio   string   `json:"audio,omitempty"`   // raw id
	Spoken  string   `json:"spoken,omitempty"`
	Extras  []Field  `json:"extras,omitempty"`
	Gone    []string `json:"gone,omitempty"` // extras of earlier turns only
}

// Field is a field of a message with its value as JSON.
type Field struct {
	Name string `json:"name"`
	Raw  string `json:"raw"`
}

// LastCall is a call of the last message: one that the agent saw (by its place
// in Calls), or a denied one with the messages that stand for it.
type LastCall struct {
	Seen   int    `json:"seen"` // -1: denied
	Entry  string `json:"entry,omitempty"`
	Denial string `json:"denial,omitempty"`
}

// Encode renders the record as it is stored.
func (rec *Record) Encode() ([]byte, error) { return json.Marshal(rec) }

// fingerprint identifies a message of a history.
func fingerprint(m gjson.Result) string {
	return intercept.Fingerprint(m.Get("role").Str, m.Get("tool_call_id").Str, strictjson.ContentText(m.Get("content")))
}

// Ending is the fingerprint of the message that the agent's request ends with.
func (r *Request) Ending() string {
	if r.before == "" {
		var last gjson.Result
		r.Messages().ForEach(func(_, m gjson.Result) bool {
			last = m
			return true
		})
		r.before = fingerprint(last)
	}
	return r.before
}

// Splice implements [intercept.Request]. Only the messages that change are
// written anew; all other bytes of the body stay where they are.
func (r *Request) Splice(records [][]byte) int {
	messages := r.Messages().Array()
	s := splicer{records: intercept.Records[Record](records), notes: make(map[string]string)}
	s.found = match(intercept.Opening(r.Opening()), messages, s.records)
	if len(s.found) == 0 {
		return 0
	}
	history := intercept.RewriteItems(r.Field("messages"), messages, s.take)
	at, _ := r.At("messages")
	spliced, err := ParseRequest(r.With(strictjson.Replace(r.Envelope().Body, at, history)))
	if err != nil {
		return 0
	}
	spliced.before = r.Ending()
	*r = *spliced
	for _, f := range s.found {
		r.AddPlacement(&s.records[f.Record].TurnFingerprint, f.Sure)
	}
	return len(s.found)
}

// match finds the assistant message of each record, by its place in messages.
func match(opening string, messages []gjson.Result, records []*Record) map[int]intercept.Found {
	return intercept.MatchMessages(opening, messages, records, func(at int) intercept.HistoryTurn {
		e := echo(messages, at)
		for _, rec := range records {
			if rec.spokenBy(messages[at].Get("content")) {
				e.Text = rec.Text // it was heard, and is shown in words
			}
		}
		return e
	})
}

// echo is the i-th message, which is the assistant's, as the agent shows it.
func echo(messages []gjson.Result, i int) intercept.HistoryTurn {
	m := messages[i]
	e := intercept.HistoryTurn{Text: strictjson.ContentText(m.Get("content"))}
	if i > 0 {
		e.Before = fingerprint(messages[i-1])
	}
	for _, c := range m.Get("tool_calls").Array() {
		made, input := c.Get("function"), "arguments"
		if made.Get("name").Str == "" {
			made, input = c.Get("custom"), "input"
		}
		e.Calls = append(e.Calls, intercept.NewCallFingerprint(c.Get("id").Str, made.Get("name").Str, made.Get(input).String()))
	}
	if legacy := m.Get("function_call"); legacy.IsObject() && len(e.Calls) == 0 {
		e.Calls = append(e.Calls, intercept.NewCallFingerprint("", legacy.Get("name").Str, legacy.Get("arguments").String()))
	}
	return e
}

// splicer rewrites a history message by message.
type splicer struct {
	records []*Record
	found   map[int]intercept.Found // by the place of the assistant message
	notes   map[string]string       // what goes before the result of an edited call
}

func (s *splicer) take(i int, m gjson.Result) []string {
	messages := []string{m.Raw}
	switch m.Get("role").Str {
	case "assistant":
		if f, ok := s.found[i]; ok {
			messages = s.assistant(s.records[f.Record], f, m)
		}
	case "tool":
		messages[0] = s.annotate(m, m.Get("tool_call_id").Str)
	case "function":
		messages[0] = s.annotate(m, m.Get("name").Str)
	}
	return messages
}

// assistant returns what the model really said in place of what the agent saw. Text
// and calls that the agent has changed stay as they are.
func (s *splicer) assistant(rec *Record, f intercept.Found, m gjson.Result) []string {
	messages := append([]string(nil), rec.Turns...)
	raw := m.Raw
	if len(messages) > 0 {
		raw = rec.restore(m, f.Text)
		if !m.Get("audio.id").Exists() {
			for i := range messages {
				messages[i] = inWords(messages[i], rec.Speech)
			}
		}
	}
	seen := m.Get("tool_calls").Array()
	var entries, denials []string
	if !f.Calls {
		for _, c := range seen {
			entries = append(entries, c.Raw)
		}
	}
	for _, c := range rec.LastCalls {
		switch {
		case c.Seen < 0:
			entries = append(entries, c.Entry)
			denials = append(denials, c.Denial)
		case f.Calls && c.Seen < len(seen):
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

// restore makes of the message that the agent shows the one that the last turn
// said: what earlier turns said is in messages of their own. The content stays where
// the agent has changed the text.
func (rec *Record) restore(m gjson.Result, text bool) string {
	p := strictjson.Patch{JSON: m.Raw}
	content, refers := m.Get("content"), m.Get("audio.id").Exists()
	switch {
	case !text:
	case rec.LastText != rec.Text && rec.Last.Content != "" && content.IsArray():
		p.Set("content", rec.Last.Content)
	case rec.LastText != rec.Text && rec.LastText == "":
		p.Set("content", "null")
	case rec.LastText != rec.Text:
		p.Set("content", strictjson.Quote(rec.LastText))
	case !refers && rec.Last.Spoken != "" && rec.spokenBy(content):
		p.Set("content", strictjson.Quote(rec.Last.Spoken))
	}
	switch {
	case refers && rec.Last.Audio != "":
		p.Set("audio", Reference(rec.Last.Audio))
	case refers:
		p.Delete("audio")
	}
	for _, f := range rec.Last.Extras {
		if path := gjson.Escape(f.Name); m.Get(path).Exists() {
			p.Set(path, f.Raw)
		}
	}
	for _, name := range rec.Last.Gone {
		if path := gjson.Escape(name); m.Get(path).String() != "" {
			p.Delete(path)
		}
	}
	if p.Err != nil {
		return m.Raw
	}
	return p.JSON
}

// spokenBy reports whether a content is what the agent heard, in words.
func (rec *Record) spokenBy(content gjson.Result) bool {
	spoken := strings.TrimSpace(rec.Spoken)
	return spoken != "" && strings.TrimSpace(strictjson.ContentText(content)) == spoken
}

// annotate puts the note of an edit before the result of the call.
func (s *splicer) annotate(m gjson.Result, key string) string {
	note := s.notes[key]
	if note == "" {
		return m.Raw
	}
	delete(s.notes, key)
	if next, err := sjson.SetRaw(m.Raw, "content", strictjson.Annotated(m.Get("content"), note)); err == nil {
		return next
	}
	return m.Raw
}
