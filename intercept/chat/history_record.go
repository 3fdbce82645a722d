package chat

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// answerRecord describes an answer that the agent got in another form than the model wrote it,
// because calls were denied or edited. Messages are kept as the text that was sent, so that each splice is the same
// bytes.
type answerRecord struct {
	intercept.TurnFingerprint
	// Turns are the messages of whole turns that the agent did not see. They precede the
	// assistant message that it did see.
	Turns []string `json:"turns,omitempty"`
	// Speech is the sound of Turns in words, Spoken that of all that the agent heard.
	Speech []spokenTurn `json:"speech,omitempty"`
	Spoken string       `json:"spoken,omitempty"`
	// LastText is the part of Text that belongs to the message that the agent saw.
	LastText string   `json:"last_text"`
	Last     lastTurn `json:"last,omitzero"`
	// LastCalls are all calls of that message, if some were denied.
	LastCalls []lastCall `json:"last_calls,omitempty"`
}

// lastTurn is the last turn of an answer without its text. The message that the agent saw has
// these fields of all turns.
type lastTurn struct {
	Content string     `json:"content,omitempty"` // if it is an array
	Audio   string     `json:"audio,omitempty"`   // raw id
	Spoken  string     `json:"spoken,omitempty"`
	Extras  []rawField `json:"extras,omitempty"`
	Gone    []string   `json:"gone,omitempty"` // extras of earlier turns only
}

// rawField is a field of a message with its value as JSON.
type rawField struct {
	Name string `json:"name"`
	Raw  string `json:"raw"`
}

// lastCall is a call of the last message: one that the agent saw, by its place in Calls,
// or a denied one with its entry and its result.
type lastCall struct {
	Seen   int    `json:"seen"` // -1: denied
	Entry  string `json:"entry,omitempty"`
	Denial string `json:"denial,omitempty"`
}

// restore returns the message m, which the agent shows, as the last turn of the model
// had it: earlier turns are messages of their own. Text reports that the agent has not
// changed the text; otherwise the content stays.
func (rec *answerRecord) restore(m gjson.Result, text bool) string {
	p := strictjson.Patch{JSON: m.Raw}
	if content := rec.lastContent(m); text && content != "" {
		p.Set("content", content)
	}
	if m.Get("audio.id").Exists() {
		if rec.Last.Audio != "" {
			p.Set("audio", audioReference(rec.Last.Audio))
		} else {
			p.Delete("audio")
		}
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

// lastContent returns the content of the last turn, "" if the message m has the same.
func (rec *answerRecord) lastContent(m gjson.Result) string {
	content := m.Get("content")
	if rec.LastText == rec.Text {
		if rec.Last.Spoken != "" && !m.Get("audio.id").Exists() && rec.spokenBy(content) {
			return strictjson.Quote(rec.Last.Spoken)
		}
		return ""
	}
	switch {
	case rec.Last.Content != "" && content.IsArray():
		return rec.Last.Content
	case rec.LastText == "":
		return "null"
	}
	return strictjson.Quote(rec.LastText)
}

// spokenBy reports whether a content is the sound that the agent heard, in words.
func (rec *answerRecord) spokenBy(content gjson.Result) bool {
	spoken := strings.TrimSpace(rec.Spoken)
	return spoken != "" && strings.TrimSpace(strictjson.ContentText(content)) == spoken
}

// calls returns the entries of tool_calls of the last turn and the results of its denied
// calls. Seen are the calls that the agent shows; unchanged reports that they are those
// that it saw.
func (rec *answerRecord) calls(seen []gjson.Result, unchanged bool) (entries, denials []string) {
	for _, c := range seen {
		if !unchanged {
			entries = append(entries, c.Raw)
		}
	}
	for _, c := range rec.LastCalls {
		switch {
		case c.Seen < 0:
			entries, denials = append(entries, c.Entry), append(denials, c.Denial)
		case unchanged && c.Seen < len(seen):
			entries = append(entries, seen[c.Seen].Raw)
		}
	}
	return entries, denials
}

// audioReference is the audio field of a message in a history. The id is raw.
func audioReference(id string) string { return `{"id":` + id + `}` }

// spokenTurn is the sound of a turn that the agent does not see, in words.
type spokenTurn struct {
	ID   string `json:"id"` // raw
	Text string `json:"text"`
}

// inWords returns a message with its words in place of its sound, if that is among
// speeches. An agent that itself continues in words may do so because the sound has
// expired.
func inWords(message string, speeches []spokenTurn) string {
	id := gjson.Get(message, "audio.id").Raw
	for _, s := range speeches {
		if id == "" || s.ID != id {
			continue
		}
		p := strictjson.Patch{JSON: message}
		p.Delete("audio")
		if gjson.Get(message, "content").Type == gjson.Null {
			p.Set("content", strictjson.Quote(s.Text))
		}
		if p.Err == nil {
			return p.JSON
		}
	}
	return message
}
