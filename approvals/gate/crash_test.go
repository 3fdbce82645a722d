package gate_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// crashDirEnv makes the test binary a process that opens holds and waits to be killed: see
// [crashed].
const crashDirEnv = "HELDCALL_TEST_CRASH_DIR"

// runCrasher opens two holds, decides half of a third, stores a hidden turn, prints the
// requests on standard output and waits.
func runCrasher(dir string) {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Dir: dir, Listen: "-"})
	check(err)
	g := gate.New(gate.Options{Store: s.ForGate()})
	go func() { check(g.Run(ctx)) }()
	<-g.Ready()
	long, short, decided := approvalstest.Request("long"), approvalstest.Request("short"), approvalstest.Request("decided")
	long.ExpiresAt = time.Now().Add(time.Hour)
	short.ExpiresAt = time.Now().Add(3 * time.Second)
	decided.ExpiresAt = time.Now().Add(time.Hour)
	h, err := g.Open(ctx, []approvals.Request{long, short, decided})
	check(err)
	_, err = g.Decide(ctx, approvals.Decision{RequestID: h.Requests()[2].ID, Action: approvals.ActionDeny, ReviewerID: "bob"})
	check(err)
	check(s.Turns.PutTurn(ctx, "session one", "t1", []byte("hidden")))
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	check(out.Encode(h.Requests()))
	select {}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// crashed runs a process on a folder, kills it while it has holds, and returns their
// requests.
func crashed(t *testing.T, dir string) []approvals.Request {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashDirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("read the output of the process: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
	var held []approvals.Request
	if err := json.Unmarshal(line, &held); err != nil {
		t.Fatal(err)
	}
	return held
}

func TestPromise4_RecordedFirst_PendingSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	held := crashed(t, dir)
	s := approvalstest.OpenStore(t, dir)
	g := approvalstest.RunGate(t, gate.Options{Store: s})

	for _, before := range held {
		now, err := g.Request(t.Context(), before.ID)
		if err != nil {
			t.Fatal(err)
		}
		if before.ToolName == "short" && now.Status == approvals.StatusExpired {
			continue // on a slow machine
		}
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
		return cmp.Equal(want, approvalstest.EventTypes(approvalstest.EventsOf(t, s, short)))
	})
	if turns, err := s.Turns.Turns(t.Context(), "session one"); err != nil || len(turns) != 1 || string(turns[0]) != "hidden" || !s.Turns.HasTurns("session one") {
		t.Errorf("hidden turns: %q, %v", turns, err)
	}
}

// faulty is a store with writes that fail before or after they are done.
type faulty struct {
	approvals.Store
	appendFails  func() bool
	publishFails func() bool
	createFails  func() bool
	getFails     func() bool
}

func fails(f func() bool) bool { return f != nil && f() }

var errInjected = fmt.Errorf("injected: %w", approvals.ErrStoreUnavailable)

func (f *faulty) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	if fails(f.appendFails) {
		return errInjected
	}
	return f.Store.AppendEvents(ctx, events...)
}

func (f *faulty) PublishRequest(ctx context.Context, r approvals.Request) error {
	if fails(f.publishFails) {
		return errInjected
	}
	return f.Store.PublishRequest(ctx, r)
}

func (f *faulty) CreateRequest(ctx context.Context, r approvals.Request) (uint64, error) {
	if fails(f.createFails) {
		return 0, errInjected
	}
	return f.Store.CreateRequest(ctx, r)
}

func (f *faulty) GetRequest(ctx context.Context, id string) (approvals.Stored, error) {
	if fails(f.getFails) {
		return approvals.Stored{}, errInjected
	}
	return f.Store.GetRequest(ctx, id)
}
