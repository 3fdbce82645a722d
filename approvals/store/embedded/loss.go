package embedded

import (
	"fmt"
	"strings"
)

// Loss is a part of the state that is missing or damaged.
type Loss struct {
	Stream  string // of JetStream, such as KV_heldcall_requests; "" for all
	File    string // in the data folder
	Seq     uint64 // the first sequence that is missing, 0 if that is unknown
	Problem string
}

func (l Loss) String() string {
	text := l.File + ": " + l.Problem
	if l.Stream != "" {
		text = "stream " + l.Stream + ": " + text
	}
	if l.Seq > 0 {
		text += fmt.Sprintf(" (the first missing sequence is %d)", l.Seq)
	}
	return text
}

// LossError reports that the state in a data folder is not what was last written.
type LossError struct {
	Dir    string
	Losses []Loss
}

func (e *LossError) Error() string {
	return fmt.Sprintf("the state in %s is damaged or incomplete: %s. Restore a backup of the folder; or start with --accept-loss, which continues with the rest", e.Dir, e.Details())
}

// Details names each loss.
func (e *LossError) Details() string {
	var texts []string
	for _, l := range e.Losses {
		texts = append(texts, l.String())
	}
	return strings.Join(texts, "; ")
}
