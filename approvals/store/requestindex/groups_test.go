package requestindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/heldcall/heldcall/approvals"
)

var groupsSource = Source{ID: "requests", Last: 1 << 40}

func openFilled(tb testing.TB, path string, requests int) *Index {
	tb.Helper()
	x, err := Open(path, groupsSource, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	for i := range requests {
		id := fmt.Sprintf("01KAXW%020d", i)
		r := &approvals.Request{
			ID: id, Status: approvals.StatusApproved, RunID: fmt.Sprintf("run-%d", i/10), SessionID: fmt.Sprintf("session-%d", i/50), ToolName: "bash",
			Arguments: fmt.Appendf(nil, `{"command":"make deploy-%d. && make check","cwd":"/srv/app"}`, i),
			Context:   approvals.Context{LastUserMessage: "Deploy the application and check it."},
		}
		x.Put(r, uint64(i+1), time.Unix(1, 0))
		x.CloseRequest(id, uint64(i+1))
	}
	x.Cover(uint64(requests))
	return x
}

// An index whose groups exclude a request is made again.
func TestDamagedGroups(t *testing.T) {
	for name, damage := range map[string]func(groups *bolt.Bucket, key, value []byte) error{
		"none":    func(*bolt.Bucket, []byte, []byte) error { return nil },
		"removed": func(groups *bolt.Bucket, key, _ []byte) error { return groups.Delete(key) },
		"cut":     func(groups *bolt.Bucket, key, value []byte) error { return groups.Put(key, value[:100]) },
		"a bit":   func(groups *bolt.Bucket, key, value []byte) error { value[70] ^= 4; return groups.Put(key, value) },
		"without a request": func(groups *bolt.Bucket, key, value []byte) error {
			g, err := parseGroup(value)
			g.texts = g.texts[1:]
			return errors.Join(err, groups.Put(key, g.encode()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "index")
			if err := openFilled(t, path, 300).Close(); err != nil {
				t.Fatal(err)
			}
			db, err := bolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(func(tx *bolt.Tx) error {
				groups := tx.Bucket(bucketGroups)
				if n := groups.Stats().KeyN; n < 3 {
					t.Errorf("there are %d groups", n)
				}
				key, value := groups.Cursor().First()
				return damage(groups, key, append([]byte{}, value...))
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			x, err := Open(path, groupsSource, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = x.Close() }()
			if whole := x.Covered() == 300; whole != (name == "none") {
				t.Errorf("the index covers %d", x.Covered())
			}
		})
	}
}

// A stored group is read as it was, and one that is damaged is an error.
func FuzzStoredGroup(f *testing.F) {
	f.Add("01KAXW", "make deploy", "01KAXX", "", []byte{}, 0, byte(0))
	f.Add("a", "x", "b", "y", []byte{2, 0, 1, 'b', 0}, 9, byte(1))
	f.Fuzz(func(t *testing.T, id, text, otherID, otherText string, tail []byte, at int, change byte) {
		g := (&group{}).with(id, text).with(otherID, otherText).with(id, text)
		b := g.encode()
		got, err := parseGroup(b)
		if err != nil || !bytes.Equal(got.filter, g.filter) || !slices.Equal(got.texts, g.texts) {
			t.Fatalf("read %+v, %v; want %+v", got.texts, err, g.texts)
		}
		b[uint(at)%uint(len(b))] ^= change
		if _, err := parseGroup(b); (err == nil) != (change == 0) {
			t.Fatalf("changed by %d at %d: %v", change, at, err)
		}
		b = append(b[:crc32.Size+approvals.SearchFilterBytes], tail...) // with a right checksum
		binary.BigEndian.PutUint32(b, crc32.Checksum(b[crc32.Size:], checksums))
		_, _ = parseGroup(b)
	})
}

// Groups stay small in whatever order requests are put.
func TestGroupsAreSplit(t *testing.T) {
	const requests = 500
	for name, place := range map[string]func(i int) int{
		"ascending": func(i int) int { return i }, "descending": func(i int) int { return requests - i },
		"older ones after a newer one": func(i int) int { return (i + requests - 1) % requests }, "mixed": func(i int) int { return i * 177 % requests },
	} {
		x, err := Open(filepath.Join(t.TempDir(), "index"), groupsSource, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for i := range requests {
			x.Put(&approvals.Request{ID: fmt.Sprintf("%026d", place(i)), ToolName: "bash"}, uint64(i+1), time.Unix(1, 0))
		}
		if err := x.flush(); err != nil {
			t.Fatal(err)
		}
		err = x.view(func(tx *bolt.Tx) error {
			groups, inAll := 0, 0
			err := tx.Bucket(bucketGroups).ForEach(func(key, value []byte) error {
				ids, _, err := storedIDs(value)
				if groups, inAll = groups+1, inAll+len(ids); len(ids) > groupRequests {
					t.Errorf("%s: a group of %d", name, len(ids))
				}
				return err
			})
			if most := 3 * requests / groupRequests; inAll != requests || groups > most {
				t.Errorf("%s: %d requests in %d groups, want at most %d", name, inAll, groups, most)
			}
			return err
		})
		if err := errors.Join(err, x.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// The groups of requests that are gone are removed.
func TestGroupsAreRemoved(t *testing.T) {
	x := openFilled(t, filepath.Join(t.TempDir(), "index"), 3000)
	defer func() { _ = x.Close() }()
	for i := range 2990 {
		x.Remove(fmt.Sprintf("01KAXW%020d", i))
	}
	if err := x.Expire(time.Unix(0, 0), 0); err != nil {
		t.Fatal(err)
	}
	err := x.view(func(tx *bolt.Tx) error {
		if n := tx.Bucket(bucketGroups).Stats().KeyN; n > 2 {
			t.Errorf("%d groups are left", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found, _, err := x.Search(approvals.Filter{Text: "deploy-2995.", Limit: 9}); err != nil || len(found) == 0 {
		t.Errorf("found %v, %v", found, err)
	}
}

func BenchmarkSearch(b *testing.B) {
	x := openFilled(b, filepath.Join(b.TempDir(), "index"), 100_000)
	defer func() { _ = x.Close() }()
	if err := x.flush(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if found, _, err := x.Search(approvals.Filter{Text: "deploy-12345.", Limit: 50}); err != nil || len(found) == 0 {
			b.Fatal(found, err)
		}
	}
}
