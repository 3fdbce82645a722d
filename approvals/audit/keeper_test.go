package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// kept is a log in memory from which old entries can be removed.
type kept struct {
	*memory
	log  *Log
	gone uint64 // entries removed at the start
	drop uint64 // entries that the next DropBefore removes
}

func newKept() *kept { m := &memory{}; return &kept{memory: m, log: newLog(m)} }

func (k *kept) First(ctx context.Context) (Head, error) {
	entry, err := k.Entry(ctx, k.gone+1)
	if errors.Is(err, ErrNoEntry) {
		return Head{}, nil
	}
	return Head{Seq: entry.Seq, Hash: entry.Event.Hash}, err
}

func (k *kept) Entry(ctx context.Context, seq uint64) (Entry, error) {
	if seq <= k.gone {
		return Entry{}, ErrNoEntry
	}
	return k.memory.Entry(ctx, seq)
}

func (k *kept) Entries(_ context.Context, from uint64) iter.Seq2[Entry, error] {
	return each(k.entries[max(k.gone, max(from, 1)-1):])
}

func (k *kept) Changes(ctx context.Context, t approvals.EventType) (changes []Entry, err error) {
	for entry := range k.OfType(ctx, t, 1) {
		changes = append(changes, entry)
	}
	return changes, nil
}

func (k *kept) OfType(ctx context.Context, t approvals.EventType, from uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for entry := range k.Entries(ctx, from) {
			if entry.Event.Type == t && !yield(entry, nil) {
				return
			}
		}
	}
}

func (k *kept) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	return k.log.Append(ctx, events...)
}

func (k *kept) DropBefore(ctx context.Context, _ time.Time, declare func(context.Context, Head) error) error {
	first := k.entries[k.drop]
	if err := declare(ctx, Head{Seq: first.Seq, Hash: first.Event.Hash}); err != nil {
		return err
	}
	k.gone = k.drop
	return nil
}

func (k *kept) append(t *testing.T, n int) {
	t.Helper()
	for range n {
		if err := k.AppendEvents(t.Context(), event(fmt.Sprint("e", len(k.entries)))); err != nil {
			t.Fatal(err)
		}
	}
}

func (k *kept) keeper(t *testing.T, dir string, shared bool) *Keeper {
	t.Helper()
	keeper, err := OpenKeeper(Options{Log: k, Dir: dir, Every: time.Minute, Shared: shared, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return keeper
}

func checkpoint(t *testing.T, keepers ...*Keeper) {
	t.Helper()
	for _, k := range keepers {
		if err := k.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeyIsMadeOnceForItsOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	if _, err := OpenKey(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key that is not there: %v", err)
	}
	first, err := CreateKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := CreateKey(dir)
	info, statErr := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || statErr != nil || first.Public() != again.Public() || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, %s, %s, %s", err, statErr, first.Public(), again.Public(), info.Mode())
	}
	if err := os.WriteFile(filepath.Join(dir, keyFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateKey(dir); err == nil {
		t.Error("a damaged key was replaced")
	}
}

func TestCheckpointsAreOfNewEventsOnly(t *testing.T) {
	k := newKept()
	one, two := k.keeper(t, t.TempDir(), true), k.keeper(t, t.TempDir(), true)
	checkpoint(t, one)
	if len(k.entries) != 0 {
		t.Fatal("an empty log was signed")
	}
	k.append(t, 3)
	for range 3 {
		checkpoint(t, one, two)
	}
	if len(k.entries) != 5 {
		t.Fatalf("%d entries, want 3 and a checkpoint of each replica", len(k.entries))
	}
	k.append(t, 1)
	checkpoint(t, two)
	report, err := Verifier{Keys: []string{one.key.Public(), two.key.Public()}}.Verify(k.Entries(t.Context(), 1))
	if err != nil || report.Checkpoints != 3 || report.Signed != 6 || len(report.Signers) != 2 || report.Count != 7 {
		t.Errorf("%+v, %v", report, err)
	}
	var broken *BrokenError
	if _, err := (Verifier{Keys: []string{one.key.Public()}}).Verify(k.Entries(t.Context(), 1)); !errors.As(err, &broken) || broken.Seq != 5 {
		t.Errorf("with the key of one of them: %v", err)
	}
}

// TestKeeperFindsTamperingWhileItRuns: it does not sign a log that was changed since its last
// checkpoint.
func TestKeeperFindsTamperingWhileItRuns(t *testing.T) {
	for name, tamper := range map[string]func(k *kept){
		"cut":       func(k *kept) { k.entries = k.entries[:2] },
		"rewritten": func(k *kept) { k.entries[2], _ = seal(event("x"), Head{2, k.entries[1].Event.Hash}) },
	} {
		k := newKept()
		keeper := k.keeper(t, t.TempDir(), false)
		k.append(t, 3)
		checkpoint(t, keeper)
		tamper(k)
		k.log = newLog(k.memory)
		var broken *BrokenError
		if err := keeper.Checkpoint(t.Context()); !errors.As(err, &broken) || broken.Seq != 3 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRetentionIsStated: a log whose start retention has removed is whole, one whose start
// somebody else has removed is not.
func TestRetentionIsStated(t *testing.T) {
	k, dir, other := newKept(), t.TempDir(), t.TempDir()
	one, two := k.keeper(t, dir, true), k.keeper(t, other, true)
	k.append(t, 5)
	checkpoint(t, one, two)
	k.drop = 3
	one.retain(t.Context())
	k.append(t, 1)
	checkpoint(t, two)
	verify := func(what string, bad uint64, v Verifier) {
		t.Helper()
		var broken *BrokenError
		_, err := v.Verify(k.Entries(t.Context(), 1))
		if (bad == 0) != (err == nil) || (bad > 0 && (!errors.As(err, &broken) || broken.Seq != bad)) {
			t.Errorf("%s: %v, want entry %d", what, err, bad)
		}
	}
	verify("after retention", 0, Verifier{})
	verify("of a key that is not trusted", 4, Verifier{KeptKeys: []string{"x"}})
	for what, dir := range map[string]string{"the replica that removed them": dir, "another replica": other, "a new replica": t.TempDir()} {
		if err := k.keeper(t, dir, true).Verify(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	k.gone = 4
	verify("after one more was removed", 5, Verifier{})
	for what, dir := range map[string]string{"the replica that removed them": dir, "another replica": other, "a new replica": t.TempDir()} {
		var broken *BrokenError
		if err := k.keeper(t, dir, true).Verify(t.Context()); !errors.As(err, &broken) || broken.Seq != 5 {
			t.Errorf("%s, after one more was removed: %v", what, err)
		}
	}
}

// TestLongLogIsVerifiedInBoundedTime: at the start the newest entries are verified, and where
// the log begins.
func TestLongLogIsVerifiedInBoundedTime(t *testing.T) {
	k, dir := newKept(), t.TempDir()
	keeper := k.keeper(t, dir, false)
	head := Head{}
	for i := range verifiedAtStart + 100 {
		entry, err := seal(event(fmt.Sprint(i)), head)
		if err != nil {
			t.Fatal(err)
		}
		k.entries = append(k.entries, entry)
		head = Head{entry.Seq, entry.Event.Hash}
	}
	checkpoint(t, keeper)
	read := &counted{kept: k}
	again := k.keeper(t, dir, false)
	again.Log = read
	if err := again.Verify(t.Context()); err != nil || read.n != verifiedAtStart+2 {
		t.Errorf("%d entries are read, %v", read.n, err)
	}
	k.gone = 50
	var broken *BrokenError
	if err := again.Verify(t.Context()); !errors.As(err, &broken) || broken.Seq != 51 {
		t.Errorf("with a cut start: %v", err)
	}
	k.drop = 60
	again.retain(t.Context())
	for what, dir := range map[string]string{"the replica": dir, "a new one": t.TempDir()} {
		read.n = 0
		after := k.keeper(t, dir, true)
		after.Log = read
		if err := after.Verify(t.Context()); err != nil || read.n > verifiedAtStart+3 {
			t.Errorf("after retention %s reads %d entries, %v", what, read.n, err)
		}
	}
	k.gone = 70
	if err := k.keeper(t, t.TempDir(), true).Verify(t.Context()); !errors.As(err, &broken) || broken.Seq != 71 {
		t.Errorf("with a cut start, a new replica: %v", err)
	}
}

type counted struct {
	*kept
	n int
}

func (c *counted) Entries(ctx context.Context, from uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for entry, err := range c.kept.Entries(ctx, from) {
			if c.n++; !yield(entry, err) {
				return
			}
		}
	}
}

func TestLastCheckpointFileMustBeOwn(t *testing.T) {
	k, dir := newKept(), t.TempDir()
	keeper := k.keeper(t, dir, false)
	k.append(t, 2)
	checkpoint(t, keeper)
	file := filepath.Join(dir, checkpointFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range []string{strings.Replace(string(text), `"seq":2`, `"seq":1`, 1), "", "{}", "x"} {
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		err := k.keeper(t, dir, false).Verify(t.Context())
		if !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), checkpointFile) {
			t.Errorf("%q: %v", changed, err)
		}
	}
	accepted := k.keeper(t, dir, false)
	if err := accepted.AcceptLoss(t.Context(), accepted.Verify(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := k.keeper(t, dir, false).Verify(t.Context()); err != nil {
		t.Errorf("after the loss was accepted: %v", err)
	}
}

// exported is a log as a file.
func exported(entries []Entry) []byte {
	var out bytes.Buffer
	for _, e := range entries {
		out.Write(append(bytes.Clone(e.Data), '\n'))
	}
	return out.Bytes()
}

// FuzzReadExport: if a changed export is accepted, its entries up to the last one that was
// signed are those that were signed.
func FuzzReadExport(f *testing.F) {
	k := newKept()
	key, err := CreateKey(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	keeper := &Keeper{Options: Options{Log: k, Dir: f.TempDir(), Logger: slog.New(slog.DiscardHandler), Now: time.Now}, key: key, kept: Head{Seq: 1}}
	for i := range 6 {
		if err := k.AppendEvents(f.Context(), event(fmt.Sprint(i))); err != nil {
			f.Fatal(err)
		}
		if i%3 == 2 {
			if err := keeper.Checkpoint(f.Context()); err != nil {
				f.Fatal(err)
			}
		}
	}
	whole := exported(k.entries)
	f.Add(0, 0, []byte(nil))
	f.Add(300, 1, []byte("x"))
	f.Add(len(whole)-1, 1, []byte(nil))
	f.Add(0, len(whole), []byte("{}\n"))
	f.Add(0, len(k.entries[0].Data)+1, []byte(nil))
	f.Add(0, len(whole), []byte(`,"seq":9223372036854775809,"prev_hash":"","hash":"x"}`))
	f.Fuzz(func(t *testing.T, at, remove int, insert []byte) {
		at = min(max(at, 0), len(whole))
		remove = min(max(remove, 0), len(whole)-at)
		changed := append(append(bytes.Clone(whole[:at]), insert...), whole[at+remove:]...)
		_, _ = ReadCheckpoints(bytes.NewReader(changed))
		var read []Entry
		report, err := Verifier{Keys: []string{key.Public()}}.Verify(func(yield func(Entry, error) bool) {
			for entry, err := range ReadExport(bytes.NewReader(changed)) {
				read = append(read, entry)
				if !yield(entry, err) {
					return
				}
			}
		})
		if err != nil {
			return
		}
		for i := range report.Signed {
			if !bytes.Equal(read[i].Data, k.entries[i].Data) {
				t.Errorf("entry %d is %q, and a checkpoint of entry %d was accepted", i+1, read[i].Data, report.Signed)
			}
		}
	})
}
