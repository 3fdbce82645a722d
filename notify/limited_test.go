package notify_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/notify"
)

// limited is a board whose service takes one call a second at most, and asks for a pause of a second
// after any other.
type limited struct {
	follower
	mu    sync.Mutex
	taken time.Time
	down  bool // it takes none
	asked int  // calls, those that it did not take included
}

func (l *limited) admit() error {
	time.Sleep(50 * time.Millisecond) // of the call
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked++; l.down || time.Since(l.taken) < time.Second {
		return notify.RetryAfter(errors.New("limited"), time.Second)
	}
	l.taken = time.Now()
	return nil
}

func (l *limited) Post(ctx context.Context, d notify.Delivery) (notify.Ref, error) {
	if err := l.admit(); err != nil {
		return "", err
	}
	return l.follower.Post(ctx, d)
}

func (l *limited) Update(ctx context.Context, d notify.Delivery, ref notify.Ref) (notify.Ref, error) {
	if err := l.admit(); err != nil {
		return "", err
	}
	return l.follower.Update(ctx, d, ref)
}

// turnDown makes the service take no call, or some again. It returns the calls so far.
func (l *limited) turnDown(down bool) (asked int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	return l.asked
}

// takes waits, and fails the test unless the service has taken as many calls by then, one in two seconds.
func (l *limited) takes(t *testing.T, more int) {
	t.Helper()
	before, _ := l.count()
	time.Sleep(time.Duration(more) * 2 * time.Second)
	if after, _ := l.count(); after-before != more {
		t.Fatalf("%d of %d deliveries after %d seconds", after-before, more, 2*more)
	}
}

// However many deliveries wait for a service that limits the rate, and however often one of them loses
// against the others, the channel pauses for as long as the service asks.
func TestManyDeliveriesOfALimitedService(t *testing.T) {
	for name, setup := range map[string]notify.Setup{
		"cards":  {},
		"events": {EachEvent: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 60
				s, service := newStage(t), &limited{}
				defer s.close()
				setup.Name, setup.Channel = "limited", service
				s.dispatch(nil, setup)
				var asked []approvals.Request
				for turn := range n {
					asked = append(asked, s.ask(fmt.Sprint(turn), nil, "read")...)
				}
				service.takes(t, n)
				for _, r := range asked {
					s.approve(r)
				}
				service.takes(t, n)
			})
		})
	}
}

// A service that takes nothing is asked ever less often, by all deliveries together, until it takes one.
func TestManyDeliveriesOfAServiceThatTakesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 40
		s, service := newStage(t), &limited{down: true}
		defer s.close()
		s.dispatch(nil, notify.Setup{Name: "limited", Channel: service, Workers: 4})
		for turn := range n {
			s.ask(fmt.Sprint(turn), func(r *approvals.Request) { r.ExpiresAt = time.Now().Add(24 * time.Hour) }, "read")
		}
		time.Sleep(10 * time.Minute)
		before := service.turnDown(true)
		time.Sleep(time.Hour)
		if calls := service.turnDown(false) - before; calls > 4*125 {
			t.Errorf("%d calls in an hour", calls)
		}
		time.Sleep(time.Minute + 2*n*time.Second)
		if got, _ := service.count(); got != n {
			t.Errorf("%d of %d cards", got, n)
		}
	})
}
