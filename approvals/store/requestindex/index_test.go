package requestindex_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/requestindex"
)

var source = requestindex.Source{ID: "bucket", Last: 1 << 40}

func open(t *testing.T, path string, source requestindex.Source) *requestindex.Index {
	t.Helper()
	x, err := requestindex.Open(path, source, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func closed(t *testing.T, x *requestindex.Index) {
	t.Helper()
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

func search(t *testing.T, x *requestindex.Index, f approvals.Filter) (string, bool) {
	t.Helper()
	ids, more, err := x.Search(f)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(ids, " "), more
}

func TestCovered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	x := open(t, path, source)
	x.Put(&approvals.Request{ID: "01"}, 5, time.Now())
	x.Cover(5)
	x.Cover(4)
	closed(t, x)
	for name, tt := range map[string]struct {
		source  requestindex.Source
		covered uint64
	}{
		"the same":                     {source, 5},
		"its last revision is covered": {requestindex.Source{ID: "bucket", Last: 5}, 5},
		"it has lost revisions":        {requestindex.Source{ID: "bucket", Last: 4}, 0},
		"another bucket":               {requestindex.Source{ID: "other", Last: 9}, 0},
	} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), "index")
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			t.Fatal(err)
		}
		x := open(t, copied, tt.source)
		found, _ := search(t, x, approvals.Filter{Limit: 9})
		if got := x.Covered(); got != tt.covered || (found != "") != (tt.covered > 0) {
			t.Errorf("%s: covered up to %d, want %d; found %q", name, got, tt.covered, found)
		}
		closed(t, x)
	}
}

// A damaged file is made again, or all requests are found in it.
func TestDamagedFile(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "index"), time.Now()
	x := open(t, path, source)
	for i := range 2000 {
		x.Put(&approvals.Request{ID: fmt.Sprintf("%06d", i), Status: approvals.StatusApproved, RunID: "run"}, uint64(i+1), now)
	}
	x.Cover(2000)
	closed(t, x)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	damaged := map[string][]byte{"empty": {}, "no index": []byte(strings.Repeat("no index ", page)), "cut": content[:len(content)/2/page*page]}
	for at := 2 * page; at < len(content); at += 7 * page {
		bytes := slices.Clone(content)
		copy(bytes[at:], make([]byte, page))
		damaged[fmt.Sprintf("page %d is empty", at/page)] = bytes
	}
	for name, content := range damaged {
		copied := filepath.Join(t.TempDir(), "index")
		if err := os.WriteFile(copied, content, 0o600); err != nil {
			t.Fatal(err)
		}
		x := open(t, copied, source)
		if x.Covered() == 0 {
			closed(t, x)
			continue
		}
		// The page was not in use.
		seen, f := 0, approvals.Filter{RunID: "run", Limit: 500}
		for more := true; more; {
			var ids []string
			if ids, more, err = x.Search(f); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			seen += len(ids)
			f.Cursor = ids[max(0, len(ids)-1)]
		}
		if seen != 2000 {
			t.Errorf("%s: %d requests are found", name, seen)
		}
		if found, _ := search(t, x, approvals.Filter{Text: "001234", Limit: 1}); found != "001234" {
			t.Errorf("%s: a search by words finds %q", name, found)
		}
		closed(t, x)
	}
}

func TestExpire(t *testing.T) {
	now := time.Now()
	x := open(t, filepath.Join(t.TempDir(), "index"), source)
	defer closed(t, x)
	revision := uint64(0)
	put := func(created, written time.Duration) string {
		id := ulid.MustNew(ulid.Timestamp(now.Add(-created)), ulid.DefaultEntropy()).String()
		revision++
		x.Put(&approvals.Request{ID: id, Status: approvals.StatusApproved}, revision, now.Add(-written))
		return id
	}
	for range 2500 {
		put(3*time.Hour, 2*time.Hour)
	}
	kept := put(150*time.Minute, 2*time.Hour) // the bucket has it although it is old: the clock is wrong
	decidedLate, fresh := put(2*time.Hour, time.Minute), put(time.Minute, time.Minute)
	if err := x.Expire(now.Add(-time.Hour), 2501); err != nil {
		t.Fatal(err)
	}
	if got, _ := search(t, x, approvals.Filter{Limit: 9}); got != fresh+" "+decidedLate+" "+kept {
		t.Errorf("left are %q", got)
	}
}

func TestScratch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	x, err := requestindex.OpenScratch(dir, source, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 { // the file grows
		x.Put(&approvals.Request{ID: fmt.Sprintf("%06d", i), RunID: "run"}, uint64(i+1), time.Now())
	}
	if got, _ := search(t, x, approvals.Filter{Limit: 1, RunID: "run"}); got != "009999" {
		t.Errorf("found %q", got)
	}
	closed(t, x)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// The memory of the index does not grow with the requests.
func TestMemory(t *testing.T) {
	const requests = 10_000
	x := open(t, filepath.Join(t.TempDir(), "index"), source)
	defer closed(t, x)
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			r := &approvals.Request{ID: fmt.Sprintf("%026d", i), Status: approvals.StatusApproved, RunID: fmt.Sprint("run-", i/10), SessionID: fmt.Sprint("session-", i/50)}
			x.Put(r, uint64(i+1), time.Now())
			x.CloseRequest(r.ID, uint64(i+1))
		}
		if err := x.Expire(time.Unix(0, 0), 0); err != nil { // it writes the changes
			t.Fatal(err)
		}
	}
	fill(0, 1000)
	before := heap()
	fill(1000, requests)
	if grown := heap() - before; grown > requests*20 {
		t.Errorf("%d requests use %d bytes of memory", requests, grown)
	}
}

func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // the second empties the pools
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// An index that has a revision which its bucket has lost is made again: it would hide the revision
// that the bucket has, and the later ones with numbers up to the lost one.
func TestLostRevision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	x := open(t, path, source)
	x.Put(&approvals.Request{ID: "01", Status: approvals.StatusPending}, 50, time.Now())
	x.Cover(50)
	x.Put(&approvals.Request{ID: "01", Status: approvals.StatusApproved}, 100, time.Now()) // written here, and not read from the bucket yet
	closed(t, x)
	x = open(t, path, requestindex.Source{ID: source.ID, Last: 60})
	defer closed(t, x)
	if found, _ := search(t, x, approvals.Filter{Limit: 9}); x.Covered() != 0 || found != "" {
		t.Errorf("covered up to %d, found %q", x.Covered(), found)
	}
}

// A bit that flips in the file does not hide a request.
func TestFlippedBits(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "index"), time.Now()
	x := open(t, path, source)
	for i := range 40 {
		x.Put(&approvals.Request{ID: fmt.Sprintf("ID%04d", i), Status: approvals.StatusPending, RunID: "the-run"}, uint64(i+1), now)
	}
	x.Cover(40)
	closed(t, x)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "index")
	for _, text := range []string{"ID0007", "pending", "the-run"} {
		for at, n := 0, 0; n < 100; n++ {
			next := bytes.Index(content[at:], []byte(text))
			if next < 0 {
				break
			}
			at += next + len(text)
			flipped := slices.Clone(content)
			flipped[at-1] ^= 8
			if err := os.WriteFile(copied, flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			x := open(t, copied, source)
			for _, f := range []approvals.Filter{{Limit: 50}, {Limit: 50, Status: approvals.StatusPending}, {Limit: 50, RunID: "the-run"}} {
				found, _, err := x.Search(f)
				if x.Covered() > 0 && (err != nil || len(found) != 40 || found[32] != "ID0007") {
					t.Errorf("a bit of %q at %d hides a request: %+v finds %d, %v", text, at, f, len(found), err)
				}
			}
			closed(t, x)
		}
	}
}

// A part of the file that cannot be read is an error, and not the end of the process.
func TestFileIsCutWhileItIsOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	x := open(t, path, source)
	for i := range 5000 {
		x.Put(&approvals.Request{ID: fmt.Sprintf("%06d", i), Status: approvals.StatusPending}, uint64(i+1), time.Now())
	}
	closed(t, x)
	x = open(t, path, source)
	if err := os.Truncate(path, int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	if _, _, err := x.Search(approvals.Filter{Limit: 9}); !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Errorf("the search has the error %v", err)
	}
	if !x.Put(&approvals.Request{ID: "1"}, 1, time.Now()) {
		t.Error("a new request is not indexed")
	}
	_ = x.Close() // the changes cannot be written
}
