package requestindex

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// A query selects a stored entry if it selects the entry that is read of it, and refuses what cannot be read.
func FuzzStoredEntry(f *testing.F) {
	f.Add("run-1", "bash", "run-1", "", "bas", "", 9, byte(0))
	f.Add("run-1", "bash", "", "denied", "x", "", 0, byte(7))
	f.Add("run-1", "bash", "run-1", "", "bas", "run-1", 0, byte(0))
	f.Fuzz(func(t *testing.T, run, tool, wantRun, wantStatus, text, wantTenant string, at int, change byte) {
		r := approvals.Request{ID: "01M828KGBK7FPM9QX4Q0E7N6ZZ", RunID: run, ToolName: tool, Status: approvals.StatusPending, Principal: approvals.Principal{Tenant: run}}
		stored := entryOf(&r, 7, time.Unix(1, 0)).encode()
		stored[uint(at)%uint(len(stored))] ^= change
		q := newQuery(&approvals.Filter{RunID: wantRun, Status: approvals.Status(wantStatus), Text: text})
		if wantTenant != "" {
			q.tenants = approvals.TenantScope{"acme", wantTenant}
		}
		selected, err := q.selectsStored(stored)
		e, parseErr := parseEntry(stored)
		if parseErr != nil {
			if err == nil && selected {
				t.Fatalf("selected an entry that cannot be read: %v", parseErr)
			}
			return
		}
		if err != nil || selected != q.selects(e) {
			t.Fatalf("the stored entry is selected: %v, %v; the entry: %v", selected, err, q.selects(e))
		}
		if change == 0 && (q.selects(e) != q.selects(entryOf(&r, 7, time.Unix(1, 0)))) {
			t.Fatal("the entry that is read is not the one that was stored")
		}
	})
}

// A new file covers nothing, also after one that was read and could not be opened again.
func TestNewFileCoversNothing(t *testing.T) {
	x := &Index{covered: 7, written: 7}
	if err := x.open(filepath.Join(t.TempDir(), "index"), Source{ID: "requests", Last: 9}); err != nil {
		t.Fatal(err)
	}
	if err := x.db.Close(); err != nil || x.Covered() != 0 {
		t.Errorf("a new file covers %d, %v", x.Covered(), err)
	}
}
