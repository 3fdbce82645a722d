package notify_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heldcall/heldcall/notify"
)

// TestSetupFault: a channel whose setup is wrong is asked once for each request, also in a group; what it did not take is
// announced when the setup is corrected: at the next card that it takes, or at a start.
func TestSetupFault(t *testing.T) {
	for name, group := range map[string]notify.Group{"cards": {}, "groups": {Cards: 1, Within: 50 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var corrected atomic.Bool
			cards := &follower{}
			cards.answers = func(int) error {
				if corrected.Load() {
					return nil
				}
				return &notify.SetupError{Err: errors.New("not_in_channel"), Todo: "invite the app"}
			}
			setup := notify.Setup{Name: "cards", Channel: cards, Group: group}
			s.dispatch(nil, setup)
			s.ask("one", nil, "read")
			s.ask("two", nil, "write")
			s.ask("three", nil, "bash")
			eventually(t, func() (bool, string) {
				calls, _ := cards.count()
				return calls >= 2 && s.dispatcher.Faults() != nil, "the channel was not tried"
			})
			if got := s.dispatcher.Faults().Error(); got != "cards: not_in_channel; invite the app" {
				t.Errorf("the fault is %q", got)
			}
			corrected.Store(true)
			s.ask("four", nil, "edit")
			eventually(t, func() (bool, string) {
				got := cards.show()
				for _, tool := range []string{"read", "write", "bash", "edit"} {
					if strings.Count(got, tool+"=pending") != 1 {
						return false, "the board shows\n" + got
					}
				}
				return s.dispatcher.Faults() == nil, "the fault stays"
			})
			if calls, _ := cards.count(); calls > 12 {
				t.Errorf("%d attempts", calls)
			}
		})
	}
}

// TestSetupFaultAtAStart: with a new setup a start announces what the old one did not.
func TestSetupFaultAtAStart(t *testing.T) {
	s := newStage(t)
	cards := &follower{}
	cards.answers = func(int) error {
		return &notify.SetupError{Err: errors.New("invalid_auth"), Todo: "copy the token"}
	}
	s.dispatch(nil, notify.Setup{Name: "cards", Channel: cards})
	s.ask("one", nil, "read")
	eventually(t, func() (bool, string) { return s.dispatcher.Faults() != nil, "the channel was not tried" })
	if got := s.dispatcher.Faults().Error(); !strings.Contains(got, "copy the token") {
		t.Errorf("the fault is %q", got)
	}
	s.close()
	s.open()
	cards = &follower{}
	s.dispatch(nil, notify.Setup{Name: "cards", Channel: cards})
	cards.await(t, "read=pending")
}
