package proxy

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// defaultAbortRest is longer than clients wait before they send a request again
// that failed: at most 8 s those of OpenAI and Anthropic, half a minute the last
// time of six LangChain's.
const defaultAbortRest = time.Minute

// retryHeader counts how often the SDKs of OpenAI and Anthropic have sent a
// request before.
const retryHeader = "X-Stainless-Retry-Count"

// admit refuses a request of a run that a reviewer has stopped, unless it begins
// another one.
func (x *exchange) admit() *intercept.Error {
	if x.deletes() || !x.aborted() {
		return nil
	}
	again, refusal := x.beginAgain()
	if refusal == nil && !again {
		refusal = x.runAborted()
	}
	return refusal
}

// deletes reports a request that is about an answer that was, whatever its run has
// come to.
func (x *exchange) deletes() bool { return x.req.Envelope().Method == http.MethodDelete }

// aborted reports whether a reviewer has stopped the request's run. Where the
// agent names no run, each message of the user begins one.
func (x *exchange) aborted() bool {
	gate := x.p.options.Gate
	return gate.Steered() && gate.RunState(x.identity().run) == approvals.RunAborted
}

// beginAgain gives the request the run that follows the stopped one, if a person
// has begun the same conversation anew. All that is known of a run without a name
// is what the user said, so the first request of that conversation is the one that
// was stopped: it begins a run if it comes when nobody sends that one any more.
// What then follows belongs to the new run.
func (x *exchange) beginAgain() (again bool, refusal *intercept.Error) {
	who := x.identity()
	if !who.derived {
		return false, nil
	}
	first := who.run
	key := who.key("runs", first)
	begun, refusal := x.turnsOf(key)
	if refusal != nil {
		return false, refusal
	}
	last := x.stopped(first)
	for _, run := range begun {
		if x.p.options.Gate.RunState(string(run)) != approvals.RunAborted {
			who.run = string(run)
			return true, nil
		}
		if stopped := x.stopped(string(run)); stopped.After(last) {
			last = stopped
		}
	}
	retries := header(&x.fasthttp.Request.Header, retryHeader)
	if !x.req.Begins() || x.began.Sub(last) < x.p.options.AbortRest || len(retries) > 0 && string(retries) != "0" {
		return false, nil
	}
	run := first + "-" + strconv.Itoa(len(begun)+2)
	if err := x.p.options.Turns.PutTurn(x.ctx, key, run, []byte(run)); err != nil {
		x.p.metrics.storeErrors.WithLabelValues("turns").Inc()
		return false, x.storeError(err)
	}
	who.run = run
	return true, nil
}

// stopped is when people steered the run last.
func (x *exchange) stopped(run string) time.Time {
	steered, _ := x.p.options.Gate.LookUp(run)
	return steered.UpdatedAt
}

// runAborted is the error for a request of a run that a reviewer has stopped. It
// says how to begin another one.
func (x *exchange) runAborted() *intercept.Error {
	who := x.identity()
	begin := "to begin another one, name it in " + headerRun
	if who.derived {
		begin = fmt.Sprintf("a new message of the user begins another one, so does the same conversation begun anew %s after the stop, and so does naming one in %s", x.p.options.AbortRest, headerRun)
	}
	return &intercept.Error{Code: intercept.CodeRunAborted, Reason: "the run " + who.run + " was stopped by a reviewer; " + begin}
}
