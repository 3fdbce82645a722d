package app_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
)

// recordedChanges returns the events of a type in the log of a heldcall that has stopped.
func recordedChanges(t *testing.T, dir string, of approvals.EventType) []approvals.Event {
	t.Helper()
	s := openStore(t, dir)
	defer s.Close()
	var found []approvals.Event
	for entry, err := range s.Events.OfType(t.Context(), of, 1) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, entry.Event)
	}
	return found
}

// TestPolicyChangesAreRecorded: each content of a policy file that comes into force is in the
// audit log once.
func TestPolicyChangesAreRecorded(t *testing.T) {
	t.Parallel()
	var c app.Config
	w := build(t, askAll, callThenText, restarting(&c))
	sums := []string{sumOf(askAll)}
	write := func(content string) {
		t.Helper()
		next := c.Policy.File + ".next" // the file is read while it is written
		if err := errors.Join(os.WriteFile(next, []byte(content), 0o600), os.Rename(next, c.Policy.File)); err != nil {
			t.Fatal(err)
		}
	}
	write("default: nonsense\n") // is refused
	w.app.Reload()
	write(allowAll)
	sums = append(sums, sumOf(allowAll))
	for deadline := time.Now().Add(soon); !strings.Contains(w.get(w.app.ConsoleURL()+"/api/v1/audit"), sums[1]); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the reloaded policy is not in the audit log")
		}
	}
	again := func() {
		t.Helper()
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		w.start(c)
	}
	again()
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	write(denyAll)
	sums = append(sums, sumOf(denyAll))
	w.start(c)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(c.Policy.File); err != nil {
		t.Fatal(err)
	}
	c.Policy.FileNamed = false
	sums = append(sums, "")
	w.start(c)
	again()
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	var recorded []string
	for _, e := range recordedChanges(t, c.NATS.Dir, approvals.EventPolicyChanged) {
		if recorded = append(recorded, e.Policy.SHA256); e.Policy.File != "policy.yaml" {
			t.Errorf("the file is %s", e.Policy.File)
		}
	}
	if !slices.Equal(recorded, sums) {
		t.Errorf("recorded are %q, want %q", recorded, sums)
	}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestReviewerChangesAreRecorded: names and rights are in the audit log, tokens are not.
func TestReviewerChangesAreRecorded(t *testing.T) {
	t.Parallel()
	var c app.Config
	w := build(t, askAll, callThenText, restarting(&c))
	token := sumOf("token")
	ann := app.Reviewer{Name: "ann", Role: "reviewer", TokenSHA256: token}
	bob := app.Reviewer{Name: "bob", Role: "viewer", Groups: []string{"finance"}, TokenSHA256: sumOf("bob")}
	promoted := bob
	promoted.Role = "admin"
	for _, reviewers := range [][]app.Reviewer{nil, {ann}, {ann}, {ann, bob}, {ann, promoted}, nil, nil} {
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		c.Console.Reviewers = reviewers
		w.start(c)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	var recorded []string
	for _, e := range recordedChanges(t, c.NATS.Dir, approvals.EventReviewersChanged) {
		names := ""
		for _, r := range e.Reviewers {
			names += " " + r.Name + ":" + r.Role + ":" + strings.Join(r.Groups, ",")
		}
		recorded = append(recorded, names)
	}
	if want := []string{" ann:reviewer:", " ann:reviewer: bob:viewer:finance", " ann:reviewer: bob:admin:finance", ""}; !slices.Equal(recorded, want) {
		t.Errorf("recorded are %q, want %q", recorded, want)
	}
	for _, msg := range stored(t, c.NATS.Dir) {
		if strings.Contains(string(msg.Data), token) {
			t.Errorf("a token is in %s", msg.Data)
		}
	}
}

// TestExportIsAsHashed: what GET /api/v1/audit answers is a whole log, whatever is in it.
func TestExportIsAsHashed(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callThenText)
	approveOne(w)
	report, err := audit.Verifier{}.Verify(w.console.AuditEntries(t.Context(), 0, time.Time{}))
	if err != nil || report.Count < 4 {
		t.Errorf("%+v, %v", report, err)
	}
	if !strings.Contains(w.get(w.app.ConsoleURL()+"/api/v1/audit"), `a\u2028b\u2029c <`) {
		t.Error("the note is not in the log as it was hashed")
	}
}
