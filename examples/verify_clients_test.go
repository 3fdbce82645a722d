//go:build clients

package examples_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store"
)

// exportLog returns an exported log with two checkpoints and its key.
func exportLog(t *testing.T) (lines [][]byte, key string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := t.TempDir()
	keeper, err := audit.OpenKeeper(audit.Options{Log: s.Events, Dir: dir, Every: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		e := approvals.Event{ID: fmt.Sprint(i), Type: approvals.EventCallReleased, Note: "a\u2028b\xff</b>", Before: []byte("{\"a\":\"\\u2028\u2028\",\"a\": 1e400}")}
		if err := s.Events.AppendEvents(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if i%4 == 3 {
			if err := keeper.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for entry, err := range s.Events.Entries(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, entry.Data)
	}
	opened, err := audit.OpenKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	return lines, opened.Public()
}

// rewritten returns the entries as a log of their own, with a new chain of hashes.
func rewritten(entries [][]byte) (log [][]byte) {
	before := ""
	for i, entry := range entries {
		body := fmt.Appendf(bytes.Clone(entry[:bytes.LastIndex(entry, []byte(`,"seq":`))]), `,"seq":%d,"prev_hash":"%s"`, i+1, before)
		before = fmt.Sprintf("%x", sha256.Sum256(body))
		log = append(log, fmt.Appendf(body, `,"hash":"%s"}`, before))
	}
	return log
}

// The verifier in Python agrees with heldcall's own on whole and on changed logs.
func TestVerifierPython(t *testing.T) {
	lines, key := exportLog(t)
	_, other := exportLog(t)
	for name, c := range map[string]struct {
		keys   []string
		change func([][]byte) [][]byte
		bad    string // "": it is whole
	}{
		"whole":     {[]string{key}, func(l [][]byte) [][]byte { return l }, ""},
		"any key":   {nil, func(l [][]byte) [][]byte { return l }, ""},
		"other key": {[]string{other}, func(l [][]byte) [][]byte { return l }, "entry 5 has a bad signature"},
		"changed":   {nil, func(l [][]byte) [][]byte { l[2] = bytes.Replace(l[2], []byte("1e400"), []byte("1e401"), 1); return l }, "entry 3 is bad"},
		"reordered": {nil, func(l [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }, "entry 3 is bad"},
		"removed":   {nil, func(l [][]byte) [][]byte { return append(l[:2:2], l[3:]...) }, "entry 3 is bad"},
		"inserted":  {nil, func(l [][]byte) [][]byte { return append(l[:2:2], l[1:]...) }, "entry 3 is bad"},
		"start cut": {nil, func(l [][]byte) [][]byte { return l[1:] }, "entry 2 is not the first of the log"},
		"rewritten": {nil, func(l [][]byte) [][]byte { return rewritten(l[1:]) }, "entry 4 is a checkpoint of no entry before it"},
		"not a log": {nil, func([][]byte) [][]byte { return [][]byte{[]byte("x")} }, "entry 1 is bad"},
	} {
		log := append(bytes.Join(c.change(append([][]byte{}, lines...)), []byte("\n")), '\n')
		file := filepath.Join(t.TempDir(), "audit.jsonl")
		if err := os.WriteFile(file, log, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("python3", append([]string{filepath.Join("verify-audit", "verify.py"), file}, c.keys...)...).CombinedOutput()
		if (err == nil) != (c.bad == "") || strings.TrimSpace(string(out)) != c.bad {
			t.Errorf("%s: the verifier in Python reports %q (%v), want %q", name, out, err, c.bad)
		}
		_, err = audit.Verifier{Keys: c.keys}.Verify(audit.ReadExport(bytes.NewReader(log)))
		if (err == nil) != (c.bad == "") {
			t.Errorf("%s: heldcall reports %v, want %q", name, err, c.bad)
		}
	}
}

// The verifier is short enough to be read.
func TestVerifierIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("verify-audit", "verify.py"))
	if n := bytes.Count(text, []byte("\n")); err != nil || n > 60 {
		t.Errorf("it has %d lines (%v)", n, err)
	}
}
