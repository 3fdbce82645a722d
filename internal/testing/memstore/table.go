package memstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// row is the last change of a key: a value, or the marker of one that was removed.
type row struct {
	key      string
	value    []byte
	revision uint64
	at       time.Time // UTC
	mark     mark
	expires  time.Time // zero: never
}

// mark is why a row has no value.
type mark string

const (
	removed   mark = "removed"
	withdrawn mark = "withdrawn"
)

// live reports whether the row has a value.
func (r row) live() bool { return r.revision > 0 && r.mark == "" }

// table has rows by key, and in the order of their revisions. The zero value is empty. The memory's
// mutex guards it.
type table struct {
	last    uint64 // revision
	rows    map[string]row
	order   []row // by revision; some of them were replaced
	changed signal
}

// errNoRow is returned for a key without a value.
var errNoRow = errors.New("no such record")

// find returns the row of a key, zero for none.
func (t *table) find(key string) row {
	r := t.rows[key]
	if !r.expires.IsZero() && !time.Now().Before(r.expires) {
		return row{}
	}
	return r
}

// get returns the row of a key with a value, else errNoRow.
func (t *table) get(key string) (row, error) {
	r := t.find(key)
	if !r.live() {
		return row{}, errNoRow
	}
	return r, nil
}

// set writes a row, whatever its key has, and returns its revision.
func (t *table) set(r row) uint64 {
	t.last++
	r.revision, r.at, r.value = t.last, time.Now().UTC(), slices.Clone(r.value)
	if t.rows == nil {
		t.rows = map[string]row{}
	}
	t.rows[r.key] = r
	if t.order = append(t.order, r); len(t.order) > 2*len(t.rows)+1000 {
		t.order = slices.DeleteFunc(t.order, func(r row) bool { return t.rows[r.key].revision != r.revision })
	}
	t.changed.raise()
	return t.last
}

// compareAndSet writes a row if its key is at a revision (0: it was never written), else it fails with
// [approvals.ErrConflict].
func (t *table) compareAndSet(r row, revision uint64) (uint64, error) {
	if t.find(r.key).revision != revision {
		return 0, approvals.ErrConflict
	}
	return t.set(r), nil
}

// create writes a row if its key has no value, else it fails with [approvals.ErrConflict].
func (t *table) create(r row) (uint64, error) {
	if t.find(r.key).live() {
		return 0, approvals.ErrConflict
	}
	return t.set(r), nil
}

// after returns the rows that were changed last after a revision, in that order.
func (t *table) after(revision uint64) (changed []row) {
	first, _ := slices.BinarySearchFunc(t.order, revision+1, func(r row, revision uint64) int { return cmp.Compare(r.revision, revision) })
	for _, r := range t.order[first:] {
		if t.find(r.key).revision == r.revision {
			changed = append(changed, r)
		}
	}
	return changed
}

// watched has the callbacks of a watch. One goroutine calls them.
type watched struct {
	change   func(row)
	current  func(bool) // with true after the rows that existed before, with false at the end
	position *position  // may be nil
}

// loaded returns a [watched.current] that calls loaded once.
func loaded(loaded func()) func(bool) {
	return func(current bool) {
		if current {
			loaded()
		}
	}
}

// watch calls w.change with the rows of a table, then with every change, until the context ends.
func (p *process) watch(ctx context.Context, t *table, w watched) error {
	defer p.locked(func() { w.position.set(0, false) })
	defer w.current(false)
	isCurrent := false
	for last := uint64(0); ctx.Err() == nil; {
		var rows []row
		var changed <-chan struct{}
		p.locked(func() { rows, last, changed = t.after(last), t.last, t.changed.next() })
		for _, r := range rows {
			if ctx.Err() != nil {
				return nil
			}
			w.change(r)
		}
		p.locked(func() { w.position.set(last, true) }) // before it is reported
		if !isCurrent {
			isCurrent = true
			w.current(true)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// locked calls f with the memory locked.
func (p *process) locked(f func()) {
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	f()
}

// position is the revision up to which a watch has read its table. The memory's mutex guards it.
type position struct {
	revision uint64
	current  bool
	changed  signal
}

// set records what a watch has read. p may be nil.
func (p *position) set(revision uint64, current bool) {
	if p != nil {
		p.revision, p.current = max(p.revision, revision), current
		p.changed.raise()
	}
}

// errBehind is the cause of a failed [process.reach].
var errBehind = errors.New("the watch may have missed changes")

// reach waits until the watch of a position has read what any process had written before the call. It
// fails if there is no watch.
func (p *process) reach(ctx context.Context, t *table, read *position) error {
	const doing = "wait for a watch"
	var last uint64
	if err := p.do(ctx, doing, func() error { last = t.last; return nil }); err != nil {
		return err
	}
	for {
		var changed <-chan struct{}
		reached, current := false, false
		p.locked(func() { reached, current, changed = read.revision >= last, read.current, read.changed.next() })
		switch {
		case !current:
			return approvals.Unavailable(doing, errBehind)
		case reached:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return approvals.Unavailable(doing, ctx.Err())
		}
	}
}

// signal wakes everyone who waits for a change. The zero value is ready to use. The memory's mutex
// guards it.
type signal struct{ waiting chan struct{} }

// next returns a channel that is closed at the next change.
func (s *signal) next() <-chan struct{} {
	if s.waiting == nil {
		s.waiting = make(chan struct{})
	}
	return s.waiting
}

func (s *signal) raise() {
	if s.waiting != nil {
		close(s.waiting)
		s.waiting = nil
	}
}
