package journal

import (
	"time"

	"github.com/heldcall/heldcall/approvals/audit"
)

// idsKept is the least time for which ids are kept. A caller that tries an append again later first looks for
// the event in the log.
const idsKept = time.Minute

// recentIDs has the ids of events that were appended not long ago. A caller that does not know that an append
// has succeeded tries again.
type recentIDs struct {
	current, previous map[string]struct{}
	started           time.Time // when current was begun
}

func (r *recentIDs) add(entries []audit.Entry) {
	if r.current == nil || time.Since(r.started) > idsKept {
		r.current, r.previous, r.started = map[string]struct{}{}, r.current, time.Now()
	}
	for i := range entries {
		r.current[entries[i].Event.ID] = struct{}{}
	}
}

// any reports whether the id of an event is known, or occurs twice among the entries.
func (r *recentIDs) any(entries []audit.Entry) bool {
	ids := make(map[string]struct{}, len(entries))
	for i := range entries {
		id := entries[i].Event.ID
		ids[id] = struct{}{}
		_, current := r.current[id]
		_, previous := r.previous[id]
		if current || previous {
			return true
		}
	}
	return len(ids) < len(entries)
}
