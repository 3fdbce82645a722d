package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

var (
	// ErrMoved is returned by [Stream.AppendAfter] if the log does not end with the entry
	// before the next one.
	ErrMoved = errors.New("the log has grown")
	// ErrDuplicate is returned by [Stream.AppendAfter] if the log has an entry with the id of
	// the one remaining event, or may have entries with ids of several remaining events.
	ErrDuplicate = errors.New("the event is in the log already")
	// ErrNoEntry is returned by [Stream.Entry] for a sequence that has no entry.
	ErrNoEntry = errors.New("no such entry")
)

// Stream is the durable log that a [Log] writes. Appends compare the end of the log, so that
// several writers write one chain.
type Stream interface {
	// Head returns the end of the log.
	Head(ctx context.Context) (Head, error)
	// AppendAfter appends entries in their order, each only if the log ends with the one
	// before it; the first if the log ends at seq. It returns how many of them are durable:
	// all, unless there is an error. After [ErrMoved] the others were not appended, after other
	// errors that is unknown.
	AppendAfter(ctx context.Context, seq uint64, entries []Entry) (int, error)
	// Entry reads one entry, or fails with [ErrNoEntry].
	Entry(ctx context.Context, seq uint64) (Entry, error)
}

const (
	maxBatch      = 200     // events written at once
	maxBatchBytes = 1 << 20 // of their JSON
	batchTimeout  = 10 * time.Second
	entryOverhead = 1 << 10 // sequence, hashes and headers
)

// Log appends events to the chain. Calls that wait while others are written are written
// together. It is safe for concurrent use.
type Log struct {
	stream   Stream
	maxBytes func() int

	mu      sync.Mutex
	queue   []*appending
	writing bool
	writers sync.WaitGroup

	appends chan struct{} // has one element while entries are being appended
	head    Head          // the end of the log, of who appends
	known   bool
}

// appending is one call to Append.
type appending struct {
	events []unsealed
	done   chan error
}

// NewLog returns a log on a stream with entries of at most maxBytes bytes.
func NewLog(stream Stream, maxBytes func() int) *Log {
	return &Log{stream: stream, maxBytes: maxBytes, appends: make(chan struct{}, 1)}
}

// Append appends events in their order and returns when they are durable. Events of other
// writers may be between them. After an error or a crash the log may have the first of them,
// or will have them later; do not do what they record then. The error for an event that is
// too large is [approvals.ErrTooLarge].
func (l *Log) Append(ctx context.Context, events ...approvals.Event) error {
	for len(events) > maxBatch {
		if err := l.Append(ctx, events[:maxBatch]...); err != nil {
			return err
		}
		events = events[maxBatch:]
	}
	if len(events) == 0 {
		return nil
	}
	a := &appending{events: make([]unsealed, 0, len(events)), done: make(chan error, 1)}
	for _, e := range events { // one bad event would fail the whole batch
		u, err := encode(e)
		if err != nil {
			return err
		}
		if limit := l.maxBytes(); u.size()+entryOverhead > limit {
			return fmt.Errorf("event %s of %d bytes, the limit is %d: %w", e.ID, u.size(), limit, approvals.ErrTooLarge)
		}
		a.events = append(a.events, u)
	}
	l.mu.Lock()
	l.queue = append(l.queue, a)
	if !l.writing {
		l.writing = true
		l.writers.Go(l.writeQueue)
	}
	l.mu.Unlock()
	select {
	case err := <-a.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("append to the audit log: %w", ctx.Err())
	}
}

// Ensure appends an event unless exists finds it. It appends only if the log has not grown
// since the check, so that two writers who ensure the same event write it once.
func (l *Log) Ensure(ctx context.Context, e approvals.Event, exists func(context.Context) (bool, error)) error {
	u, err := encode(e)
	if err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		err := l.ensureOnce(ctx, u, exists, attempt >= concurrentAttempts)
		if errors.Is(err, ErrDuplicate) {
			return nil
		}
		if !errors.Is(err, ErrMoved) {
			return err
		}
	}
}

// concurrentAttempts is the number of attempts to ensure an event while other appends continue. They may all
// fail in a busy process: the log grows during each.
const concurrentAttempts = 2

// ensureOnce makes one attempt to ensure an event. If alone is true, this process appends nothing else meanwhile.
func (l *Log) ensureOnce(ctx context.Context, u unsealed, exists func(context.Context) (bool, error), alone bool) error {
	if alone {
		if err := l.acquire(ctx); err != nil {
			return err
		}
		defer l.release()
	}
	head, err := l.stream.Head(ctx)
	if err != nil {
		return err
	}
	if there, err := exists(ctx); there || err != nil {
		return err
	}
	if !alone {
		if err := l.acquire(ctx); err != nil {
			return err
		}
		defer l.release()
	}
	_, err = l.append(ctx, &head, []unsealed{u})
	return err
}

// acquire waits for the right to append.
func (l *Log) acquire(ctx context.Context) error {
	select {
	case l.appends <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("append to the audit log: %w", ctx.Err())
	}
}

func (l *Log) release() { <-l.appends }

// Wait returns when nothing is being written.
func (l *Log) Wait() { l.writers.Wait() }

// writeQueue writes batches until the queue is empty.
func (l *Log) writeQueue() {
	for {
		batch := l.takeBatch()
		if batch == nil {
			return
		}
		var events []unsealed
		for _, a := range batch {
			events = append(events, a.events...)
		}
		ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
		done, err := l.write(ctx, events)
		cancel()
		for _, a := range batch {
			if done -= len(a.events); done >= 0 {
				a.done <- nil
			} else {
				a.done <- err
			}
		}
	}
}

// takeBatch returns the calls to write together next; nil ends the writer.
func (l *Log) takeBatch() []*appending {
	l.mu.Lock()
	defer l.mu.Unlock()
	count, size, n := 0, 0, 0
	for _, a := range l.queue {
		count += len(a.events)
		for i := range a.events {
			size += a.events[i].size()
		}
		if n > 0 && (count > maxBatch || size > maxBatchBytes) {
			break
		}
		n++
	}
	if n == 0 {
		l.writing = false
		return nil
	}
	batch := l.queue[:n:n]
	l.queue = l.queue[n:]
	return batch
}

// write appends events at the current end of the log, and returns how many of them are
// durable: all, unless there is an error.
func (l *Log) write(ctx context.Context, events []unsealed) (done int, err error) {
	singly := false // some of the events are in the log already
	for done < len(events) {
		rest := events[done:]
		if singly {
			rest = rest[:1]
		}
		n, err := l.appendNext(ctx, rest)
		done += n
		switch {
		case err == nil || errors.Is(err, ErrMoved):
		case errors.Is(err, ErrDuplicate) && len(rest) == 1:
			done++
		case errors.Is(err, ErrDuplicate):
			singly = true
		default:
			return done, err
		}
	}
	return done, nil
}

// appendNext appends events at the end of the log when it may.
func (l *Log) appendNext(ctx context.Context, events []unsealed) (int, error) {
	if err := l.acquire(ctx); err != nil {
		return 0, err
	}
	defer l.release()
	return l.append(ctx, nil, events)
}

// append appends events after a head, the end of the log if it is nil, and returns how many of
// them are durable. The caller has acquired the log.
func (l *Log) append(ctx context.Context, after *Head, events []unsealed) (int, error) {
	if after != nil {
		l.head, l.known = *after, true
	}
	entries, err := l.sealAll(ctx, events)
	if err != nil {
		return 0, err
	}
	n, err := l.stream.AppendAfter(ctx, l.head.Seq, entries)
	if err != nil && !errors.Is(err, ErrMoved) {
		if n += l.landed(ctx, entries[n:]); n == len(entries) {
			err = nil
		}
	}
	if l.known = err == nil; l.known {
		last := entries[n-1].Event
		l.head = Head{Seq: last.Seq, Hash: last.Hash}
	}
	return n, err
}

// sealAll returns the entries of events after the end of the log.
func (l *Log) sealAll(ctx context.Context, events []unsealed) (entries []Entry, err error) {
	if !l.known {
		head, err := l.stream.Head(ctx)
		if err != nil {
			return nil, err
		}
		l.head, l.known = head, true
	}
	entries = make([]Entry, len(events))
	head := l.head
	for i, e := range events {
		if entries[i], err = e.seal(head); err != nil {
			return nil, err
		}
		head = Head{Seq: entries[i].Seq, Hash: entries[i].Event.Hash}
	}
	return entries, nil
}

// landed returns how many of the entries are in the log after an append that has failed.
func (l *Log) landed(ctx context.Context, entries []Entry) (n int) {
	for _, e := range entries {
		there, err := l.stream.Entry(ctx, e.Seq)
		if err != nil || !bytes.Equal(there.Data, e.Data) {
			break
		}
		n++
	}
	return n
}
