package notifytest

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/notify"
)

// Swept returns the requests for a dispatcher of n channels, and a function that waits until each has
// looked for pending requests: later ones come as events.
func Swept(r notify.Requests, n int) (with notify.Requests, await func()) {
	s := swept{r, make(chan struct{}, n)}
	return s, func() {
		for range n {
			<-s.listed
		}
	}
}

type swept struct {
	all    notify.Requests
	listed chan struct{}
}

func (s swept) Requests(ctx context.Context, f approvals.Filter) (approvals.Page, error) {
	page, err := s.all.Requests(ctx, f)
	select {
	case s.listed <- struct{}{}:
	default: // it is not the first time
	}
	return page, err
}

func (s swept) Request(ctx context.Context, id string) (approvals.Request, error) {
	return s.all.Request(ctx, id)
}
