package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// heldCalls are agents whose calls wait for a decision.
type heldCalls struct {
	agents []*agent
	ids    map[int64]string // seed of the exchange -> id of the request
}

// holdStreams starts n streams whose upstream has finished and whose calls are held. It asks heldcall nothing.
func holdStreams(h *hop, d *dialect, n int) ([]*agent, error) {
	return beginStreams(h.addr, d, shapeHeld, d.held, n, textEnded(d))
}

// textEnded reports whether the text of a held stream is at the agent.
func textEnded(d *dialect) func(body []byte) bool {
	textEnd := newScript(d, shapeHeld, d.held).callAt
	return func(body []byte) bool { return len(body) >= textEnd }
}

// holdWhole sends n requests for whole answers whose calls are held. Nothing comes back while they are.
func holdWhole(h *hop, d *dialect, n int) ([]*agent, error) {
	agents, err := openAgents(h.addr, n, 4096)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		a.seed = seeds.Add(1)
		if _, err := a.conn.Write(newPrompt(d, shapeHeldWhole, 0, shortPrompt, a.seed).render(a.seed)); err != nil {
			closeAgents(agents)
			return nil, fmt.Errorf("agent: send: %w", err)
		}
	}
	return agents, nil
}

// holdCalls holds n calls and learns their requests' ids.
func holdCalls(h *hop, d *dialect, s shape, n int) (*heldCalls, error) {
	hold := holdStreams
	if s == shapeHeldWhole {
		hold = holdWhole
	}
	agents, err := hold(h, d, n)
	if err != nil {
		return nil, err
	}
	held := &heldCalls{agents: agents}
	if held.ids, err = h.requestIDs(agents, 30*time.Second); err != nil {
		closeAgents(agents)
		return nil, err
	}
	return held, nil
}

// requestIDs polls the console until every agent's call is a pending request.
func (h *hop) requestIDs(agents []*agent, limit time.Duration) (map[int64]string, error) {
	for deadline := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		ids, err := h.pending()
		if err != nil {
			return nil, err
		}
		found := map[int64]string{}
		for _, a := range agents {
			if id := ids[callID(a.seed)]; id != "" {
				found[a.seed] = id
			}
		}
		if len(found) == len(agents) {
			return found, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%d of %d held calls are pending requests after %s", len(found), len(agents), limit)
		}
	}
}

// callID is the id of the tool call in the answer with that seed.
func callID(seed int64) string { return fmt.Sprintf("call_%dabcdefghijkl", seed) }

// pending lists the pending requests: id by tool call id.
func (h *hop) pending() (map[string]string, error) {
	ids := map[string]string{}
	filter := approvals.Filter{Status: approvals.StatusPending, Limit: 500}
	for {
		page, err := h.console.Requests(context.Background(), filter)
		if err != nil {
			return nil, fmt.Errorf("list pending requests: %w", err)
		}
		for _, r := range page.Items {
			ids[r.ToolCallID] = r.ID
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return ids, nil
		}
	}
}

// errNotInTime is a status that did not come within the limit.
var errNotInTime = errors.New("not in time")

// awaitDetached polls one request every 5 ms until its agent counts as disconnected.
func (h *hop) awaitDetached(id string, limit time.Duration) error {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		r, err := h.console.Request(context.Background(), id)
		if err != nil {
			return fmt.Errorf("poll request %s: %w", id, err)
		}
		if r.Agent != nil && r.Agent.State == approvals.AgentDetached {
			return nil
		}
	}
	return errNotInTime
}

// decide approves one held call over REST and gives the time until the call's first bytes were at the agent. The rest of the stream
// must be what upstream sent.
func (h *hop) decide(d *dialect, a *agent, id string) (time.Duration, error) {
	arrived := make(chan time.Time, 1)
	failed := make(chan error, 1)
	go func() {
		err := a.await(func(body []byte) bool { return bytes.Contains(body, []byte(d.callMark)) })
		arrived <- time.Now()
		if err == nil {
			err = a.finish()
		}
		failed <- err
	}()
	start := time.Now()
	_, err := h.console.Decide(context.Background(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove})
	if err != nil {
		return 0, fmt.Errorf("approve request %s: %w", id, err)
	}
	delay := (<-arrived).Sub(start)
	if err := <-failed; err != nil {
		end := a.body[max(0, len(a.body)-500):]
		return 0, fmt.Errorf("approved stream: %w; it ends with %q; the log: %s", err, end, tail(h.logFile))
	}
	sc := newScript(d, shapeHeld, d.held)
	for _, form := range sc.forms {
		stamp(form.body, form.seeds, a.seed)
		if bytes.HasSuffix(a.body, form.body[sc.callAt:]) {
			return delay, nil
		}
	}
	return 0, fmt.Errorf("approved stream: %w", diagnose(a.body, sc.forms[len(sc.forms)-1].body))
}

// decideAll approves n of the held calls one after the other.
func (h *hop) decideAll(d *dialect, held *heldCalls, n int) ([]int64, error) {
	delays := make([]int64, 0, n)
	for _, a := range held.agents[:n] {
		took, err := h.decide(d, a, held.ids[a.seed])
		if err != nil {
			return delays, err
		}
		delays = append(delays, int64(took))
	}
	return delays, nil
}
