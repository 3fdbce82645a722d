package gate

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// closedStore records the revisions at which requests are closed.
type closedStore struct {
	mu     sync.Mutex
	closed map[string]uint64
}

func (s *closedStore) CloseRequest(id string, revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed[id] = revision
}

func (s *closedStore) at(id string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed[id]
}

func TestClosesFinalRequests(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	for name, c := range map[string]struct {
		status  approvals.Status
		turn    string
		result  func() bool
		writes  bool
		loading bool // not all records are read
		change  bool // a second after the first revision
		after   time.Duration
		want    uint64
	}{
		"denied":                      {status: approvals.StatusDenied, after: 4 * time.Second, want: 1},
		"a moment ago":                {status: approvals.StatusDenied, after: time.Second},
		"changed a moment ago":        {status: approvals.StatusApproved, change: true, after: 1500 * time.Millisecond},
		"changed":                     {status: approvals.StatusApproved, change: true, after: 5 * time.Second, want: 2},
		"others are being read":       {status: approvals.StatusDenied, loading: true, after: time.Hour},
		"pending":                     {status: approvals.StatusPending, after: time.Hour},
		"its result is awaited":       {status: approvals.StatusApproved, result: yes, after: time.Hour},
		"its result is not awaited":   {status: approvals.StatusApproved, result: no, after: 4 * time.Second, want: 1},
		"something else waits for it": {status: approvals.StatusApproved, turn: "stored", after: time.Hour},
		"its event is being written":  {status: approvals.StatusApproved, writes: true, after: time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &closedStore{closed: map[string]uint64{}}
			closer := newCloser(s.CloseRequest, time.Now)
			closer.unless(func(r endedRequest) bool { return r.Turn == "stored" })
			ready := make(chan struct{})
			if !c.loading {
				close(ready)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { closer.run(ctx, ready) })
			r := approvals.Request{ID: "1", Status: c.status, TurnID: c.turn}
			end := func() {}
			if c.writes {
				end = closer.begin(r)
			}
			closer.changed(&approvals.Stored{Request: r, Revision: 1}, c.result)
			if c.change {
				time.Sleep(time.Second)
				closer.changed(&approvals.Stored{Request: r, Revision: 2}, c.result)
			}
			time.Sleep(c.after)
			synctest.Wait()
			if got := s.at("1"); got != c.want {
				t.Errorf("%s: closed at revision %d, want %d", name, got, c.want)
			}
			cancel()
			running.Wait()
			if end(); c.writes {
				closer.closeAll()
				if s.at("1") != 1 {
					t.Errorf("%s: it is open after the write", name)
				}
			}
		})
	}
}
