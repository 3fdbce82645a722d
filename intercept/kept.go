package intercept

import "github.com/heldcall/heldcall/intercept/notice"

// KeptAnswer is the part of a record about an answer that upstream keeps: the agent continues it by
// its id, with new items only. Upstream may know the end of the answer by another id, because
// heldcall has continued it, and it lacks what heldcall has told the agent or the agent has done.
type KeptAnswer struct {
	// Response is the id by which the agent knows the answer, Chain those by which
	// upstream knows its parts.
	Response string   `json:"response,omitempty"`
	Chain    []string `json:"chain,omitempty"`
	// Missing are the items that upstream needs to continue the answer that it keeps:
	// outputs of calls that the agent never got.
	Missing []string `json:"missing,omitempty"`
	// Ran are the arguments that ran, by call id, where upstream keeps others.
	Ran map[string]string `json:"ran,omitempty"`
}

// Lacks reports whether upstream does not have all of the answer.
func (k *KeptAnswer) Lacks() bool { return len(k.Missing)+len(k.Ran) > 0 }

// End is the id by which upstream knows the end of the answer.
func (k *KeptAnswer) End() string {
	if n := len(k.Chain); n > 0 {
		return k.Chain[n-1]
	}
	return k.Response
}

// SetRan sets the arguments with which a call ran.
func (k *KeptAnswer) SetRan(call, arguments string) {
	if k.Ran == nil {
		k.Ran = make(map[string]string)
	}
	k.Ran[call] = arguments
}

// Notes are the texts before the outputs of calls that ran with other arguments than upstream
// keeps.
func (k *KeptAnswer) Notes(calls []CallFingerprint) Notes {
	notes := make(Notes)
	for _, c := range calls {
		if ran, edited := k.Ran[c.ID]; edited && c.Note != "" {
			notes[c.ID] = notice.ArgumentsRan(c.Note, ran)
		}
	}
	return notes
}
