package conversation

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// HeaderRun is the header in which an agent names its run.
const HeaderRun = "X-Heldcall-Run"

// Begin reads the request and finds the answer that it continues. It refuses a request of
// a run that a reviewer has stopped.
func (c *Conversation) Begin(ctx context.Context) *intercept.Error {
	if refusal := c.Read(ctx); refusal != nil {
		return refusal
	}
	return c.admit(ctx)
}

// Read is the part of [Conversation.Begin] that refuses no run. A second call does nothing.
func (c *Conversation) Read(ctx context.Context) *intercept.Error {
	if c.Parsed != nil {
		return nil
	}
	if refusal := c.read(); refusal != nil {
		c.Parsed, c.offer = nil, nil
		return refusal
	}
	if !c.Parsed.Begins() { // another replica may just have answered
		if err := c.recorded.await(ctx); err != nil {
			c.shared.Metrics.StoreErrors.Inc()
			return c.StoreError(err)
		}
	}
	if refusal := c.resume(ctx); refusal != nil {
		return refusal
	}
	return c.resumeName(ctx)
}

// admit refuses a request of a run that a reviewer has stopped, unless it begins another
// one.
func (c *Conversation) admit(ctx context.Context) *intercept.Error {
	if c.Deletes() || !c.Aborted() {
		return nil
	}
	if c.agentAborted() {
		return c.runAborted()
	}
	again, refusal := c.beginAgain(ctx)
	if refusal == nil && !again {
		refusal = c.runAborted()
	}
	return refusal
}

// Deletes reports whether the request deletes an earlier answer: its run does not matter.
func (c *Conversation) Deletes() bool { return c.Parsed.Envelope().Method == http.MethodDelete }

// Aborted reports whether a reviewer has stopped the request's run. If the agent names no
// run, each message of the user begins one.
func (c *Conversation) Aborted() bool { return c.RunState() == approvals.RunAborted }

// RunState returns the state of the request's run.
func (c *Conversation) RunState() approvals.RunState {
	if !c.shared.Runs.Steered() {
		return approvals.RunRunning
	}
	who := c.Identity()
	state, _ := c.shared.Runs.RunState(who.Run, who.Principal)
	return state
}

// beginAgain gives the request the run that follows the stopped one, if a person has
// begun the same conversation again. A run without a name is known only by the user's
// text, so the first request of that conversation is equal to the stopped one. It begins
// a run if it arrives after the time in which clients repeat a failed request. Later
// requests of the conversation belong to the new run.
func (c *Conversation) beginAgain(ctx context.Context) (again bool, refusal *intercept.Error) {
	who := c.Identity()
	if !who.Derived {
		return false, nil
	}
	first := who.Run
	key := who.Key("runs", first)
	begun, refusal := c.records(ctx, key)
	if refusal != nil {
		return false, refusal
	}
	_, last := c.shared.Runs.RunState(first, who.Principal)
	for _, run := range begun {
		state, stopped := c.shared.Runs.RunState(string(run), who.Principal)
		if state != approvals.RunAborted {
			who.Run = string(run)
			return true, nil
		}
		if stopped.After(last) {
			last = stopped
		}
	}
	if !c.Parsed.Begins() || c.Request.Began.Sub(last) < c.shared.AbortRest || c.Request.Retried {
		return false, nil
	}
	run := first + "-" + strconv.Itoa(len(begun)+2)
	if refusal := c.put(ctx, key, run, []byte(run)); refusal != nil {
		return false, refusal
	}
	who.Run = run
	return true, nil
}

// runAborted is the error for a request of a run that a reviewer has stopped. It explains
// how to begin another one.
func (c *Conversation) runAborted() *intercept.Error {
	if c.agentAborted() {
		return &intercept.Error{Code: intercept.CodeRunAborted, Reason: "a reviewer has stopped all runs of this agent; its requests are refused until a reviewer resumes them"}
	}
	who := c.Identity()
	begin := "to start a new run, name it in " + HeaderRun
	if who.Derived {
		begin = fmt.Sprintf("to start a new run, send a new message of the user, restart the conversation %s after the stop, or set %s", c.shared.AbortRest, HeaderRun)
	}
	return &intercept.Error{Code: intercept.CodeRunAborted, Reason: "the run " + who.Run + " was stopped by a reviewer; " + begin}
}

// agentAborted reports whether a reviewer has stopped all runs of the agent: of the agent,
// its user or its tenant.
func (c *Conversation) agentAborted() bool {
	state, _ := c.shared.Runs.RunState("", c.Request.Principal)
	return state == approvals.RunAborted
}
