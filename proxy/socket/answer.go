package socket

import (
	"context"
	"errors"
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/proxy/packed"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/tidwall/gjson"
)

// Answer is what the agent gets for one request. It implements [turn.Agent]. The turn writes server-sent
// events; the agent gets the data of each as a message.
type Answer struct {
	lane     *Lane
	ctx      context.Context
	head     packed.Head
	started  bool
	writable bool
	pending  []byte // until the answer is writable
	split    sse.Splitter
	reserved int
	sent     []func(error) // called at the end
	broken   error         // the agent is away
	begun    bool          // the agent knows the id of the response
	over     bool          // the agent has the last message: what follows over HTTP would be taken for the next answer
}

// NewAnswer begins the answer to a request of the lane. ctx ends when the agent leaves.
func (l *Lane) NewAnswer(ctx context.Context) *Answer { return &Answer{lane: l, ctx: ctx} }

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
	e := explain(err)
	a.fail(e.Status(), a.lane.session.Error(e))
}

// Head implements [turn.Agent].
func (a *Answer) Head() packed.HeadWriter { return &a.head }

// ResetHead implements [turn.Agent].
func (a *Answer) ResetHead() { a.head = packed.Head{} }

// Started implements [turn.Agent].
func (a *Answer) Started() bool { return a.started }

// Start implements [turn.Agent].
func (a *Answer) Start() { a.started = true }

// Writable implements [turn.Agent].
func (a *Answer) Writable() bool { return a.writable }

// Reserve implements [turn.Agent].
func (a *Answer) Reserve(n int) bool {
	if !a.lane.session.Reserve(n) {
		return false
	}
	a.reserved += n
	return true
}

// Return implements [turn.Agent].
func (a *Answer) Return(n int) {
	n = min(n, a.reserved)
	a.reserved -= n
	a.lane.session.Return(n)
}

// Discard implements [turn.Agent].
func (a *Answer) Discard() {
	a.ResetHead()
	a.started, a.pending = false, nil
}

// Write implements [turn.Agent].
func (a *Answer) Write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	a.started = true
	if !a.writable {
		a.pending = slices.Concat(a.pending, p)
		return nil
	}
	a.split.Write(p)
	for {
		part, whole, err := a.split.Next()
		if err != nil || !whole {
			return err
		}
		if err := a.event(part); err != nil {
			a.broken = err
			return err
		}
	}
}

// event sends an event. A comment has no data: the connection needs none.
func (a *Answer) event(part []byte) error {
	e := sse.Parse(part)
	data := e.Joined()
	if len(data) == 0 {
		return nil
	}
	if gjson.GetBytes(data, "type").Str == typeError {
		data = errorMessage(statusOf(data), data)
	}
	if a.over {
		return nil
	}
	a.over = ends(gjson.GetBytes(data, "type").Str)
	if !a.begun {
		if response := gjson.GetBytes(data, "response.id").Str; response != "" {
			a.begun = true
			a.lane.begun(response)
		}
	}
	return a.send(data)
}

// Finish implements [turn.Agent]. Only an error of the model API is no stream.
func (a *Answer) Finish(body []byte) {
	a.fail(a.head.Status, body)
}

// Refuse implements [turn.Agent].
func (a *Answer) Refuse(status int, body []byte) { a.fail(status, body) }

// OnSent implements [turn.Agent].
func (a *Answer) OnSent(done func(error)) { a.sent = append(a.sent, done) }

// open makes the answer writable. What was written is sent.
func (a *Answer) open() {
	a.writable = true
	pending := a.pending
	a.pending = nil
	_ = a.Write(pending) // a turn finds out by its next write
}

// fail sends an error.
func (a *Answer) fail(status int, body []byte) { a.end(errorMessage(status, body)) }

// end sends a last message, unless the agent has one.
func (a *Answer) end(message []byte) {
	if !a.over {
		a.over = true
		_ = a.send(message)
	}
}

// send sends a message, also after the context has ended because heldcall stops.
func (a *Answer) send(message []byte) error {
	err := a.lane.session.send(context.WithoutCancel(a.ctx), a.lane.id, message)
	if err != nil {
		a.broken = errors.Join(a.broken, err)
	}
	return err
}

// finish ends the answer.
func (a *Answer) finish() {
	for _, done := range a.sent {
		done(a.broken)
	}
	a.Return(a.reserved)
}
