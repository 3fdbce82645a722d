package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A write that a crash has interrupted leaves the entries before it.
func TestUnfinishedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := &stream{}
	s.set(errDown, nil)
	j := open(t, path, s)
	log := logOn(j)
	if err := log.Append(t.Context(), events("a", 3, 100)...); err != nil {
		t.Fatal(err)
	}
	j.kill()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if whole, _ := parse(content); len(whole) != 3 {
		t.Fatalf("the file has %d entries", len(whole))
	}
	for at := range j.end {
		for what, damaged := range map[string][]byte{
			"cut":     content[:at],
			"zeros":   append(append([]byte(nil), content[:at]...), make([]byte, 1000)...),
			"changed": append(append(append([]byte(nil), content[:at]...), content[at]^1), content[at+1:j.end]...),
		} {
			whole, _ := parse(damaged)
			for i, entry := range whole {
				if entry.Event.ID != fmt.Sprint("a-", i) {
					t.Fatalf("%s at %d: entry %d is %s", what, at, i, entry.Event.ID)
				}
			}
			if len(whole) == 3 {
				t.Fatalf("%s at %d: all entries", what, at)
			}
		}
	}
}

// FuzzParse parses files of any content: the entries are a chain, and their records are those of the file.
func FuzzParse(f *testing.F) {
	s := &stream{}
	if err := logOn(s).Append(f.Context(), events("a", 3, 10)...); err != nil {
		f.Fatal(err)
	}
	var records []byte
	for _, entry := range s.entries {
		records = appendRecord(records, entry)
	}
	f.Add(records)
	f.Add(append(records, make([]byte, 100)...))
	f.Add(records[:len(records)-1])
	f.Fuzz(func(t *testing.T, content []byte) {
		entries, _ := parse(content)
		var again []byte
		for i, entry := range entries {
			if i > 0 && !follows(entry, headOf(entries[i-1])) {
				t.Errorf("entry %d does not follow", i)
			}
			again = appendRecord(again, entry)
		}
		if string(again) != string(content[:len(again)]) {
			t.Error("the records differ")
		}
	})
}
