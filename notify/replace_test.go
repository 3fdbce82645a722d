package notify_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/heldcall/heldcall/notify"
)

// listener is a board on which people answer.
type listener struct {
	board
	begun, ended atomic.Int32
}

// Listen implements [notify.Listener].
func (l *listener) Listen(ctx context.Context) error {
	l.begun.Add(1)
	defer l.ended.Add(1)
	<-ctx.Done()
	return nil
}

// A channel that is taken away has ended when Replace returns, one that is added gets the pending requests, and one that stays is not
// interrupted.
func TestReplaceChannels(t *testing.T) {
	s := newStage(t)
	stays, leaves, comes := &listener{}, &listener{}, &listener{}
	s.dispatch(nil, notify.Setup{Name: "stays", Channel: stays}, notify.Setup{Name: "leaves", Channel: leaves})
	s.ask("one", nil, "a")
	stays.await(t, "a=pending")
	leaves.await(t, "a=pending")
	if err := s.dispatcher.Replace([]string{"leaves"}, []notify.Setup{{Name: "comes", Channel: comes}}, nil); err != nil {
		t.Fatal(err)
	}
	if begun, ended := leaves.begun.Load(), leaves.ended.Load(); begun != ended {
		t.Errorf("the channel that left has begun %d times to listen, and ended %d times", begun, ended)
	}
	comes.await(t, "a=pending")
	s.ask("two", nil, "b")
	stays.await(t, "a=pending\nb=pending")
	comes.await(t, "a=pending\nb=pending")

	only := notify.Routes{{To: []notify.Destination{{Channel: "comes"}}}}
	if err := s.dispatcher.Replace(nil, nil, only); err != nil {
		t.Fatal(err)
	}
	s.ask("three", nil, "c")
	comes.await(t, "a=pending\nb=pending\nc=pending")
	if got := stays.show(); got != "a=pending\nb=pending" {
		t.Errorf("without a route the channel shows\n%s", got)
	}
	if got := leaves.show(); got != "a=pending" {
		t.Errorf("the channel that left shows\n%s", got)
	}
	if begun, ended := stays.begun.Load(), stays.ended.Load(); begun != 1 || ended != 0 {
		t.Errorf("the channel that stays has begun %d times to listen, and ended %d times", begun, ended)
	}
	if err := s.dispatcher.Replace(nil, []notify.Setup{{Name: "stays", Channel: comes}}, nil); err == nil {
		t.Error("a name is taken twice")
	}
}
