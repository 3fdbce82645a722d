package conversation

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/prometheus/client_golang/prometheus"
)

// bench has what the conversations of a test share.
type bench struct {
	Shared
	runs  *steered
	store *records
}

func newBench() *bench {
	b := &bench{runs: &steered{}, store: &records{kept: map[string][][]byte{}}}
	counter := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "test"}) }
	b.Shared = Shared{
		Store: b.store, Runs: b.runs, AbortRest: time.Minute, Digests: NewDigests(), Log: slog.New(slog.DiscardHandler),
		Metrics: Metrics{Spliced: counter(), Unplaced: counter(), Unseen: counter(), StoreErrors: counter()},
	}
	return b
}

// prepared is the conversation of a request that was read.
func (b *bench) prepared(t *testing.T, r *Request) *Conversation {
	t.Helper()
	c := b.unread(r)
	if refusal := c.read(); refusal != nil {
		t.Fatal(refusal)
	}
	return c
}

// unread is the conversation of a request that was not read.
func (b *bench) unread(r *Request) *Conversation {
	var c Conversation
	c.Init(&b.Shared, r)
	return &c
}

// chatRequest is a request of chat.
func chatRequest() *Request {
	return requestTo(chat.Dialect{}, `{"model":"m","messages":[{"role":"user","content":"do it"}]}`)
}

func requestTo(d intercept.Dialect, body string) *Request {
	return &Request{
		Turn: "turn1", Began: time.Now(), Route: d.Name(), Dialect: d, Principal: approvals.Principal{Tenant: DefaultTenant},
		Envelope: intercept.Envelope{Method: http.MethodPost, Path: "/chat/completions", Body: []byte(body)},
	}
}

// steered are runs that reviewers have steered.
type steered struct {
	states map[string]approvals.RunState
	at     time.Time // when
}

func (s *steered) Steered() bool { return len(s.states) > 0 }
func (s *steered) RunState(run string, _ approvals.Principal) (approvals.RunState, time.Time) {
	if state, ok := s.states[run]; ok {
		return state, s.at
	}
	return approvals.RunRunning, time.Time{}
}

// records is a store in memory.
type records struct {
	kept    map[string][][]byte
	unknown bool // another replica has just written them
	failed  error
}

func (s *records) AnyTurns() bool                           { return !s.unknown && len(s.kept) > 0 }
func (s *records) AwaitTurns(context.Context) (bool, error) { return !s.unknown, nil }

func (s *records) HasTurns(session string) bool { return !s.unknown && len(s.kept[session]) > 0 }
func (s *records) Turns(_ context.Context, session string) ([][]byte, error) {
	return s.kept[session], s.failed
}

func (s *records) PutTurn(_ context.Context, session, _ string, value []byte) error {
	if s.failed == nil {
		s.kept[session] = append(s.kept[session], value)
	}
	return s.failed
}

func (s *records) TakeTurn(ctx context.Context, session, id string, value []byte) (bool, error) {
	if s.failed == nil && s.HasTurns(session) {
		return false, nil
	}
	return s.failed == nil, s.PutTurn(ctx, session, id, value)
}

func (s *records) DropTurn(_ context.Context, session, _ string) error {
	delete(s.kept, session)
	return s.failed
}
