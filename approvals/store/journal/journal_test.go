package journal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
)

// stream is a log in memory that can refuse entries, and can return an error after it has stored the first half
// of them.
type stream struct {
	mu           sync.Mutex
	entries      []audit.Entry
	refuse       error
	errAfterHalf error
}

func (s *stream) set(refuse, errAfterHalf error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse, s.errAfterHalf = refuse, errAfterHalf
}

func (s *stream) Head(context.Context) (audit.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) == 0 {
		return audit.Head{}, nil
	}
	return headOf(s.entries[len(s.entries)-1]), nil
}

func (s *stream) AppendAfter(_ context.Context, seq uint64, entries []audit.Entry) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.refuse != nil:
		return 0, s.refuse
	case seq != uint64(len(s.entries)):
		return 0, audit.ErrMoved
	case s.errAfterHalf != nil:
		s.entries = append(s.entries, entries[:(len(entries)+1)/2]...)
		return 0, s.errAfterHalf
	}
	s.entries = append(s.entries, entries...)
	return len(entries), nil
}

func (s *stream) Entry(_ context.Context, seq uint64) (audit.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq == 0 || seq > uint64(len(s.entries)) {
		return audit.Entry{}, audit.ErrNoEntry
	}
	return s.entries[seq-1], nil
}

// ids verifies the chain and returns the ids of its events.
func (s *stream) ids(t *testing.T) (ids []string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := audit.Verify(func(yield func(audit.Entry, error) bool) {
		for _, entry := range s.entries {
			ids = append(ids, entry.Event.ID)
			if !yield(entry, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
	return ids
}

// crashed returns a stream with the first n entries of s.
func (s *stream) crashed(n int) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &stream{entries: s.entries[:n:n]}
}

func events(name string, n, size int) (all []approvals.Event) {
	for i := range n {
		all = append(all, approvals.Event{ID: fmt.Sprint(name, "-", i), Type: approvals.EventCallAllowed, Note: strings.Repeat("x", size)})
	}
	return all
}

func same(err error) error { return err }

func logOn(s audit.Stream) *audit.Log { return audit.NewLog(s, func() int { return 16 << 20 }) }

func open(t *testing.T, path string, s audit.Stream) *Journal {
	t.Helper()
	j, err := Open(t.Context(), path, s, Options{Report: same})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = j.Close(ctx) // again, or of a journal that has failed
	})
	return j
}

var errDown = errors.New("the stream is down")

// kill ends a journal without a last publication, as a crash does.
func (j *Journal) kill() {
	j.appending <- struct{}{}
	j.closed = true
	j.release()
	j.publisher.end()
}

// What was appended is in the stream after a crash, whatever the stream had of it. Groups are larger and
// smaller than the rest of the file, and larger than the file.
func TestCrash(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), FileName)
	s := &stream{}
	var want []string
	for round := range 24 {
		j := open(t, path, s)
		log := logOn(j)
		for n := range random.IntN(20) {
			size := 1 << random.IntN(16)
			if n == 0 && round%6 == 0 {
				size = fileSize / 3
			}
			group := events(fmt.Sprint(round, "-", n), 1+random.IntN(5), size)
			if err := log.Append(t.Context(), group...); err != nil {
				t.Fatal(err)
			}
			for _, e := range group {
				want = append(want, e.ID)
			}
			if random.IntN(8) == 0 {
				time.Sleep(publishInterval)
			}
		}
		if round%3 == 0 {
			j.kill()
		} else if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	open(t, path, s)
	if got := s.ids(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
}

// While the stream refuses entries, appends and reads fail with its error. Entries from before are
// published when it accepts them again, also if some were taken without an answer.
func TestStreamFails(t *testing.T) {
	for name, fail := range map[string]func(*stream){
		"refuses":          func(s *stream) { s.set(errDown, nil) },
		"fails after half": func(s *stream) { s.set(nil, errDown) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stream{}
				j := open(t, filepath.Join(t.TempDir(), FileName), s)
				log := logOn(j)
				fail(s)
				if err := log.Append(t.Context(), events("before", 99, 10)...); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if err := log.Append(t.Context(), events("while", 1, 10)...); !errors.Is(err, errDown) {
					t.Errorf("append: %v", err)
				}
				if err := j.Flush(t.Context()); !errors.Is(err, errDown) {
					t.Errorf("flush: %v", err)
				}
				if last, err := j.Entry(t.Context(), 99); err != nil || last.Event.ID != "before-98" {
					t.Errorf("read: %s, %v", last.Event.ID, err)
				}
				s.set(nil, nil) // the next append tries again
				if err := log.Append(t.Context(), events("after", 2, 10)...); err != nil {
					t.Error(err)
				}
				if err := j.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				if got := s.ids(t); len(got) != 101 || got[98] != "before-98" || got[99] != "after-0" {
					t.Errorf("the stream has %q", got)
				}
				if err := j.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The stream completes a publication that has failed, after the next one has begun.
func TestCompletedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{}
		s.set(errDown, nil)
		j := open(t, filepath.Join(t.TempDir(), FileName), s)
		log := logOn(j)
		if err := log.Append(t.Context(), events("a", 40, 10)...); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.entries = append(s.entries, j.Pending()...)
		s.set(nil, nil)
		if err := log.Append(t.Context(), events("b", 1, 10)...); err != nil {
			t.Error(err)
		}
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := s.ids(t); len(got) != 41 {
			t.Errorf("the stream has %q", got)
		}
	})
}

// An entry of somebody else in the stream ends the log: nothing is appended beside it.
func TestForeignEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{}
		j := open(t, filepath.Join(t.TempDir(), FileName), s)
		if err := logOn(s).Append(t.Context(), events("foreign", 1, 10)...); err != nil {
			t.Fatal(err)
		}
		log := logOn(j)
		if err := log.Append(t.Context(), events("own", 1, 10)...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * retryInterval)
		if err := log.Append(t.Context(), events("later", 1, 10)...); err == nil {
			t.Error("an entry is appended")
		}
		if got := s.ids(t); len(got) != 1 {
			t.Errorf("the stream has %q", got)
		}
	})
}

// An event that is appended again is in the log once.
func TestDuplicates(t *testing.T) {
	s := &stream{}
	j := open(t, filepath.Join(t.TempDir(), FileName), s)
	log := logOn(j)
	group := events("a", 4, 10)
	for _, part := range [][]approvals.Event{group[2:3], group, group[1:2], {group[0], group[0]}} {
		if err := log.Append(t.Context(), part...); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.ids(t)); got != "[a-2 a-0 a-1 a-3]" {
		t.Errorf("the stream has %s", got)
	}
}

// A start goes on if the stream has taken entries and has not answered.
func TestStartWithoutAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := &stream{}
	s.set(errDown, nil)
	j := open(t, path, s)
	if err := logOn(j).Append(t.Context(), events("a", 40, 100)...); err != nil {
		t.Fatal(err)
	}
	j.kill()
	s.set(nil, errDown)
	open(t, path, s)
	if got := s.ids(t); len(got) != 40 {
		t.Errorf("the stream has %q", got)
	}
}

// After the end nothing waits for entries that are not published.
func TestCloseWithoutTime(t *testing.T) {
	s := &stream{}
	s.set(errDown, nil)
	j := open(t, filepath.Join(t.TempDir(), FileName), s)
	if err := logOn(j).Append(t.Context(), events("a", 1, 10)...); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Close(ended); err == nil {
		t.Error("the entry is published")
	}
	if err := j.Flush(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("flush: %v", err)
	}
}

// After a write that has failed, later entries are durable.
func TestWriteFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := &stream{}
	j := open(t, path, s)
	log := logOn(j)
	if err := log.Append(t.Context(), events("before", 2, 10)...); err != nil {
		t.Fatal(err)
	}
	defer j.file.Close()
	unwritable, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	j.file = unwritable
	if err := log.Append(t.Context(), events("while", 2, 10)...); err == nil {
		t.Error("an append to a file that cannot be written succeeds")
	}
	if err := log.Append(t.Context(), events("after", 2, 10)...); err != nil {
		t.Fatal(err)
	}
	j.kill()
	open(t, path, s)
	if got := fmt.Sprint(s.ids(t)); got != "[before-0 before-1 after-0 after-1]" {
		t.Errorf("the stream has %s", got)
	}
}

// Many goroutines append: each group is in the stream in its order, once.
func TestConcurrentAppends(t *testing.T) {
	s := &stream{}
	j := open(t, filepath.Join(t.TempDir(), FileName), s)
	log := logOn(j)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for n := range 20 {
				if err := log.Append(t.Context(), events(fmt.Sprint(i, "-", n), 2, 3000)...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	ids := s.ids(t)
	if len(ids) != 32*20*2 {
		t.Errorf("%d entries", len(ids))
	}
	if err := log.Append(t.Context(), events("late", 1, 10)...); !errors.Is(err, errClosed) {
		t.Errorf("append after the end: %v", err)
	}
}
