package conversation

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// Which requests are refused because a reviewer has stopped their run.
func TestAdmit(t *testing.T) {
	const longAgo = -time.Hour
	for name, tt := range map[string]struct {
		run     string // as a header names it
		stopped time.Duration
		body    string
		retried bool
		down    bool
		refused intercept.Code // "" for none
		again   bool           // it begins another run
	}{
		"a named run":                 {run: "r1", stopped: longAgo, refused: intercept.CodeRunAborted},
		"begun again after a while":   {stopped: longAgo, again: true},
		"begun again at once":         {stopped: 0, refused: intercept.CodeRunAborted},
		"sent again by its client":    {stopped: longAgo, retried: true, refused: intercept.CodeRunAborted},
		"continued":                   {stopped: longAgo, body: `{"model":"m","messages":[{"role":"user","content":"do it"},{"role":"assistant","content":"Well."}]}`, refused: intercept.CodeRunAborted},
		"begun again without a store": {stopped: longAgo, down: true, refused: intercept.CodeStoreUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			b, r := newBench(), chatRequest()
			r.Run, r.Retried = tt.run, tt.retried
			if tt.body != "" {
				r.Envelope.Body = []byte(tt.body)
			}
			stopped := b.prepared(t, r).Identity().Run
			b.runs.states = map[string]approvals.RunState{stopped: approvals.RunAborted}
			b.runs.at = r.Began.Add(tt.stopped)
			if tt.down {
				b.store.failed = errors.New("down")
			}
			c := b.prepared(t, r)
			refusal := c.admit(t.Context())
			if (refusal == nil) != (tt.refused == "") || (refusal != nil && refusal.Code != tt.refused) {
				t.Fatalf("refused with %v", refusal)
			}
			if begun := c.Identity().Run == stopped+"-2"; begun != tt.again {
				t.Errorf("the run is %s", c.Identity().Run)
			}
			if !tt.again {
				return
			}
			// The next request of the conversation belongs to the new run, until that is stopped too.
			next := b.prepared(t, r)
			if refusal := next.admit(t.Context()); refusal != nil || next.Identity().Run != stopped+"-2" {
				t.Errorf("the next request: %v, run %s", refusal, next.Identity().Run)
			}
			b.runs.states[stopped+"-2"] = approvals.RunAborted
			third := b.prepared(t, r)
			if refusal := third.admit(t.Context()); refusal != nil || third.Identity().Run != stopped+"-3" {
				t.Errorf("after the second stop: %v, run %s", refusal, third.Identity().Run)
			}
		})
	}
}

func TestRunAbortedExplainsHowToContinue(t *testing.T) {
	b, named := newBench(), chatRequest()
	named.Run = "r1"
	if e := b.prepared(t, named).runAborted(); !strings.Contains(e.Reason, "r1") || !strings.Contains(e.Reason, HeaderRun) || strings.Contains(e.Reason, "1m0s") {
		t.Error(e)
	}
	if e := b.prepared(t, chatRequest()).runAborted(); !strings.Contains(e.Reason, "1m0s") {
		t.Error(e)
	}
}

func TestStoreErrors(t *testing.T) {
	c := newBench().prepared(t, chatRequest())
	for _, tt := range []struct {
		err  error
		want intercept.Code
	}{
		{approvals.ErrRunAborted, intercept.CodeRunAborted},
		{approvals.ErrTooLarge, intercept.CodeAnswerNotUnderstood},
		{approvals.ErrStoreUnavailable, intercept.CodeStoreUnavailable},
	} {
		if got := c.StoreError(tt.err); got.Code != tt.want {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}
