package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a stream in memory whose appends can go wrong.
type memory struct {
	mu      sync.Mutex
	entries []Entry
	batches int
	lose    func() (before, after bool) // the append fails before or after it takes place
}

func (m *memory) Head(context.Context) (Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.entries) == 0 {
		return Head{}, nil
	}
	last := m.entries[len(m.entries)-1]
	return Head{Seq: last.Seq, Hash: last.Event.Hash}, nil
}

func (m *memory) AppendAfter(_ context.Context, seq uint64, entries []Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, after := false, false
	if m.lose != nil {
		before, after = m.lose()
	}
	if before {
		return errLost
	}
	if seq != uint64(len(m.entries)) {
		return ErrMoved
	}
	for _, e := range entries {
		for _, old := range m.entries {
			if old.Event.ID == e.Event.ID {
				return ErrDuplicate
			}
		}
	}
	m.entries = append(m.entries, entries...)
	m.batches++
	if after {
		return errLost
	}
	return nil
}

func (m *memory) Entry(_ context.Context, seq uint64) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seq == 0 || seq > uint64(len(m.entries)) {
		return Entry{}, ErrNoEntry
	}
	return m.entries[seq-1], nil
}

func (m *memory) all() iter.Seq2[Entry, error] { return each(m.entries) }

func each(entries []Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

var errLost = errors.New("lost")

func newLog(m *memory) *Log { return NewLog(m, func() int { return 1 << 20 }) }

func event(id string) approvals.Event {
	return approvals.Event{ID: id, Type: approvals.EventCallReleased, Note: `</b> "hash":"x"}` + "\u2028\xff", Before: []byte(`{"a": 9007199254740993 , "b":"\u0041"}`)}
}

func TestConcurrentAppendsShareBatches(t *testing.T) {
	m := &memory{}
	logs := []*Log{newLog(m), newLog(m)}
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() {
			if err := logs[i%2].Append(t.Context(), event(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, l := range logs {
		l.Wait()
	}
	report, err := Verify(m.all())
	if err != nil || report.Count != 500 || report.First.Seq != 1 || report.Last.Seq != 500 {
		t.Fatalf("%+v, %v", report, err)
	}
	if m.batches >= 500 {
		t.Errorf("%d batches for 500 appends", m.batches)
	}
}

func TestAppendWhoseAnswerIsLost(t *testing.T) {
	for _, after := range []bool{false, true} {
		m := &memory{lose: func() (bool, bool) { return !after, after }}
		err := newLog(m).Append(t.Context(), event("1"), event("2"))
		if landed := err == nil; landed != after || len(m.entries) != map[bool]int{true: 2}[after] {
			t.Errorf("lost after=%t: %v, %d entries", after, err, len(m.entries))
		}
		m.lose = nil
		if err := newLog(m).Append(t.Context(), event("2"), event("3")); err != nil {
			t.Fatal(err)
		}
		if report, err := Verify(m.all()); err != nil || report.Count != map[bool]uint64{false: 2, true: 3}[after] {
			t.Errorf("%+v, %v", report, err)
		}
	}
}

func TestVerifyNamesTheFirstBrokenLink(t *testing.T) {
	m := &memory{}
	l := newLog(m)
	for i := range 6 {
		if err := l.Append(t.Context(), event(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	reseal := func(e Entry, prev Head) Entry { // what somebody who knows the format can do
		entry, err := seal(e.Event, prev)
		if err != nil {
			t.Fatal(err)
		}
		return entry
	}
	for name, c := range map[string]struct {
		broken uint64
		tamper func([]Entry) []Entry
	}{
		"intact":        {0, func(e []Entry) []Entry { return e }},
		"tail of chain": {0, func(e []Entry) []Entry { return e[2:] }},
		"a byte": {3, func(e []Entry) []Entry {
			e[2].Data = []byte(strings.Replace(string(e[2].Data), "released", "allowed", 1))
			return e
		}},
		"white space": {3, func(e []Entry) []Entry { e[2].Data = append([]byte(" "), e[2].Data...); return e }},
		"added member": {3, func(e []Entry) []Entry {
			e[2].Data = []byte(strings.Replace(string(e[2].Data), `{`, `{"x":1,`, 1))
			return e
		}},
		"removed":  {4, func(e []Entry) []Entry { return append(e[:2:2], e[3:]...) }},
		"swapped":  {4, func(e []Entry) []Entry { e[2], e[3] = e[3], e[2]; return e }},
		"not JSON": {1, func(e []Entry) []Entry { e[0].Data = []byte("x"); return e }},
		"no hash":  {2, func(e []Entry) []Entry { e[1].Data = []byte(`{"seq":2}`); return e }},
		"rewritten": {4, func(e []Entry) []Entry {
			e[2].Event.Note = "forged"
			e[2] = reseal(e[2], Head{2, e[1].Event.Hash})
			return e
		}},
		"moved": {3, func(e []Entry) []Entry {
			e[2].Seq = 9
			e[2] = reseal(e[2], Head{8, e[1].Event.Hash})
			e[2].Seq = 3
			return e
		}},
		"new root": {1, func(e []Entry) []Entry { e[0] = reseal(e[0], Head{0, "00"}); return e }},
	} {
		t.Run(name, func(t *testing.T) {
			entries := make([]Entry, len(m.entries))
			copy(entries, m.entries)
			_, err := Verify(each(c.tamper(entries)))
			var broken *BrokenError
			if c.broken == 0 {
				if err != nil {
					t.Fatal(err)
				}
			} else if !errors.As(err, &broken) || broken.Seq != c.broken {
				t.Fatalf("%v, want entry %d", err, c.broken)
			}
		})
	}
}

func TestEnsureAppendsOnce(t *testing.T) {
	m := &memory{}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			l := newLog(m)
			err := l.Ensure(t.Context(), event("once"), func(context.Context) (bool, error) {
				m.mu.Lock()
				defer m.mu.Unlock()
				return len(m.entries) > 0, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(m.entries) != 1 {
		t.Fatalf("%d entries", len(m.entries))
	}
}
