package demo

import (
	"context"
	"fmt"
	"sync"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
)

// Ledger is the audit log as the console streams it, from the first event on. Its
// methods are safe for concurrent use.
type Ledger struct {
	mu     sync.Mutex
	events []approvals.Event
	ended  error
	grown  chan struct{} // closed and replaced with every event
}

func newLedger() *Ledger { return &Ledger{grown: make(chan struct{})} }

// follow adds what happens until the context ends or the console goes away.
func (l *Ledger) follow(ctx context.Context, c *client.Client) {
	for event, err := range c.Events(ctx, 0) {
		l.mu.Lock()
		if err != nil {
			l.ended = fmt.Errorf("the audit log cannot be followed any more: %w", err)
		} else {
			l.events = append(l.events, event)
		}
		close(l.grown)
		l.grown = make(chan struct{})
		l.mu.Unlock()
	}
}

// Len is the number of events so far.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

// At is the event number i, from 0; it waits for one that is still to come.
func (l *Ledger) At(ctx context.Context, i int) (approvals.Event, error) {
	for {
		l.mu.Lock()
		have, ended, grown := l.events, l.ended, l.grown
		l.mu.Unlock()
		switch {
		case i < len(have):
			return have[i], nil
		case ended != nil:
			return approvals.Event{}, ended
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return approvals.Event{}, ctx.Err()
		}
	}
}

// Of are the events of a session from number i on, but for the ends of its runs, which
// come at any time. It waits until there are n of them or the context ends.
func (l *Ledger) Of(ctx context.Context, session string, i, n int) (found []approvals.Event) {
	for {
		// Events that are already read are returned even if there are more than n.
		if len(found) >= n && i >= l.Len() {
			return found
		}
		event, err := l.At(ctx, i)
		if err != nil {
			return found
		}
		if event.SessionID == session && event.Type != approvals.EventRunEnded {
			found = append(found, event)
		}
		i++
	}
}

// Unbroken checks that every event so far refers to the one before it.
func (l *Ledger) Unbroken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range l.events {
		if i > 0 && (e.PrevHash != l.events[i-1].Hash || e.Seq != l.events[i-1].Seq+1) {
			return fmt.Errorf("event %d of the audit log does not follow the one before it", e.Seq)
		}
	}
	return nil
}
