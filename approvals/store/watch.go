package store

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// watched is a bucket and who is told of it. All calls come from one goroutine.
type watched struct {
	bucket jetstream.KeyValue
	keys   bool // names only, no values
	entry  func(jetstream.KeyValueEntry)
	loaded func() // once, when everything recorded has been told
}

// rewatchDelay is the pause before a watch that could not be opened is tried
// again without a reconnect.
const rewatchDelay = 500 * time.Millisecond

// watch tells of everything in a bucket, then of every change, until the
// context ends. After a reconnect it goes on where it was: buckets keep one
// revision of a key, so both come in the order of revisions.
func (s *Store) watch(ctx context.Context, w watched) error {
	var last uint64
	initial := true
	for ctx.Err() == nil {
		reconnected := s.linked.nextUp()
		watcher, err := w.open(ctx, last)
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("cannot watch; trying again", "error", s.fail(opWatch, "watch "+w.bucket.Bucket(), err))
			}
			select {
			case <-ctx.Done():
			case <-reconnected:
			case <-time.After(rewatchDelay):
			}
			continue
		}
		s.follow(ctx, watcher, reconnected, func(entry jetstream.KeyValueEntry) {
			switch {
			case entry == nil && initial:
				initial = false
				w.loaded()
			case entry != nil && entry.Revision() > last:
				last = entry.Revision()
				w.entry(entry)
			}
		})
	}
	return nil
}

// open opens a watch of what was written after a revision.
func (w watched) open(ctx context.Context, last uint64) (jetstream.KeyWatcher, error) {
	var options []jetstream.WatchOpt
	if w.keys {
		options = append(options, jetstream.MetaOnly())
	}
	if last > 0 {
		options = append(options, jetstream.ResumeFromRevision(last+1))
	}
	return w.bucket.WatchAll(ctx, options...)
}

// follow hands on what a watcher yields until the connection comes back anew,
// the watcher ends, or the context does.
func (s *Store) follow(ctx context.Context, watcher jetstream.KeyWatcher, reconnected <-chan struct{}, entry func(jetstream.KeyValueEntry)) {
	defer func() {
		if err := watcher.Stop(); err != nil {
			s.log.Debug("end a watch", "error", err)
		}
		for range watcher.Updates() { // its last delivery may be waiting for us
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-reconnected:
			return
		case e, open := <-watcher.Updates():
			if !open {
				return
			}
			entry(e)
		}
	}
}
