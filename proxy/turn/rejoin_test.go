package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/runs"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// orphan is a turn that lost its agent while its call was held, with the keeper that has
// it.
func orphan(t *testing.T) (*Engine, *keeper, *keptTurn) {
	t.Helper()
	g, s := newGate(t)
	e := NewEngine(options(t, "default: ask\n", g, s), nil)
	k := e.Keeper.(*keeper)
	r := chatRequest(true)
	turn := heldTurn(t, e, r, newRecorder(), &model{answers: []canned{answerTo(r.Envelope, callBash(`{"command":"ls"}`))}})
	turn.Disconnected()
	kept := k.turns[r.Turn]
	if kept == nil || kept.state != approvals.AgentDetached {
		t.Fatal("the turn is not stored without an agent")
	}
	return e, k, kept
}

// repeated is a repetition of the request of an orphan.
func repeated() *Request {
	r := chatRequest(true)
	r.Turn, r.Retried = "turn2", true
	return r
}

// A repetition that cannot be served continues nothing, and the turn stays for the next
// one.
func TestRejoinRefused(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		e, _, kept := orphan(t)
		a := newRecorder()
		a.memory = 10
		if _, refusal := e.Begin(t.Context(), repeated(), a, &model{}, nil); refusal == nil || refusal.Code != intercept.CodeOverloaded {
			t.Errorf("refused with %v", refusal)
		}
		if kept.ended || kept.state != approvals.AgentDetached {
			t.Errorf("the turn has ended: %t, %s", kept.ended, kept.state)
		}
	})
	t.Run("store", func(t *testing.T) {
		e, k, kept := orphan(t)
		k.failed = errors.Join(approvals.ErrStoreUnavailable)
		m := &model{}
		if _, refusal := e.Begin(t.Context(), repeated(), newRecorder(), m, nil); refusal == nil || refusal.Code != intercept.CodeStoreUnavailable {
			t.Errorf("refused with %v", refusal)
		}
		if kept.ended || m.requests() > 0 {
			t.Errorf("the turn has ended: %t; upstream got %d requests", kept.ended, m.requests())
		}
	})
	t.Run("another request was faster", func(t *testing.T) {
		e, k, kept := orphan(t)
		k.failed = nil
		e.Keeper = taken{k}
		turn, refusal := e.Begin(t.Context(), repeated(), newRecorder(), &model{}, nil)
		if refusal != nil || turn.request.Turn != "turn2" || kept.ended {
			t.Errorf("turn %s, %v", turn.request.Turn, refusal)
		}
	})
}

// taken is a keeper whose turns are claimed by others.
type taken struct{ *keeper }

func (taken) Claim(context.Context, Candidate) (Attachment, []byte, error) {
	return nil, nil, approvals.ErrTaken
}

// activity is a gate that counts the turns in their runs.
type activity struct {
	Gate
	turns int
}

func (a *activity) EnterRun(calls bool, entry func() runs.Entry) func(approvals.Outcome) {
	leave := a.Gate.EnterRun(calls, entry)
	if leave == nil {
		return nil
	}
	a.turns++
	return func(last approvals.Outcome) { a.turns--; leave(last) }
}

// A continued turn is active in its run until it ends, as others are. The gate of the process
// may not know the run.
func TestRejoinedTurnIsActive(t *testing.T) {
	e, _, _ := orphan(t)
	other, _ := newGate(t)
	gates := map[string]Gate{"the same process": e.Gate, "another process": other}
	for name, g := range gates {
		t.Run(name, func(t *testing.T) {
			active := &activity{Gate: g}
			e.Gate = active
			r := repeated()
			turn, refusal := e.Begin(t.Context(), r, newRecorder(), &model{}, nil)
			if refusal != nil || r.Turn != "turn1" {
				t.Fatal(r.Turn, refusal)
			}
			if active.turns != 1 {
				t.Errorf("%d turns are active while the turn is held", active.turns)
			}
			turn.Disconnected()
			if active.turns != 0 {
				t.Errorf("%d turns are active after the end", active.turns)
			}
		})
	}
}

// A turn that another connection has taken over writes and releases nothing more, wherever
// it is.
func TestTakenOver(t *testing.T) {
	e, k, kept := orphan(t)
	first := newRecorder()
	r := repeated()
	turn, refusal := e.Begin(t.Context(), r, first, &model{}, nil)
	if refusal != nil || r.Turn != "turn1" {
		t.Fatal(r.Turn, refusal)
	}
	turn.stepTo(t, Waiting)
	decide(t, e.Gate.(*gate.Gate), approvals.Decision{Action: approvals.ActionApprove})
	for turn.state == Waiting {
		turn.state = states[Waiting].step(turn)
	}
	written := len(first.body)
	k.attach(kept)
	if _, err := turn.Run(); !errors.Is(err, errTakenOver) || len(first.body) != written || bytes.Contains(first.body, []byte("bash")) {
		t.Errorf("%v, it wrote %s", err, first.body[written:])
	}
	if kept.ended || kept.state != approvals.AgentAttached {
		t.Errorf("the turn of the other connection has ended: %t, %s", kept.ended, kept.state)
	}
}

// Snapshots that contradict themselves or are of another turn are never continued: their
// requests are cancelled, and the agent gets a turn of its own.
func TestRejoinRefusesAlteredSnapshots(t *testing.T) {
	for name, alter := range map[string]func(*Snapshot){
		"another turn":                 func(s *Snapshot) { s.Request.Turn = "turn9" },
		"another dialect":              func(s *Snapshot) { s.Dialect = "messages" },
		"another principal":            func(s *Snapshot) { s.Conversation.Identity.Principal.User = "bob" },
		"another session":              func(s *Snapshot) { s.Conversation.Identity.Session = "s-1" },
		"another key":                  func(s *Snapshot) { s.Request.KeyDigest = "00" },
		"a running state":              func(s *Snapshot) { s.State = Reading },
		"no answer":                    func(s *Snapshot) { s.Exchanges = nil },
		"a damaged answer":             func(s *Snapshot) { s.Exchanges[0].Body.Blocks[0] = []byte("x") },
		"no calls":                     func(s *Snapshot) { s.Calls = nil },
		"another call":                 func(s *Snapshot) { s.Calls[0].Call.Arguments = `{"command":"rm"}` },
		"a call that nobody asked for": func(s *Snapshot) { s.Calls[0].Asked = false },
		"no request":                   func(s *Snapshot) { s.Requests = nil },
		"the request of another turn":  func(s *Snapshot) { s.Requests[0].TurnID = "turn9" },
		"a request for other text":     func(s *Snapshot) { s.Requests[0].Arguments = json.RawMessage(`{"command":"pwd"}`) },
		"a request for another tool":   func(s *Snapshot) { s.Requests[0].ToolName = "read" },
		"rulings on no call":           func(s *Snapshot) { s.Exchanges[0].Rulings = []intercept.Ruling{} },
	} {
		t.Run(name, func(t *testing.T) {
			e, _, kept := orphan(t)
			var s Snapshot
			if err := json.Unmarshal(kept.snapshot, &s); err != nil {
				t.Fatal(err)
			}
			alter(&s)
			kept.snapshot, _ = json.Marshal(&s)
			r, a := repeated(), newRecorder()
			turn, refusal := e.Begin(t.Context(), r, a, &model{answers: []canned{answerTo(r.Envelope, fakemodel.Answer{Text: "Hello."})}}, nil)
			if refusal != nil || turn.request.Turn != "turn2" {
				t.Fatalf("it continues turn %s, %v", turn.request.Turn, refusal)
			}
			if !kept.ended || kept.reason != approvals.CancelFault {
				t.Errorf("the altered turn has ended: %t, %s", kept.ended, kept.reason)
			}
			if _, err := turn.Run(); err != nil || strings.Contains(string(a.body), "bash") || strings.Count(string(a.body), `"role":"assistant"`) != 1 || len(a.header["Content-Type"]) != 1 {
				t.Errorf("%v: %v, %s", err, a.header, a.body)
			}
		})
	}
}

// What is stored may be anything: it never panics, and a turn that is made of it never has
// a call released that is not in its answer, or by a request about another call.
func FuzzRestore(f *testing.F) {
	r := chatRequest(true)
	e := NewEngine(options(f, allowAll, &stubGate{}, &records{kept: map[string][][]byte{}}), nil)
	turn := e.New(f.Context(), r, newRecorder(), &model{answers: []canned{answerTo(r.Envelope, callBash(`{"command":"ls"}`))}}, nil)
	if refusal := turn.Prepare(); refusal != nil {
		f.Fatal(refusal)
	}
	for turn.state != Ended {
		if s, err := turn.Snapshot(); err == nil {
			text, _ := json.Marshal(s)
			f.Add(text)
		}
		turn.state = states[turn.state].step(turn)
	}
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"State":"waiting","Exchanges":[{"Rulings":[{}]}],"Calls":[{}],"Requests":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Snapshot
		if json.Unmarshal(text, &s) != nil {
			return
		}
		a := newRecorder()
		turn, err := e.Restore(t.Context(), &s, Restored{Agent: a, Upstream: &model{}, Dialect: chat.Dialect{}})
		if err != nil {
			return
		}
		if turn.state != Judging && len(turn.review.calls) != len(turn.output.answer.Calls()) {
			t.Errorf("%d calls are restored of an answer with %d", len(turn.review.calls), len(turn.output.answer.Calls()))
		}
		if len(turn.review.requests) > 0 {
			return // the gate is not asked here
		}
		_, _ = turn.Run()
	})
}
