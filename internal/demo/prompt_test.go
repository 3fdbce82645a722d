package demo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// stopping is an output that stops the demo, and waits until all parts of it have noticed.
type stopping func()

func (stop stopping) Write(p []byte) (int, error) {
	stop()
	time.Sleep(time.Second)
	return len(p), nil
}

// A demo that is stopped ends without an error, also while it prints.
func TestReviewThatIsStopped(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			ledger := newLedger()
			ledger.events = []approvals.Event{{Type: approvals.EventApprovalExpired}}
			p := &prompt{stage: &Stage{Ledger: ledger}, t: NewPrinter(stopping(stop)), done: make(chan struct{})}
			if err := p.review(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}
