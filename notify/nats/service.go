// Package nats is the channel over which any NATS client answers requests and steers runs, under
// the subjects of DESIGN section 7:
//
//	heldcall.v1.decide.{reviewer}.{id}    a decision; see [approvals.ParseDecision]
//	heldcall.v1.signal.{reviewer}.{run}   {"action": "pause_run" | "resume_run" | "abort_run"}
//	heldcall.v1.signals.{reviewer}        the same for all runs of a "principal"
//
// A decision is answered with the request after it, a signal with the run, either with
// {"code", "message"} when it was refused. The reviewer is the token in the subject: NATS
// permissions define who may publish on it. Tokens of runs are written by subjects.Token.
//
// The micro service "heldcall" lists and reads records; its endpoints are
// heldcall.v1.svc.{requests,runs,grants}.{list,get}, heldcall.v1.svc.signals.list and
// heldcall.v1.svc.grants.preview.
// Grants are written on heldcall.v1.grants.{reviewer}.{add,revoke}. [Endpoints] are all
// of them; tests compare docs/asyncapi.yaml with them.
package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"golang.org/x/sync/semaphore"

	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/runs"
)

const (
	// maxHandlers bounds the messages handled at the same time, and handledBytes their bytes. The others bound the
	// messages that wait for that: see [endpoint.maxQueued].
	maxHandlers        = 64
	handledBytes       = 16 << 20
	maxQueued          = 1 << 20
	maxQueuedDecisions = 9 << 20
	maxQueuedCount     = 1024
	maxQueuedLists     = 64
	handlerTimeout     = 15 * time.Second
	queryTimeout       = 5 * time.Second
)

// Options are what a [Service] is made of.
type Options struct {
	Conn *natsgo.Conn // stays the caller's
	Gate *gate.Gate
	// Signals are those by principal.
	Signals *runs.Signals
	// Grants are listed, and written for those who may.
	Grants *grants.Grants
	// Reviewers may decide, as their roles allow; nil: only "local" does.
	Reviewers *reviewers.Directory
	Version   string       // of heldcall, as the micro service reports it; "" is 0.0.0
	Log       *slog.Logger // nil: discards
}

// Service takes decisions and signals from NATS.
type Service struct {
	conn    *natsgo.Conn
	answers *handlers
	log     *slog.Logger

	subscriptions []*natsgo.Subscription
	micro         micro.Service
	ctx           context.Context // of the handlers; ends with Stop
	cancel        context.CancelFunc
	slots         *semaphore.Weighted // of handledBytes
	running       sync.WaitGroup
}

// Start begins to serve.
func Start(o Options) (*Service, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Version == "" {
		o.Version = "0.0.0"
	}
	answers := &handlers{gate: o.Gate, signals: o.Signals, grants: o.Grants, reviewers: o.Reviewers, maxReply: o.Conn.MaxPayload}
	s := &Service{conn: o.Conn, answers: answers, log: o.Log, slots: semaphore.NewWeighted(handledBytes)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.subscribe(o.Version); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Service) subscribe(version string) error {
	for _, e := range endpoints() {
		if e.Micro {
			continue
		}
		subscription, err := s.conn.QueueSubscribe(e.wildcard(), QueueGroup, func(msg *natsgo.Msg) {
			s.dispatch(len(msg.Data), func(ctx context.Context) {
				s.answer(ctx, e, msg.Subject, msg.Reply, msg.Data, func(payload []byte, _ *Failure) error { return msg.Respond(payload) })
			})
		})
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", e.wildcard(), err)
		}
		if err := subscription.SetPendingLimits(e.maxQueuedCount(), e.maxQueued()); err != nil {
			return fmt.Errorf("subscribe to %s: %w", e.wildcard(), err)
		}
		s.subscriptions = append(s.subscriptions, subscription)
	}
	if err := s.startMicro(version); err != nil {
		return err
	}
	if err := s.conn.Flush(); err != nil {
		return fmt.Errorf("subscribe to decisions: %w", err)
	}
	return nil
}

// Stop ends the subscriptions and waits for the handlers. It may be called once.
func (s *Service) Stop() error {
	var failed error
	for _, subscription := range s.subscriptions {
		failed = errors.Join(failed, ignoreClosed(subscription.Unsubscribe()))
	}
	if s.micro != nil {
		failed = errors.Join(failed, ignoreClosed(s.micro.Stop()))
	}
	s.cancel()
	s.running.Wait()
	return failed
}

// ignoreClosed drops the error of a connection that was closed before.
func ignoreClosed(err error) error {
	if errors.Is(err, natsgo.ErrConnectionClosed) || errors.Is(err, natsgo.ErrBadSubscription) {
		return nil
	}
	return err
}

// dispatch handles a message of some bytes in its own goroutine: a slow disk must not delay the next.
func (s *Service) dispatch(size int, handle func(context.Context)) {
	weight := min(max(int64(size), handledBytes/maxHandlers), handledBytes)
	if s.slots.Acquire(s.ctx, weight) != nil {
		return
	}
	s.running.Go(func() {
		defer s.slots.Release(weight)
		ctx, cancel := context.WithTimeout(s.ctx, handlerTimeout)
		defer cancel()
		handle(ctx)
	})
}

// answer handles one message. respond sends the payload of the reply, or of a failure.
func (s *Service) answer(ctx context.Context, e endpoint, subject, replyTo string, data []byte, respond func(payload []byte, failure *Failure) error) {
	if !mayReply(replyTo) {
		s.log.Warn("message dropped: its reply subject is not a client's", "subject", subject, "reply", replyTo)
		return
	}
	reply, err := s.guarded(subject, func() (any, error) { return s.answers.handle(ctx, e, subject, data) })
	var payload []byte
	if err == nil {
		payload, err = encode(reply)
	}
	var failure *Failure
	if err != nil {
		s.log.Info("a message from NATS was refused", "subject", subject, "error", err)
		failed := failureOf(err)
		failure = &failed
		payload, err = encode(failed)
	}
	if replyTo == "" {
		return
	}
	if err == nil {
		err = respond(payload, failure)
	}
	if err != nil {
		s.log.Warn("cannot reply to a message from NATS", "subject", subject, "error", err)
	}
}

// guarded handles a message. One that makes a handler panic fails alone.
func (s *Service) guarded(subject string, handle func() (any, error)) (reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while handling a message from NATS", "subject", subject, "panic", p, "stack", string(debug.Stack()))
			reply, err = nil, errInternal
		}
	}()
	return handle()
}
