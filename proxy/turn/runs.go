package turn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// HeaderRun is the header in which an agent names its run.
const HeaderRun = "X-Heldcall-Run"

// admit refuses a request of a run that a reviewer has stopped, unless it begins another
// one.
func (c *conversation) admit(ctx context.Context) *intercept.Error {
	if c.deletes() || !c.aborted() {
		return nil
	}
	again, refusal := c.beginAgain(ctx)
	if refusal == nil && !again {
		refusal = c.runAborted()
	}
	return refusal
}

// deletes reports a request about an earlier answer, whose run does not matter.
func (c *conversation) deletes() bool { return c.parsed.Envelope().Method == http.MethodDelete }

// aborted reports whether a reviewer has stopped the request's run. If the agent names no
// run, each message of the user begins one.
func (c *conversation) aborted() bool {
	gate := c.engine.Gate
	return gate.Steered() && gate.RunState(c.identity().Run) == approvals.RunAborted
}

// beginAgain gives the request the run that follows the stopped one, if a person has
// begun the same conversation again. A run without a name is known only by what the user
// wrote, so the first request of that conversation is equal to the stopped one: it begins
// a run if it arrives when no client repeats the stopped one any more. Later requests of
// the conversation belong to the new run.
func (c *conversation) beginAgain(ctx context.Context) (again bool, refusal *intercept.Error) {
	who := c.identity()
	if !who.Derived {
		return false, nil
	}
	first := who.Run
	key := who.key("runs", first)
	begun, refusal := c.recordsOf(ctx, key)
	if refusal != nil {
		return false, refusal
	}
	last := c.stopped(first)
	for _, run := range begun {
		if c.engine.Gate.RunState(string(run)) != approvals.RunAborted {
			who.Run = string(run)
			return true, nil
		}
		if stopped := c.stopped(string(run)); stopped.After(last) {
			last = stopped
		}
	}
	if !c.parsed.Begins() || c.request.Began.Sub(last) < c.engine.Limits.AbortRest || c.request.Retried {
		return false, nil
	}
	run := first + "-" + strconv.Itoa(len(begun)+2)
	if err := c.engine.Store.PutTurn(ctx, key, run, []byte(run)); err != nil {
		c.engine.metrics.storeError("turns")
		return false, c.storeError(err)
	}
	who.Run = run
	return true, nil
}

// stopped is when people steered the run last.
func (c *conversation) stopped(run string) time.Time {
	steered, _ := c.engine.Gate.LookUp(run)
	return steered.UpdatedAt
}

// runAborted is the error for a request of a run that a reviewer has stopped. It explains
// how to begin another one.
func (c *conversation) runAborted() *intercept.Error {
	who := c.identity()
	begin := "to start a new run, name it in " + HeaderRun
	if who.Derived {
		begin = fmt.Sprintf("to start a new run, send a new message of the user, restart the conversation %s after the stop, or set %s", c.engine.Limits.AbortRest, HeaderRun)
	}
	return &intercept.Error{Code: intercept.CodeRunAborted, Reason: "the run " + who.Run + " was stopped by a reviewer; " + begin}
}

// storeError is the error for an operation on durable state that failed.
func (c *conversation) storeError(err error) *intercept.Error {
	switch {
	case errors.Is(err, approvals.ErrRunAborted):
		return c.runAborted()
	case errors.Is(err, approvals.ErrTooLarge):
		return intercept.NotUnderstood("a call is too large to be recorded")
	}
	return &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: "can't record the request (storage unavailable); retry", Err: err}
}
