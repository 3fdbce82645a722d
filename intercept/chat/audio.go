package chat

import (
	"strings"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// spokenField names the words of a sound among the texts of a delta.
const spokenField = "audio.transcript"

// audio is the sound of a message. Only its words are kept: a history refers to the sound
// by its id.
type audio struct {
	id    string // raw
	words strictjson.Rope
}

func (s *audio) any() bool { return s.id != "" || s.words.Len() > 0 }

func (s *audio) add(v gjson.Result) (kept int) {
	v.ForEach(func(k, v gjson.Result) bool {
		switch {
		case v.Type != gjson.String || v.Str == "":
		case k.Str == "id" && s.id == "":
			s.id = strings.Clone(v.Raw)
			kept += len(v.Raw)
		case k.Str == "transcript":
			s.words.Add([]byte(v.Raw[1 : len(v.Raw)-1]))
			kept += len(v.Raw)
		}
		return true
	})
	return kept
}

// onlySound reports whether a piece of a sound has only more data and more words.
func onlySound(v gjson.Result) bool {
	only := v.IsObject()
	v.ForEach(func(k, v gjson.Result) bool {
		only = only && v.Type == gjson.String && (k.Str == "data" || k.Str == "transcript")
		return only
	})
	return only
}

// text returns the words.
func (s *audio) text() string { return gjson.Parse(`"` + s.words.String() + `"`).String() }

// speech is the sound as a later request may need it.
func (s *audio) speech() []spokenTurn {
	if s.id == "" {
		return nil
	}
	return []spokenTurn{{ID: s.id, Text: s.text()}}
}
