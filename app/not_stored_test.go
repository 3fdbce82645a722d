package app_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
)

// A turn that does not fit into hold.max_stored is held, and its request shows that the turn is not
// stored. An approval releases the call; a broken connection cancels the request.
func TestHeldCallThatIsNotStored(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 2<<20)
	for i := range noise {
		noise[i] = "abcdefghijklmnopqrstuvwxyzABCDEF"[rand.IntN(32)] // it compresses to more than 1 MiB
	}
	body := strings.Replace(streamedRequest, "do it", "do it "+string(noise), 1)
	w := build(t, askAll, callThenText, func(c *app.Config) { c.Hold.MaxStored = 1 << 20 })
	for _, approved := range []bool{true, false} {
		got := make(chan string, 1)
		leave := func() {}
		if approved {
			go func() { got <- w.post("/v1/chat/completions", body).rest() }()
		} else {
			leave = w.ask("/v1/chat/completions", body)
		}
		r := w.pending(1)[0]
		const flag = "The turn could not be stored: if its agent disconnects, this request is cancelled."
		if r.Agent != nil || !slices.Contains(r.Details.Flags, flag) {
			t.Errorf("agent %+v, flags %q", r.Agent, r.Details.Flags)
		}
		if !approved {
			leave()
			if r := w.status(r.ID, approvals.StatusCancelled); r.Details.CancelReason != approvals.CancelAgentGone {
				t.Errorf("cancelled because %q", r.Details.CancelReason)
			}
			continue
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
		if answer := <-got; !strings.Contains(answer, lsCall.ID) {
			t.Errorf("the call is not released: %s", answer)
		}
	}
}
