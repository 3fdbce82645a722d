package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals/audit"
)

const (
	batchLen        = 500                   // entries published at once
	batchBytes      = 1 << 20               // of their JSON
	publishInterval = 20 * time.Millisecond // between two publications, so that entries gather
	retryInterval   = time.Second           // after a publication that has failed, unless somebody waits
)

// publisher publishes entries to a stream. It is safe for concurrent use.
type publisher struct {
	stream audit.Stream
	report func(error) error

	mu       sync.Mutex
	pending  []audit.Entry
	attempts int           // to publish
	failed   error         // of the last attempt
	ended    bool          // there are no more attempts
	changed  chan struct{} // closed when one of these changes
	urgent   chan struct{} // has an element while somebody waits for pending entries

	stop   context.CancelFunc
	worker sync.WaitGroup
}

// newPublisher starts a publisher, which ends with [publisher.end]. It uses what report returns as the result of
// an attempt.
func newPublisher(stream audit.Stream, report func(error) error) *publisher {
	p := &publisher{stream: stream, report: report, changed: make(chan struct{}), urgent: make(chan struct{}, 1)}
	work, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.worker.Go(func() { p.run(work) })
	return p
}

// add adds entries to publish. They follow those that were added before.
func (p *publisher) add(entries []audit.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, entries...)
	p.signal()
}

// unpublished returns the pending entries.
func (p *publisher) unpublished() []audit.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.pending)
}

// failing reports whether the last attempt has failed.
func (p *publisher) failing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed != nil
}

// flush returns when the stream has all entries that were added before the call. It returns the error of the
// first attempt that ends after the call and fails.
func (p *publisher) flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) == 0 {
		return nil
	}
	last, before := p.pending[len(p.pending)-1].Seq, p.attempts
	for len(p.pending) > 0 && p.pending[0].Seq <= last {
		switch {
		case p.ended:
			return errClosed
		case p.failed != nil && p.attempts > before:
			return p.failed
		}
		select {
		case p.urgent <- struct{}{}:
		default:
		}
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// end ends the publisher, and waits for it.
func (p *publisher) end() {
	p.stop()
	p.worker.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.signal()
}

// signal wakes all who wait for a change. The caller holds mu.
func (p *publisher) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait waits for the next change. The caller holds mu.
func (p *publisher) wait(ctx context.Context) error {
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run publishes entries until the context ends.
func (p *publisher) run(ctx context.Context) {
	for batch := p.next(ctx); batch != nil; batch = p.next(ctx) {
		interval := publishInterval
		if !p.publish(ctx, batch) {
			interval = retryInterval
		}
		select {
		case <-time.After(interval):
		case <-p.urgent:
		case <-ctx.Done():
		}
	}
}

// next waits for entries. It returns nil when the context has ended.
func (p *publisher) next(ctx context.Context) []audit.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pending) == 0 {
		if p.wait(ctx) != nil {
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	limit := min(len(p.pending), batchLen)
	if p.failed != nil { // nats-server keeps the files of a batch that it cannot commit
		limit = 1
	}
	n, size := 1, len(p.pending[0].Data)
	for n < limit && size+len(p.pending[n].Data) <= batchBytes {
		size += len(p.pending[n].Data)
		n++
	}
	return slices.Clone(p.pending[:n])
}

// publish publishes pending entries, and reports whether it succeeded. The stream may have only the first of
// them then.
func (p *publisher) publish(ctx context.Context, batch []audit.Entry) bool {
	n, err := p.append(ctx, batch)
	if n >= len(batch) {
		err = nil
	}
	if errors.Is(err, audit.ErrMoved) { // an append that returned ErrMoved would be tried again until its time ends
		err = fmt.Errorf("publish the audit log: the stream has entries of another writer: %s", err.Error())
	} else {
		err = p.report(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempts++
	p.pending, p.failed = slices.Delete(p.pending, 0, n), err
	p.signal()
	return err == nil
}

// append publishes a batch, and returns how many pending entries the stream has then. If several entries fail and
// the stream has none of them, it publishes the first one alone.
func (p *publisher) append(ctx context.Context, batch []audit.Entry) (n int, err error) {
	if _, err = p.stream.AppendAfter(ctx, batch[0].Seq-1, batch); err == nil {
		return len(batch), nil
	}
	if n = p.landed(ctx); n > 0 || len(batch) == 1 {
		return n, err
	}
	return p.append(ctx, batch[:1]) // the error of a batch does not report why its first entry was refused
}

// landed returns how many pending entries the stream has after a publication that has failed: maybe more than
// those of that publication, as nats-server completes an earlier batch when it starts.
func (p *publisher) landed(ctx context.Context) int {
	end, err := p.stream.Head(ctx)
	if err != nil {
		return 0
	}
	return 1 + slices.IndexFunc(p.unpublished(), func(e audit.Entry) bool { return headOf(e) == end })
}

// headOf returns the end of a log that ends with an entry.
func headOf(last audit.Entry) audit.Head { return audit.Head{Seq: last.Seq, Hash: last.Event.Hash} }
