package console

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
)

func TestAttemptsComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempts()
		for range attemptsAtOnce {
			if wait := a.take("192.0.2.1:1000"); wait != 0 {
				t.Fatalf("wait %s", wait)
			}
		}
		wait := a.take("192.0.2.1:2000")
		if wait <= 0 || wait > attemptEvery {
			t.Errorf("the next attempt waits %s", wait)
		}
		for _, other := range []string{"192.0.2.2:1", "[2001:db8::1]:1"} {
			if a.take(other) != 0 {
				t.Errorf("%s waits for another address", other)
			}
		}
		time.Sleep(wait + time.Millisecond)
		if a.take("192.0.2.1:3000") != 0 {
			t.Error("the allowance does not come back")
		}
	})
}

// Many addresses cost no more memory than maxAddresses, and none of them is
// without limit.
func TestAttemptsOfManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // on a busy machine the allowance would come back meanwhile
		a := newAttempts()
		for i := range maxAddresses {
			a.take(fmt.Sprintf("10.0.%d.%d:1", i>>8, i&0xff))
		}
		refused := 0
		for i := range attemptsAtOnce + 5 {
			if a.take(fmt.Sprintf("[2001:db8:%x::1]:1", i)) > 0 {
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
		s := newSessions(time.Hour)
		opened, given := s.open(proof{who: reviewers.Reviewer{Name: "ann"}})
		time.Sleep(time.Hour - time.Second)
		if s.find(given) != opened {
			t.Error("the session has ended early")
		}
		time.Sleep(time.Second)
		if s.find(given) != nil {
			t.Error("the session outlives its time")
		}
		for range maxSessions + 5 {
			time.Sleep(time.Second)
			s.open(proof{who: reviewers.Reviewer{Name: "ann"}})
		}
		if len(s.byID) != maxSessions {
			t.Errorf("ann has %d sessions", len(s.byID))
		}
		s.closeAll()
	})
}

// A browser stays signed in over starts, by a file that has hashes only. Sign-outs, expired sessions and those of
// reviewers who are gone do not come back.
func TestSessionsOverStarts(t *testing.T) {
	directory, err := reviewers.LocalDirectory(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sessions.json")
	start := func(ttl time.Duration) *sessions {
		t.Helper()
		s := newSessions(ttl)
		if err := s.load(file, directory); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.closeAll)
		return s
	}
	first := start(time.Hour)
	_, stays := first.open(proof{who: reviewers.Local()})
	left, leaves := first.open(proof{who: reviewers.Local()})
	_, removed := first.open(proof{who: reviewers.Reviewer{Name: "ann"}})
	first.close(left)
	first.closeAll()
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), stays.Cookie) || strings.Contains(string(text), stays.Key) {
		t.Errorf("the file has %s, %v", text, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	second := start(time.Hour)
	if who := second.find(stays); who == nil || who.Reviewer.Name != reviewers.LocalName || who.Reviewer.Role != reviewers.RoleAdmin {
		t.Errorf("the browser is %+v", who)
	}
	if second.find(sessionSecrets{Cookie: stays.Cookie, Key: leaves.Key}) != nil {
		t.Error("the key of another session is taken")
	}
	for name, given := range map[string]sessionSecrets{"signed out": leaves, "not a reviewer": removed} {
		if second.find(given) != nil {
			t.Errorf("%s: the session is there", name)
		}
	}
	if start(time.Minute).find(stays) != nil {
		t.Error("the session lasts longer than console.session")
	}
}
