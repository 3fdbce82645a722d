package heldturns

import (
	"context"
	"slices"
	"time"
)

// Delivery is the delivery of the answer of a turn.
type Delivery struct {
	At       time.Time // UTC; zero: it was not delivered
	Released time.Time // when the calls began to leave, UTC
	Calls    []string  // keys of the calls that the agent has got: see [Keeper.Seen]
}

const (
	// maxSeen bounds the calls whose results are remembered: each of two maps has at most half.
	maxSeen = 20_000
	// seenFor is how long they are: longer than it takes until each process knows of a delivery.
	seenFor = 2 * AgainFor
	// clockSkew is how much the clocks of two processes may differ.
	clockSkew = 5 * time.Second
)

// results knows the results that agents have sent: an answer with a call whose result was seen is not
// given again. A result may be seen before the delivery is recorded, or by another process, so
// it is remembered for a time.
type results struct {
	turns   map[string][]string  // ids of delivered turns, by the keys of their calls
	recent  map[string]time.Time // when the results of calls were last seen
	earlier map[string]time.Time // those before since
	since   time.Time            // when recent began
}

func newResults() results {
	return results{turns: map[string][]string{}, recent: map[string]time.Time{}}
}

// deliver adds a delivered turn. It may be there.
func (x *results) deliver(turn string, calls []string) {
	for _, call := range calls {
		if !slices.Contains(x.turns[call], turn) {
			x.turns[call] = append(x.turns[call], turn)
		}
	}
}

// forget removes a turn.
func (x *results) forget(turn string, calls []string) {
	for _, call := range calls {
		rest := slices.DeleteFunc(x.turns[call], func(id string) bool { return id == turn })
		if x.turns[call] = rest; len(rest) == 0 {
			delete(x.turns, call)
		}
	}
}

// seen reports whether a result of a call of a turn was seen since its release. The same id may have
// been that of an earlier call.
func (x *results) seen(s State) bool {
	since := s.ReleasedAt.Add(-clockSkew)
	return slices.ContainsFunc(s.Calls, func(call string) bool { return x.recent[call].After(since) || x.earlier[call].After(since) })
}

// see adds a result.
func (x *results) see(call string, now time.Time) {
	if len(x.recent) >= maxSeen/2 || now.Sub(x.since) >= seenFor {
		x.earlier, x.recent, x.since = x.recent, map[string]time.Time{}, now
	}
	x.recent[call] = now
}

// Seen marks that results of calls have arrived: an answer with one of them is not given again. The keys
// are those of [Attachment.Deliver].
func (k *Keeper) Seen(calls []string) {
	x, now := k.index, k.now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, call := range calls {
		x.results.see(call, now)
		for _, id := range x.results.turns[call] {
			if t := x.turns[id]; t != nil {
				t.remove = true
				x.touched.add(id)
			}
		}
	}
}

// delivery returns the recorded delivery of a turn.
func (x *index) delivery(id string) Delivery {
	x.mu.RLock()
	defer x.mu.RUnlock()
	recorded := x.states[id]
	return Delivery{recorded.DeliveredAt, recorded.ReleasedAt, recorded.Calls}
}

// deliveredTurns returns the stored turns that are only kept to be given again.
func (x *index) deliveredTurns() (ids []string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for id, t := range x.turns {
		if recorded := x.states[id]; t.busy == 0 && t.isStored(recorded) && t.state(recorded, x.processes).State == Delivered {
			ids = append(ids, id)
		}
	}
	return ids
}

// forgetDelivered makes room for a turn that waits for people: it removes all that are only kept to be
// given again. It reports whether there were any.
func (k *Keeper) forgetDelivered(ctx context.Context) bool {
	ids := k.index.deliveredTurns()
	for _, id := range ids {
		if err := k.remove(ctx, id); err != nil {
			k.log.Warn("failed to remove a delivered turn", "turn", id, "error", err)
		}
	}
	return len(ids) > 0
}
