package chat

import (
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

// Splice implements [intercept.Request]. It replaces only the messages that change; all
// other bytes of the body stay.
func (r *request) Splice(hidden [][]byte) int {
	records := intercept.Records[answerRecord](hidden)
	h := r.History()
	turns := h.Turns(func(m gjson.Result) intercept.HistoryTurn { return historyTurn(m, records) })
	for _, m := range intercept.MatchTurns(r.Opening(), turns, records) {
		*h.At(m.Turn.First) = m.Answer.hidden(m.Found, h.Items[m.Turn.First])
		h.Place(&m.Answer.TurnFingerprint, m.Sure, m.Unique)
	}
	if !h.Changed() {
		return 0
	}
	span, _ := r.At("messages")
	if r.SetBody(strictjson.Replace(r.Envelope().Body, span, h.Render(annotated))) != nil {
		return 0
	}
	return r.Spliced(h)
}

// historyTurn reads a message of the assistant as the agent shows it.
func historyTurn(m gjson.Result, records []*answerRecord) intercept.HistoryTurn {
	content := m.Get("content")
	turn := intercept.HistoryTurn{Text: strictjson.ContentText(content)}
	for _, rec := range records {
		if rec.spokenBy(content) {
			turn.Text = rec.Text // the agent heard it and shows it in words
		}
	}
	for _, c := range m.Get("tool_calls").Array() {
		made, input := c.Get("function"), "arguments"
		if made.Get("name").Str == "" {
			made, input = c.Get("custom"), "input"
		}
		turn.Calls = append(turn.Calls, intercept.NewCallFingerprint(c.Get("id").Str, made.Get("name").Str, made.Get(input).String()))
	}
	if legacy := m.Get("function_call"); legacy.IsObject() && len(turn.Calls) == 0 {
		turn.Calls = append(turn.Calls, intercept.NewCallFingerprint("", legacy.Get("name").Str, legacy.Get("arguments").String()))
	}
	return turn
}

// hidden is what the agent does not show of the answer at its message m. Text and calls that it has changed stay.
func (rec *answerRecord) hidden(found intercept.Found, m gjson.Result) intercept.HiddenPart {
	var part intercept.HiddenPart
	raw, speeches := m.Raw, rec.Speech
	if len(rec.Turns) > 0 {
		raw = rec.restore(m, found.Text)
	}
	if m.Get("audio.id").Exists() {
		speeches = nil
	}
	for _, message := range rec.Turns {
		part.Before = append(part.Before, inWords(message, speeches))
	}
	shown := m.Get("tool_calls").Array()
	part.Note(rec.NotesOn(shown))
	entries, denials := rec.calls(shown, found.Calls)
	if len(denials) > 0 {
		if next, err := sjson.SetRaw(raw, "tool_calls", "["+strings.Join(entries, ",")+"]"); err == nil {
			raw = next
		}
	}
	part.Replace, part.After = []string{raw}, denials
	return part
}

// annotated is a message, if it is the result of an edited call with the note before it.
func annotated(_ int, m gjson.Result, notes intercept.Notes) string {
	switch m.Get("role").Str {
	case "tool":
		return notes.Annotate(m, m.Get("tool_call_id").Str, "content")
	case "function":
		return notes.Annotate(m, m.Get("name").Str, "content")
	}
	return m.Raw
}
