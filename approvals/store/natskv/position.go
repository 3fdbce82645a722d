package natskv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrBehind is returned by [Bucket.Reach] if the watch may have missed changes.
var ErrBehind = errors.New("the watch may have missed changes")

// Position is the revision up to which a [Bucket.Watch] has read its bucket. The zero value is ready
// to use.
type Position struct {
	last sharedRead // reads the bucket's last revision

	mu       sync.Mutex
	revision uint64        // all changes up to it were read
	current  time.Time     // since when the watch counts as current; zero: it does not
	quiet    time.Time     // since when the watch has read nothing
	awaited  uint64        // the last revision that a caller has waited for
	since    time.Time     // when that revision was known first
	changed  chan struct{} // closed at the next change of the position; nil: nothing waits for it
}

// settled is the time without a message after which a watch that is still current has read all that
// was written before: a watch that loses its server misses heartbeats earlier.
const settled = 4 * watchHeartbeat

// Reach waits until the watch of the bucket has read what any process had written before the call. It
// fails with [ErrBehind] if the watch is not current, and with another error if the last revision
// cannot be read: a watch that has lost its server may still count as current.
func (b Bucket) Reach(ctx context.Context, p *Position) error {
	if !p.isCurrent() {
		return ErrBehind
	}
	last, err := p.last.do(ctx, b.lastRevision)
	if err != nil {
		return fmt.Errorf("read the last revision of %s: %w", b.KV.Bucket(), err)
	}
	return p.reach(ctx, last)
}

// lastRevision returns the last revision of the bucket, which may have been removed.
func (b Bucket) lastRevision(ctx context.Context) (uint64, error) {
	status, err := Await(ctx, b.KV.Status)
	if err != nil {
		return 0, err
	}
	return status.(*jetstream.KeyValueBucketStatus).StreamInfo().State.LastSeq, nil
}

// reach waits until all changes up to a revision were read. A watch does not read revisions that were
// removed; after the time settled they count as read. A caller that gives up and waits again waits no
// longer for that.
func (p *Position) reach(ctx context.Context, revision uint64) error {
	for {
		changed, left := p.await(revision)
		if changed == nil {
			if left < 0 {
				return ErrBehind
			}
			return nil
		}
		select {
		case <-changed:
		case <-time.After(left):
		case <-ctx.Done():
			return fmt.Errorf("wait for revision %d: %w", revision, context.Cause(ctx))
		}
	}
}

// await returns a channel that is closed at the next change of the position, and the time that is left
// until the watch is settled. The channel is nil if there is nothing to wait for: all changes up to the
// revision were read or, if left is negative, the watch is not current.
func (p *Position) await(revision uint64) (changed <-chan struct{}, left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revision >= revision {
		return nil, 0
	}
	if p.current.IsZero() {
		return nil, -1
	}
	if revision > p.awaited {
		p.awaited, p.since = revision, time.Now()
	}
	began := slices.MaxFunc([]time.Time{p.since, p.current, p.quiet}, time.Time.Compare)
	if left = settled - time.Since(began); left <= 0 {
		p.revision = revision
		return nil, 0
	}
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed, left
}

func (p *Position) isCurrent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.current.IsZero()
}

// read records that all changes up to a revision were read. p may be nil.
func (p *Position) read(revision uint64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision, p.quiet = max(p.revision, revision), time.Now()
	p.wakeLocked()
}

// setCurrent records whether the watch is current. p may be nil.
func (p *Position) setCurrent(current bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !current:
		p.current = time.Time{}
	case p.current.IsZero():
		p.current = time.Now()
	}
	p.wakeLocked()
}

func (p *Position) wakeLocked() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// sharedRead reads a revision for many callers, one read at a time. A caller gets the result of
// a read that began after its call.
type sharedRead struct {
	mu    sync.Mutex
	begun <-chan struct{} // closed at the end of the last read that has begun; nil: none has
	next  *pendingRead    // the read that has not begun; nil: none
}

// pendingRead is one read of a [sharedRead].
type pendingRead struct {
	done     chan struct{}
	revision uint64
	err      error
}

func (s *sharedRead) do(ctx context.Context, read func(context.Context) (uint64, error)) (uint64, error) {
	s.mu.Lock()
	r := s.next
	if r == nil {
		r = &pendingRead{done: make(chan struct{})}
		s.next = r
		go s.run(context.WithoutCancel(ctx), s.begun, r, read)
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.revision, r.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// run reads when the earlier read has ended. The read takes [OpTimeout] at most.
func (s *sharedRead) run(ctx context.Context, earlier <-chan struct{}, r *pendingRead, read func(context.Context) (uint64, error)) {
	if earlier != nil {
		<-earlier
	}
	s.mu.Lock()
	s.begun, s.next = r.done, nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, OpTimeout)
	defer cancel()
	r.revision, r.err = read(ctx)
	close(r.done)
}
