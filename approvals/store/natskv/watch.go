package natskv

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Watched has the callbacks of a watch. One goroutine calls them.
type Watched struct {
	Keys   bool // names only, no values
	Entry  func(jetstream.KeyValueEntry)
	Loaded func() // once, after the entries that existed before
}

// rewatchDelay is the delay before a failed watch is opened again, if there is no reconnect.
const rewatchDelay = 500 * time.Millisecond

// Watch calls w.entry with every entry of the bucket, then with every change, until the
// context ends. After a reconnect it resumes after the last revision: a bucket keeps one
// revision of each key, so entries and changes are in the order of revisions.
func (b Bucket) Watch(ctx context.Context, w Watched) error {
	var last uint64
	initial := true
	for ctx.Err() == nil {
		reconnected := b.Backend.NextReconnect()
		watcher, err := b.openWatch(ctx, w, last)
		if err != nil {
			if ctx.Err() == nil {
				b.Backend.Log.Warn("failed to watch; trying again", "error", b.Backend.Fail(opWatch, "watch "+b.KV.Bucket(), err))
			}
			select {
			case <-ctx.Done():
			case <-reconnected:
			case <-time.After(rewatchDelay):
			}
			continue
		}
		b.follow(ctx, watcher, reconnected, func(entry jetstream.KeyValueEntry) {
			switch {
			case entry == nil && initial:
				initial = false
				w.Loaded()
			case entry != nil && entry.Revision() > last:
				last = entry.Revision()
				w.Entry(entry)
			}
		})
	}
	return nil
}

// openWatch opens a watch of the entries after a revision.
func (b Bucket) openWatch(ctx context.Context, w Watched, last uint64) (jetstream.KeyWatcher, error) {
	var options []jetstream.WatchOpt
	if w.Keys {
		options = append(options, jetstream.MetaOnly())
	}
	if last > 0 {
		options = append(options, jetstream.ResumeFromRevision(last+1))
	}
	return b.KV.WatchAll(ctx, options...)
}

// follow calls entry with the entries of a watcher until the next reconnect, the end of the
// watcher or the end of the context.
func (b Bucket) follow(ctx context.Context, watcher jetstream.KeyWatcher, reconnected <-chan struct{}, entry func(jetstream.KeyValueEntry)) {
	defer func() {
		if err := watcher.Stop(); err != nil {
			b.Backend.Log.Debug("end a watch", "error", err)
		}
		for range watcher.Updates() { // it may be blocked on its last entry
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
