package proxy

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// watched is a dialect that counts how often a request's history is read.
type watched struct {
	intercept.Dialect
	reads *atomic.Int32
}

func (d watched) Request(e intercept.Envelope) (intercept.Request, error) {
	r, err := d.Dialect.Request(e)
	return watchedRequest{r, d.reads}, err
}

type watchedRequest struct {
	intercept.Request
	reads *atomic.Int32
}

func (r watchedRequest) Info() intercept.Info { r.reads.Add(1); return r.Request.Info() }
func (r watchedRequest) LastUser() string     { r.reads.Add(1); return r.Request.LastUser() }

func (r watchedRequest) Opening() intercept.UserText { r.reads.Add(1); return r.Request.Opening() }
func (r watchedRequest) Task(n int) intercept.UserText {
	r.reads.Add(1)
	return r.Request.Task(n)
}

// Long histories are what agents send: nothing reads one for an answer without a call.
func TestHistoryIsNotReadWithoutACall(t *testing.T) {
	for _, c := range conversations {
		t.Run(c.dialect.Name(), func(t *testing.T) {
			var reads atomic.Int32
			calls := false
			b := newBed(t, watched{c.dialect, &reads}, "default: allow\n", func(r *fakemodel.Request) fakemodel.Reply {
				if calls {
					return callBash(r)
				}
				return fakemodel.Answer{Text: "Hello."}.Reply(r)
			})
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer b.Shutdown(context.WithoutCancel(t.Context()))
			if status, got := b.post(c, c.second); status != http.StatusOK || reads.Load() > 0 {
				t.Errorf("%d %s: the history was read %d times", status, got, reads.Load())
			}
			calls = true
			if status, got := b.post(c, c.second); status != http.StatusOK || reads.Load() == 0 {
				t.Errorf("%d %s: with a call the history was read %d times", status, got, reads.Load())
			}
		})
	}
}
