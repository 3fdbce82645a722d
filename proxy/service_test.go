package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// How long a request waits for the start, and why it is refused.
func TestWaitForTheStart(t *testing.T) {
	gone := errors.New("the agent has left")
	for name, tt := range map[string]struct {
		then func(*service, context.CancelCauseFunc)
		code intercept.Code // "" if it is served
	}{
		"opened":           {func(s *service, _ context.CancelCauseFunc) { close(s.opened) }, ""},
		"for too long":     {func(*service, context.CancelCauseFunc) {}, intercept.CodeStoreUnavailable},
		"the start failed": {func(_ *service, cancel context.CancelCauseFunc) { cancel(errNotStarted) }, intercept.CodeStoreUnavailable},
		"the agent left":   {func(_ *service, cancel context.CancelCauseFunc) { cancel(gone) }, intercept.CodeUpstreamCut},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{opened: make(chan struct{}), patience: defaultStartPatience}
				ctx, cancel := context.WithCancelCause(t.Context())
				began := time.Now()
				time.AfterFunc(14*time.Second, func() { tt.then(s, cancel) })
				refusal := s.await(ctx)
				if (tt.code == "") != (refusal == nil) || (refusal != nil && refusal.Code != tt.code) {
					t.Errorf("refused with %v", refusal)
				}
				if waited := time.Since(began); name == "for too long" && waited != 15*time.Second {
					t.Errorf("waited for %v", waited)
				}
			})
		})
	}
}

// While answers end at the stop, the port stays open and refuses: a refused connection would be one more
// lost try of a client.
func TestPortStaysOpenWhileAnswersEnd(t *testing.T) {
	goOn := make(chan struct{})
	b := newBed(t, chat.Dialect{}, "default: allow\n", func(r *fakemodel.Request) fakemodel.Reply {
		<-goOn
		return fakemodel.Answer{Text: "Hello."}.Reply(r)
	})
	b.options.ShutdownGrace = soon
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	post := func() (int, http.Header, string) {
		resp, err := http.Post("http://"+b.Addr()+"/v1/chat/completions", "application/json", strings.NewReader(chatRequest("true")))
		if err != nil {
			return 0, nil, err.Error()
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Header, string(body)
	}
	first := make(chan string, 1)
	go func() {
		_, _, body := post()
		first <- body
	}()
	if _, err := b.upstream.Await(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	drained := make(chan error, 1)
	go func() { drained <- b.Drain(context.WithoutCancel(t.Context())) }()
	b.until("the stop has begun", func() bool { b.service.mu.Lock(); defer b.service.mu.Unlock(); return b.service.ended != nil })
	if status, header, body := post(); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(body, "shutting_down") {
		t.Errorf("while an answer ends: %d %v %s", status, header, body)
	}
	close(goOn)
	if body := <-first; !strings.Contains(body, "[DONE]") {
		t.Errorf("the answer ended with %q", body)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if status, _, body := post(); status != http.StatusServiceUnavailable {
		t.Errorf("after the answers, before Close: %d %s", status, body)
	}
	if err := b.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if status, _, _ := post(); status != 0 {
		t.Error("a closed port answers")
	}
	b.ended()
}

// The stop waits until an answer has been sent and its delivery is recorded, which needs the store: a turn whose
// delivery was lost is given, after the restart, to the next request with the same words.
func TestStopWaitsForDeliveries(t *testing.T) {
	for _, streamed := range []string{"true", "false"} {
		t.Run("streamed "+streamed, func(t *testing.T) {
			b := newBed(t, chat.Dialect{}, "default: ask\n", callBash)
			kept := &keptTurn{delivering: make(chan struct{}), goOn: make(chan struct{})}
			b.options.Keeper, b.options.ShutdownGrace = oneTurn{turn: kept}, soon
			b.turns = b.newEngine()
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.decide(b.held(dialogue{path: "/v1/chat/completions"}, chatRequest(streamed)), approvals.ActionApprove)
			<-kept.delivering
			drained := make(chan error, 1)
			go func() { drained <- b.Drain(context.WithoutCancel(t.Context())) }()
			b.until("the stop has begun", func() bool { b.service.mu.Lock(); defer b.service.mu.Unlock(); return b.service.ended != nil })
			select {
			case err := <-drained:
				drained <- err
				t.Error("the stop has not waited for a delivery")
			case <-time.After(20 * time.Millisecond):
			}
			close(kept.goOn)
			if err := <-drained; err != nil {
				t.Error(err)
			}
			if err := b.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
			b.ended()
		})
	}
}

// oneTurn keeps one turn.
type oneTurn struct {
	Keeper
	turn *keptTurn
}

func (oneTurn) Await(context.Context) {}
func (oneTurn) Any() bool             { return false }
func (oneTurn) AnyTask() bool         { return false }
func (oneTurn) Seen([]string)         {}
func (k oneTurn) Keep(context.Context, approvals.HeldTurn, []byte) (Attachment, error) {
	return k.turn, nil
}

// keptTurn is a turn whose delivery waits until the test closes goOn.
type keptTurn struct {
	Attachment
	delivering, goOn chan struct{}
}

func (*keptTurn) Lost() <-chan struct{}                { return nil }
func (*keptTurn) WatchAgent(<-chan struct{})           {}
func (*keptTurn) Opened([]approvals.Request)           {}
func (*keptTurn) Confirm(context.Context) error        { return nil }
func (*keptTurn) Update(context.Context, []byte) error { return nil }
func (k *keptTurn) Deliver(context.Context, heldturns.Delivery) error {
	close(k.delivering)
	<-k.goOn
	return nil
}
