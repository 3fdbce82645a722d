package socket

import (
	"context"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/turn"
)

// Lane answers requests one after another.
type Lane struct {
	session *Session
	id      string

	// Guarded by the session's mutex.
	waiting     [][]byte                // requests
	response    string                  // the id of the answer, as the agent knows it; "" before it does
	cancel      context.CancelCauseFunc // ends the answer
	interrupted bool                    // by the agent
}

// serve answers the requests of the lane until none waits.
func (l *Lane) serve(ctx context.Context) {
	for {
		s := l.session
		s.mu.Lock()
		if len(l.waiting) == 0 {
			delete(s.lanes, l.id)
			s.mu.Unlock()
			return
		}
		body := l.waiting[0]
		l.waiting = l.waiting[1:]
		answering, cancel := context.WithCancelCause(ctx)
		l.response, l.cancel, l.interrupted = "", cancel, false
		s.mu.Unlock()
		s.Answer(answering, Request{Body: body, Lane: l})
		cancel(nil)
		s.Return(len(body))
	}
}

// begun notes the id of the answer that the agent gets.
func (l *Lane) begun(response string) {
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	l.response = response
}

// wasInterrupted returns the id of the answer, if the agent has interrupted it while nothing came from the model API.
func (l *Lane) wasInterrupted() (response string, interrupted bool) {
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	return l.response, l.interrupted
}

// Run runs a turn whose agent is the answer, to its end. The error is that of a turn that has ended before
// its answer had: explain makes the answer's end of it.
func (a *Answer) Run(t *turn.Turn, explain func(error) *intercept.Error) {
	defer a.finish()
	ended, err := t.Run()
	if !ended {
		a.open()
		_, err = t.Run()
	}
	if err == nil {
		return
	}
	if response, left := a.lane.wasInterrupted(); left {
		a.end(interrupted(response))
		return
	}
	a.lane.Refuse(a.ctx, explain(err))
}

// Refuse sends an error in place of an answer, or of its end.
func (l *Lane) Refuse(ctx context.Context, e *intercept.Error) {
	l.session.refuse(context.WithoutCancel(ctx), l.id, e)
}
