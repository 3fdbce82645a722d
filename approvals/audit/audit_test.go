package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a stream in memory whose appends can go wrong.
type memory struct {
	mu      sync.Mutex
	entries []Entry
	writes  int
	// between, if it is set, is called before each entry with the number of entries of the
	// write that are appended. The connection is lost before or after the entry is appended.
	between func(appended int) (before, after bool)
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

func (m *memory) AppendAfter(_ context.Context, seq uint64, entries []Entry) (int, error) {
	for i, e := range entries {
		before, after := false, false
		if m.between != nil {
			before, after = m.between(i)
		}
		if before {
			return i, errLost
		}
		if err := m.append(seq+uint64(i), e, i == 0); err != nil {
			return i, err
		}
		if after {
			return i, errLost
		}
	}
	return len(entries), nil
}

func (m *memory) append(after uint64, e Entry, first bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if after != uint64(len(m.entries)) {
		return ErrMoved
	}
	if slices.ContainsFunc(m.entries, func(old Entry) bool { return old.Event.ID == e.Event.ID }) {
		return ErrDuplicate
	}
	m.entries = append(m.entries, e)
	if first {
		m.writes++
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

func TestConcurrentAppendsShareWrites(t *testing.T) {
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
	if m.writes >= 500 {
		t.Errorf("%d writes for 500 appends", m.writes)
	}
}

// The connection is lost before and after each event of a group: the events up to there are
// in the log, the caller gets an error unless all are, and a second append adds the others
// once.
func TestAppendWhoseReplyIsLost(t *testing.T) {
	group := []approvals.Event{event("1"), event("2"), event("3")}
	for at := range group {
		for _, after := range []bool{false, true} {
			m := &memory{between: func(appended int) (bool, bool) { return appended == at && !after, appended == at && after }}
			stored := at
			if after {
				stored++
			}
			if err := newLog(m).Append(t.Context(), group...); (err == nil) != (stored == len(group)) || len(m.entries) != stored {
				t.Errorf("event %d, after it is stored: %t: %v, %d entries", at, after, err, len(m.entries))
			}
			m.between = nil
			if err := newLog(m).Append(t.Context(), append(group, event("4"))...); err != nil {
				t.Fatal(err)
			}
			wantIDs(t, m, "1", "2", "3", "4")
		}
	}
}

// wantIDs verifies the chain and compares the ids of its events.
func wantIDs(t *testing.T, m *memory, want ...string) {
	t.Helper()
	if _, err := Verify(m.all()); err != nil {
		t.Error(err)
	}
	var ids []string
	for _, e := range m.entries {
		ids = append(ids, e.Event.ID)
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("the log differs (-want +got):\n%s", diff)
	}
}

// Of the calls that one write contains, those whose events are stored succeed although the
// connection is lost after them.
func TestCallsOfOneWriteEndAlone(t *testing.T) {
	m, entered, goOn := &memory{}, make(chan struct{}), make(chan struct{})
	first := true
	m.between = func(appended int) (bool, bool) {
		if first {
			first = false
			close(entered)
			<-goOn
		}
		return appended == 3, false
	}
	l := newLog(m)
	results := make([]chan error, 4)
	for i, ids := range [][]string{{"a"}, {"b1", "b2"}, {"c1", "c2"}, {"d"}} {
		results[i] = make(chan error, 1)
		var events []approvals.Event
		for _, id := range ids {
			events = append(events, event(id))
		}
		go func() { results[i] <- l.Append(t.Context(), events...) }()
		if i == 0 {
			<-entered
			continue
		}
		for queued := 0; queued < i; runtime.Gosched() { // the order of the queue
			l.mu.Lock()
			queued = len(l.queue)
			l.mu.Unlock()
		}
	}
	close(goOn)
	for i, want := range []error{nil, nil, errLost, errLost} {
		if err := <-results[i]; !errors.Is(err, want) {
			t.Errorf("call %d: %v, want %v", i, err, want)
		}
	}
	l.Wait()
	wantIDs(t, m, "a", "b1", "b2", "c1")
}

// Another writer appends before each event of a group: each event is in the chain once, in
// the order of its group.
func TestAppendBetweenTheEventsOfAGroup(t *testing.T) {
	m := &memory{}
	other, n := newLog(m), 0
	m.between = func(int) (bool, bool) {
		between := m.between
		m.between = nil
		if n++; n%2 == 1 { // else no write would succeed
			if err := other.Append(t.Context(), event(fmt.Sprint("other", n))); err != nil {
				t.Error(err)
			}
			other.Wait()
		}
		m.between = between
		return false, false
	}
	if err := newLog(m).Append(t.Context(), event("1"), event("2"), event("3")); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, m, "other1", "1", "other3", "2", "other5", "3")
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

// An event is ensured though others are appended during each look for it.
func TestEnsureBesideAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		l := newLog(m)
		var others sync.WaitGroup
		looks := 0
		err := l.Ensure(t.Context(), event("ensured"), func(context.Context) (bool, error) {
			if looks++; looks > 10 {
				return false, errors.New("the log has grown during each look")
			}
			id := fmt.Sprint("other-", looks)
			others.Go(func() {
				if err := l.Append(t.Context(), event(id)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			return false, nil
		})
		if err != nil {
			t.Error(err)
		}
		others.Wait()
		if len(m.entries) != looks+1 {
			t.Errorf("%d entries after %d looks", len(m.entries), looks)
		}
	})
}
