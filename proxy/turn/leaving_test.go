package turn

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/intercept"
)

// unsure is a keeper whose turns are attached until the third look; then it is known that
// their agents have left.
type unsure struct {
	*keeper
	looks int
}

func (u *unsure) Candidates(f string) []Candidate {
	all := u.keeper.Candidates(f)
	if u.looks++; u.looks < 3 {
		for i := range all {
			all[i].State, all[i].Unsure = approvals.AgentAttached, true
		}
	}
	return all
}

// A request without evidence of a retry waits until it is known whether the agent of an
// equal turn has left, and continues that turn.
func TestPromise12_AskedOnce_AgentMayHaveLeft(t *testing.T) {
	e, k, _ := orphan(t)
	e.Keeper = &unsure{keeper: k}
	m, r := &model{}, chatRequest(true)
	r.Turn = "turn2"
	if _, refusal := e.Begin(t.Context(), r, newRecorder(), m, nil); refusal != nil || r.Turn != "turn1" || m.requests() > 0 {
		t.Errorf("turn %s, %v; upstream got %d requests", r.Turn, refusal, m.requests())
	}
}

// silentOwner is a keeper whose turns are attached to a process that may have died, until a
// time after the first look.
type silentOwner struct {
	*keeper
	known time.Duration
	state approvals.AttachState // from then on
	first time.Time
}

func (s *silentOwner) Candidates(f string) []Candidate {
	if s.first.IsZero() {
		s.first = time.Now()
	}
	all, silent := s.keeper.Candidates(f), time.Since(s.first) < s.known
	for i := range all {
		all[i].State, all[i].Unsure, all[i].Unrecorded = approvals.AgentAttached, true, silent
		if !silent {
			all[i].State = s.state
		}
	}
	return all
}

// While the store does not tell which processes live, a request waits: neither is the
// upstream asked again, nor are people.
func TestPromise12_AskedOnce_OwnerMayHaveDied(t *testing.T) {
	for _, c := range []struct {
		name  string
		known time.Duration
		state approvals.AttachState
		turn  string         // of the request
		code  intercept.Code // of the refusal
	}{
		{"it has died", 20 * time.Second, approvals.AgentDetached, "turn1", ""},
		{"it lives", 20 * time.Second, approvals.AgentAttached, "turn2", ""},
		{"the store does not recover", time.Hour, approvals.AgentAttached, "turn2", intercept.CodeStoreUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, k, _ := orphan(t)
			m, r := &model{}, chatRequest(true)
			r.Turn = "turn2"
			e.Keeper = &silentOwner{keeper: k, known: c.known, state: c.state}
			synctest.Test(t, func(t *testing.T) {
				_, refusal := e.Begin(t.Context(), r, newRecorder(), m, nil)
				if code := codeOf(refusal); code != c.code || r.Turn != c.turn || m.requests() > 0 {
					t.Errorf("turn %s, %q; upstream got %d requests", r.Turn, code, m.requests())
				}
			})
		})
	}
}

func codeOf(refusal *intercept.Error) intercept.Code {
	if refusal == nil {
		return ""
	}
	return refusal.Code
}

// leftWhileStored is a keeper during whose writes the agent leaves.
type leftWhileStored struct {
	*keeper
	leave context.CancelFunc
}

func (l leftWhileStored) Keep(ctx context.Context, held approvals.HeldTurn, snapshot []byte) (Attachment, error) {
	l.leave()
	return l.keeper.Keep(ctx, held, snapshot)
}

// People are not asked for an agent that has left while its turn was stored. Its next
// request continues the turn, and asks.
func TestPromise12_AskedOnce_AgentLeavesWhileItsTurnIsStored(t *testing.T) {
	g, s := newGate(t)
	e := NewEngine(options(t, "default: ask\n", g, s), nil)
	k := e.Keeper.(*keeper)
	ctx, leave := context.WithCancel(t.Context())
	e.Keeper = leftWhileStored{k, leave}
	r := chatRequest(true)
	m := &model{answers: []canned{answerTo(r.Envelope, callBash(`{"command":"ls"}`))}}
	turn, refusal := e.Begin(ctx, r, newRecorder(), m, nil)
	if refusal != nil {
		t.Fatal(refusal)
	}
	for turn.state != Ended {
		turn.state = states[turn.state].step(turn)
	}
	turn.Close()
	if n := pendingRequests(t, g); n != 0 || k.turns["turn1"].state != approvals.AgentDetached {
		t.Fatalf("%d requests are pending, the turn is %s", n, k.turns["turn1"].state)
	}
	e.Keeper = k
	again := repeated()
	turn, refusal = e.Begin(t.Context(), again, newRecorder(), m, nil)
	if refusal != nil || again.Turn != "turn1" {
		t.Fatal(again.Turn, refusal)
	}
	turn.stepTo(t, Waiting)
	if n := pendingRequests(t, g); n != 1 || m.requests() != 1 {
		t.Errorf("%d requests are pending; upstream got %d requests", n, m.requests())
	}
	turn.Disconnected()
}

// The keeper learns at once that the agent of a turn has left, also while the turn waits for the
// store: a repetition waits then, and does not become another turn.
func TestPromise12_AskedOnce_AgentLeavesWhileItsTurnIsBusy(t *testing.T) {
	e, k, kept := orphan(t)
	ctx, leave := context.WithCancel(t.Context())
	turn, refusal := e.Begin(ctx, repeated(), newRecorder(), &model{}, nil)
	if refusal != nil {
		t.Fatal(refusal)
	}
	k.mu.Lock()
	agent := kept.holder.agent
	k.mu.Unlock()
	select {
	case <-agent:
		t.Fatal("the agent has left")
	default:
	}
	leave()
	<-agent
	turn.Disconnected()
}

func pendingRequests(t *testing.T, g *gate.Gate) int {
	t.Helper()
	page, err := g.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Items)
}
