package history

import (
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Reference is the audio field of a message in a history.
func Reference(id string) string { return `{"id":` + id + `}` }

// SpokenTurn is what was spoken in a turn that the agent does not see.
type SpokenTurn struct {
	ID   string `json:"id"` // raw
	Text string `json:"text"`
}

// inWords is a message whose sound, if it is among speeches, is replaced by what
// was spoken. An agent that itself goes on in words may do so because the sound
// has expired.
func inWords(message string, speeches []SpokenTurn) string {
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
