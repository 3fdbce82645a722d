package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// position is the revision of a bucket up to which a watch has all changes.
type position struct {
	mu       sync.Mutex
	revision uint64
	changed  chan struct{} // closed at the next change, if somebody waits for it
}

// seen records that the watch has all changes up to a revision.
func (p *position) seen(revision uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision = revision
	p.wake()
}

// wake ends the waits of [position.reach] for a change. The caller holds the lock.
func (p *position) wake() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// lost ends waits for changes that may be missing.
func (p *position) lost() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
}

// reach returns when the watch has all changes that any replica had made in the bucket of a
// stream before the call, or when given is true.
func (p *position) reach(ctx context.Context, stream jetstream.Stream, given func() bool) error {
	info, err := stream.Info(ctx)
	if err != nil || info.State.Msgs == 0 {
		return err
	}
	for last := info.State.LastSeq; ; {
		p.mu.Lock()
		if p.revision >= last || given() {
			p.mu.Unlock()
			return nil
		}
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for revision %d: %w", last, ctx.Err())
		}
	}
}
