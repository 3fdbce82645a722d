package history

import (
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// Reference is the audio field of a message in a history. The id is raw.
func Reference(id string) string { return `{"id":` + id + `}` }

// SpokenTurn is the sound of a turn that the agent does not see, in words.
type SpokenTurn struct {
	ID   string `json:"id"` // raw
	Text string `json:"text"`
}

// inWords returns a message with its words in place of its sound, if that is among
// speeches. An agent that itself continues in words may do so because the sound has
// expired.
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
