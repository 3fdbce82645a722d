package chat

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// fingerprint identifies a message of a history.
func fingerprint(m gjson.Result) string {
	return intercept.Fingerprint(m.Get("role").Str, m.Get("tool_call_id").Str, strictjson.ContentText(m.Get("content")))
}

// ending is the fingerprint of the message that the agent's request ends with.
func (r *request) ending() string {
	if r.lastSent == "" {
		var last gjson.Result
		gjson.ParseBytes(r.AsSent()).ForEach(func(_, m gjson.Result) bool {
			last = m
			return true
		})
		r.lastSent = fingerprint(last)
	}
	return r.lastSent
}

// Splice implements [intercept.Request]. It replaces only the messages that change; all
// other bytes of the body stay.
func (r *request) Splice(records [][]byte) int {
	messages := r.messages().Array()
	s := splicer{records: intercept.Records[answerRecord](records), notes: make(map[string]string)}
	s.found = matchRecords(intercept.Opening(r.Opening().String()), messages, s.records)
	if len(s.found) == 0 {
		return 0
	}
	history := intercept.RewriteItems(r.Field("messages"), messages, s.rewrite)
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

// matchRecords finds the assistant message of each record, by its place in messages.
func matchRecords(opening string, messages []gjson.Result, records []*answerRecord) map[int]intercept.Found {
	return intercept.MatchMessages(opening, messages, records, func(at int) intercept.HistoryTurn {
		e := historyTurn(messages, at)
		for _, rec := range records {
			if rec.spokenBy(messages[at].Get("content")) {
				e.Text = rec.Text // the agent heard it and shows it in words
			}
		}
		return e
	})
}

// historyTurn reads the i-th message, which is the assistant's, as the agent shows it.
func historyTurn(messages []gjson.Result, i int) intercept.HistoryTurn {
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
	records []*answerRecord
	found   map[int]intercept.Found // by the place of the assistant message
	notes   map[string]string       // the text before the result of an edited call
}

func (s *splicer) rewrite(i int, m gjson.Result) []string {
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

// assistant returns the messages that the model wrote in place of the message m that the
// agent saw. Text and calls that the agent has changed stay.
func (s *splicer) assistant(rec *answerRecord, f intercept.Found, m gjson.Result) []string {
	messages, raw := slices.Clone(rec.Turns), m.Raw
	if len(messages) > 0 {
		raw = rec.restore(m, f.Text)
		if !m.Get("audio.id").Exists() {
			for i := range messages {
				messages[i] = inWords(messages[i], rec.Speech)
			}
		}
	}
	shown := m.Get("tool_calls").Array()
	s.keepNotes(rec, shown)
	entries, denials := rec.calls(shown, f.Calls)
	if len(denials) > 0 {
		if next, err := sjson.SetRaw(raw, "tool_calls", "["+strings.Join(entries, ",")+"]"); err == nil {
			raw = next
		}
	}
	return append(append(messages, raw), denials...)
}

// keepNotes keeps the notes of edited calls for the results, which refer to the calls by
// id, or in the old form by name.
func (s *splicer) keepNotes(rec *answerRecord, seen []gjson.Result) {
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
