package sessions

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

func TestAttemptsComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAttempts()
		for range AttemptsAtOnce {
			if wait := a.Take("192.0.2.1:1000"); wait != 0 {
				t.Fatalf("wait %s", wait)
			}
		}
		wait := a.Take("192.0.2.1:2000")
		if wait <= 0 || wait > attemptEvery {
			t.Errorf("the next attempt waits %s", wait)
		}
		for _, other := range []string{"192.0.2.2:1", "[2001:db8::1]:1"} {
			if a.Take(other) != 0 {
				t.Errorf("%s waits for another address", other)
			}
		}
		time.Sleep(wait + time.Millisecond)
		if a.Take("192.0.2.1:3000") != 0 {
			t.Error("the allowance does not come back")
		}
	})
}

// Many addresses cost no more memory than maxAddresses, and none of them is
// without limit.
func TestAttemptsOfManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // on a busy machine the allowance would come back meanwhile
		a := NewAttempts()
		for i := range maxAddresses {
			a.Take(fmt.Sprintf("10.0.%d.%d:1", i>>8, i&0xff))
		}
		refused := 0
		for i := range AttemptsAtOnce + 5 {
			if a.Take(fmt.Sprintf("[2001:db8:%x::1]:1", i)) > 0 {
				refused++
			}
		}
		if len(a.by) != maxAddresses || refused < 4 {
			t.Errorf("%d addresses are remembered, %d attempts refused", len(a.by), refused)
		}
	})
}

func TestSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(time.Hour)
		opened, given := s.Open(reviewers.Reviewer{Name: "ann"})
		time.Sleep(time.Hour - time.Second)
		if s.Find(given) != opened {
			t.Error("the session has ended early")
		}
		time.Sleep(time.Second)
		if s.Find(given) != nil {
			t.Error("the session outlives its time")
		}
		for range maxOfOne + 5 {
			time.Sleep(time.Second)
			s.Open(reviewers.Reviewer{Name: "ann"})
		}
		if len(s.byID) != maxOfOne {
			t.Errorf("ann has %d sessions", len(s.byID))
		}
		s.CloseAll()
	})
}
