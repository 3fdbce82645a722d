package notify_test

import (
	"context"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/notify"
)

func TestEscalationIsToldWhereItLeads(t *testing.T) {
	s := newStage(t)
	cards := &follower{}
	s.dispatch(notify.Routes{
		{To: []notify.Destination{{Channel: "cards", Target: "boss"}}, Groups: []string{"managers"}},
		{To: []notify.Destination{{Channel: "cards", Target: "team"}}},
	}, notify.Setup{Name: "cards", Channel: cards})
	s.ask("one", func(r *approvals.Request) {
		r.Reviewers = []string{"devs"}
		r.Details.Escalation = &approvals.Escalation{At: time.Now().Add(time.Minute), To: []string{"managers"}}
	}, "deploy")
	cards.await(t, "team: deploy=pending")
	s.escalate(2 * time.Minute)
	cards.await(t, "team: deploy=pending\nboss: deploy=pending")
}

// escalate runs a replica whose clock is ahead, so that due requests escalate.
func (s *stage) escalate(ahead time.Duration) {
	g := gate.New(gate.Options{Store: s.store.ForGate(), Now: func() time.Time { return time.Now().Add(ahead) }})
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	end := s.close
	s.close = func() {
		cancel()
		if err := <-ran; err != nil {
			s.t.Error(err)
		}
		end()
	}
}

// A demand that escalates to a group that another has changes who may decide what, and
// so the card, though not who may decide at all.
func TestEscalationOfADemandIsShown(t *testing.T) {
	s := newStage(t)
	cards := &follower{}
	s.dispatch(nil, notify.Setup{Name: "cards", Channel: cards})
	at := time.Now().Add(time.Minute)
	s.ask("one", func(r *approvals.Request) {
		r.Demands = []approvals.Demand{
			{Rule: "p:1", Reviewers: []string{"devs"}, Escalation: &approvals.Escalation{At: at, To: []string{"managers"}}},
			{Rule: "p:2", Reviewers: []string{"managers"}},
		}
	}, "deploy")
	cards.await(t, "deploy=pending")
	s.escalate(2 * time.Minute)
	eventually(t, func() (bool, string) {
		cards.mu.Lock()
		defer cards.mu.Unlock()
		d := cards.cards[0].Requests[0].Demands[0]
		return len(d.Reviewers) == 2 && d.Escalation.EscalatedAt != nil, "the card still shows that one rule waits for devs alone"
	})
}
