package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/heldcall/heldcall/approvals/audit"
)

// A file that does not continue the stream is refused, unless its entries are dropped.
func TestGap(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := &stream{}
	if err := logOn(s).Append(t.Context(), events("a", 3, 10)...); err != nil {
		t.Fatal(err)
	}
	j := open(t, path, s)
	if err := logOn(j).Append(t.Context(), events("b", 3, 10)...); err != nil {
		t.Fatal(err)
	}
	j.kill()
	other := &stream{}
	if err := logOn(other).Append(t.Context(), events("c", 3, 10)...); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*stream{"lost its end": s.crashed(2), "is another": other} {
		t.Run(name, func(t *testing.T) {
			n := len(s.ids(t))
			var lost *GapError
			if _, err := Open(t.Context(), path, s, Options{Report: same}); !errors.As(err, &lost) || lost.Next != max(4, uint64(n)+1) {
				t.Fatalf("error %v", err)
			}
			copied := filepath.Join(t.TempDir(), FileName)
			content, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(copied, content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			j, err := Open(t.Context(), copied, s, Options{Report: same, DropGap: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := logOn(j).Append(t.Context(), events("d", 1, 10)...); err != nil {
				t.Error(err)
			}
			if err := j.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if got := s.ids(t); len(got) != n+1 {
				t.Errorf("the stream has %q", got)
			}
			if j, err = Open(t.Context(), copied, s, Options{Report: same}); err != nil {
				t.Fatal("after an orderly stop: ", err)
			}
			if err := j.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A stream that has other entries in the place of those of the file is refused, though it is longer.
func TestGap_StreamIsLonger(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := &stream{}
	s.set(errDown, nil)
	j := open(t, path, s)
	if err := logOn(j).Append(t.Context(), events("own", 2, 100)...); err != nil {
		t.Fatal(err)
	}
	j.kill()
	s.set(nil, nil)
	if err := logOn(s).Append(t.Context(), events("foreign", 3, 100)...); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, s, Options{Report: same}); !errors.As(err, new(*GapError)) {
		t.Errorf("error %v", err)
	}
}

// A record that is intact and is not an event is a gap, if the stream does not have its entry. The entries
// before it are published.
func TestGap_Unreadable(t *testing.T) {
	whole := &stream{}
	if err := logOn(whole).Append(t.Context(), events("a", 3, 10)...); err != nil {
		t.Fatal(err)
	}
	var records []byte
	for _, entry := range whole.entries[1:] {
		records = appendRecord(records, entry)
	}
	records = appendRecord(records, audit.Entry{Seq: 4, Data: []byte("[]")})
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, append(records, make([]byte, 100)...), 0o600); err != nil {
		t.Fatal(err)
	}
	s := whole.crashed(1)
	var gap *GapError
	if _, err := Open(t.Context(), path, s, Options{Report: same}); !errors.As(err, &gap) || *gap != (GapError{3, 4}) {
		t.Errorf("error %v", err)
	}
	if got := s.ids(t); len(got) != 3 {
		t.Errorf("the stream has %q", got)
	}
	if err := logOn(s).Append(t.Context(), events("b", 1, 10)...); err != nil {
		t.Fatal(err)
	}
	open(t, path, s) // it has an entry 4 now
}
