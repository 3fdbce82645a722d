package hosted

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// Offers remembers what requests have offered the model. The zero value is ready for use.
// It is safe for concurrent use.
type Offers struct {
	requests atomic.Int64 // for a new answer
	offering atomic.Int64 // that offer tools
	tools    seen         // hosted tools, by run
	runs     seen         // runs whose requests offer no tools
}

// Count counts a request by whether it offers the model tools, and logs the first of a run
// that does not: if the agent reads its calls from the model's text, heldcall holds none
// of them. The history is not read for this, so all runs of a principal that the agent
// does not name count as one.
func (o *Offers) Count(r *conversation.Request, parsed intercept.Request, log *slog.Logger) {
	if parsed.Envelope().Method != http.MethodPost {
		return // it asks for an answer that was made before
	}
	o.requests.Add(1)
	if parsed.OffersTools() {
		o.offering.Add(1)
		return
	}
	if who := r.Principal; o.runs.first(conversation.PrincipalKey(who, r.Run)) {
		log.Info("a request offers the model no tools: heldcall holds nothing of what the model writes as text", "run", cmp.Or(r.Run, "not named"), "user", who.User, "agent", who.Agent)
	}
}

// Requests returns how many requests have asked for a new answer so far, and how many of
// them offered the model tools.
func (o *Offers) Requests() (requests, offering int) {
	return int(o.requests.Load()), int(o.offering.Load())
}

// isFirst reports whether a hosted tool is offered for the first time in its run: the key is
// of both.
func (o *Offers) isFirst(key string) bool { return o.tools.first(key) }

// seen remembers keys.
type seen struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

// maxSeen bounds the keys that are remembered; after that all are forgotten.
const maxSeen = 10_000

// first reports whether the key is not remembered, and remembers it.
func (s *seen) first(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.keys[key]; known {
		return false
	}
	if s.keys == nil || len(s.keys) >= maxSeen {
		s.keys = make(map[string]struct{})
	}
	s.keys[key] = struct{}{}
	return true
}
