package store_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/store"
)

// holdUntilKilled opens three holds, decides one, stores a hidden turn, prints the requests on
// standard output and waits to be killed.
func holdUntilKilled(t *testing.T, dir string) {
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Listen: "-"})
	check(err)
	g := gate.New(gate.Options{Store: s.ForGate()})
	go func() { _ = g.Run(context.Background()) }()
	<-g.Ready()
	long, short, decided := approvalstest.Request("long"), approvalstest.Request("short"), approvalstest.Request("decided")
	long.ExpiresAt = time.Now().Add(time.Hour)
	short.ExpiresAt = time.Now().Add(3 * time.Second)
	decided.ExpiresAt = time.Now().Add(time.Hour)
	h, err := g.Open(t.Context(), []approvals.Request{long, short, decided})
	check(err)
	_, err = g.Decide(t.Context(), approvals.Decision{RequestID: h.Requests()[2].ID, Action: approvals.ActionDeny, ReviewerID: "bob"})
	check(err)
	check(s.Turns.PutTurn(t.Context(), "session one", "t1", []byte("hidden")))
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	check(out.Encode(h.Requests()))
	select {}
}

// killHolder runs the test as a process on a folder, kills it while it has holds, and returns their
// requests.
func killHolder(t *testing.T, dir string) []approvals.Request {
	t.Helper()
	holder := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	holder.Env = append(os.Environ(), writerFolder+"="+dir)
	holder.Stderr = os.Stderr
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("read the output of the process: %v", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := holder.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
	var held []approvals.Request
	if err := json.Unmarshal(line, &held); err != nil {
		t.Fatalf("the process has printed %s: %v", line, err)
	}
	return held
}

func TestPromise4_RecordedFirst_PendingSurvivesKill(t *testing.T) {
	if dir := os.Getenv(writerFolder); dir != "" {
		holdUntilKilled(t, dir)
	}
	dir := t.TempDir()
	held := killHolder(t, dir)
	s := open(t, store.Options{Dir: dir})
	g := approvalstest.RunGate(t, gate.Options{Store: s.ForGate()})

	for _, before := range held {
		now, err := g.Request(t.Context(), before.ID)
		if err != nil {
			t.Fatal(err)
		}
		if before.ToolName == "short" && now.Status == approvals.StatusExpired {
			continue // on a slow machine
		}
		now.Actions = nil // added when the request is served
		if diff := cmp.Diff(before, now); diff != "" {
			t.Errorf("%s changed over the crash:\n%s", before.ToolName, diff)
		}
	}
	// It expires at its deadline although it has no hold any more.
	short := held[1].ID
	approvalstest.Eventually(t, "the short request has expired", func() bool {
		r, err := g.Request(t.Context(), short)
		return err == nil && r.Status == approvals.StatusExpired
	})
	if r, err := g.Decide(t.Context(), approvals.Decision{RequestID: held[0].ID, Action: approvals.ActionApprove, ReviewerID: "bob"}); err != nil || r.Status != approvals.StatusApproved {
		t.Errorf("decide after the crash: %+v, %v", r, err)
	}
	var decided *approvals.DecidedError
	if _, err := g.Decide(t.Context(), approvals.Decision{RequestID: held[2].ID, Action: approvals.ActionApprove, ReviewerID: "eve"}); !errors.As(err, &decided) || decided.Request.Status != approvals.StatusDenied {
		t.Errorf("the decision from before the crash: %v", err)
	}
	want := []approvals.EventType{approvals.EventApprovalRequired, approvals.EventApprovalExpired}
	approvalstest.Eventually(t, "the expiry is in the log", func() bool {
		return cmp.Equal(want, approvalstest.EventTypes(approvalstest.EventsOf(t, s.Events, short)))
	})
	if turns, err := s.Turns.Turns(t.Context(), "session one"); err != nil || len(turns) != 1 || string(turns[0]) != "hidden" || !s.Turns.HasTurns("session one") {
		t.Errorf("hidden turns: %q, %v", turns, err)
	}
}
