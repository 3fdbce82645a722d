package app_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
)

// The data folder cannot be written: the cause is in the log, in the error for the agent, in
// the answer to the reviewer and in /readyz. Held calls stay, and continue when the cause is
// gone. The limit of the process on the size of files is the fault; it needs no root.
func TestUnwritableDataFolder(t *testing.T) {
	if os.Getenv(limitedProcess) == "" { // the limit concerns the files of the test program too
		t.Parallel()
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUnwritableDataFolder$", "-test.v")
		child.Env = append(os.Environ(), limitedProcess+"=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limit := func(size uint64) {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { limit(before.Cur) })
	for _, noticed := range []string{"/readyz", "a call", "a decision"} {
		t.Run("noticed by "+noticed, func(t *testing.T) {
			testStoreFault(t, storeFault{
				noticed: noticed, cause: "file too large",
				begin: func() { limit(0) }, end: func() { limit(before.Cur) },
			})
		})
	}
}

// limitedProcess is set in the environment of the process whose files are limited.
const limitedProcess = "HELDCALL_TEST_LIMITED"

// storeFault is a fault of the disk with the data folder.
type storeFault struct {
	noticed    string // what notices the fault first
	cause      string
	begin, end func()
	configure  func(*app.Config)
	slow       bool // writes end after the fault: a decision may be recorded
}

func testStoreFault(t *testing.T, fault storeFault) {
	w := build(t, askAll, callThenText, silent, embedded, func(c *app.Config) {
		if fault.configure != nil {
			fault.configure(c)
		}
	})
	bot := connect(t, "nats://"+w.app.NATSAddr())
	published := bot.listen("heldcall.v1.requests.>")
	held := make(chan string, 1)
	go func() { held <- w.post("/v1/chat/completions", wholeRequest).rest() }()
	id := w.pending(1)[0].ID
	if _, err := published.NextMsg(soon); err != nil { // it is published when its event is on disk: it is held
		t.Fatal(err)
	}
	bot.Close()
	fault.begin()
	defer fault.end()
	decide := func() error {
		_, err := w.console.Decide(t.Context(), approvals.Decision{RequestID: id, Action: approvals.ActionApprove})
		return err
	}
	for i, noticed := range []string{fault.noticed, "/readyz", "a call", "a decision"} {
		switch noticed {
		case "/readyz":
			if err := w.console.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), fault.cause) {
				t.Errorf("/readyz answers %v, want %q", err, fault.cause)
			}
		case "a call":
			refused := w.post("/v1/chat/completions", strings.Replace(wholeRequest, "do it", "another", 1))
			answer := refused.rest()
			if refused.resp.StatusCode != http.StatusServiceUnavailable || errorCode(answer) != "store_unavailable" || !strings.Contains(answer, fault.cause) {
				t.Errorf("the agent gets %d %s, want store_unavailable and %q", refused.resp.StatusCode, answer, fault.cause)
			}
			if leaks(answer) != "" || strings.Contains(answer, "heldcall_requests") || strings.Contains(answer, "/data") {
				t.Errorf("the error for the agent has too much: %s", answer)
			}
		case "a decision":
			err := decide()
			if !errors.Is(err, approvals.ErrStoreUnavailable) || !strings.Contains(err.Error(), fault.cause) {
				t.Errorf("the reviewer gets %v, want %q", err, fault.cause)
			}
			if known := i > 0; known && !fault.slow && !strings.Contains(err.Error(), "This is not recorded") {
				t.Errorf("the reviewer gets %v, want that the decision is not recorded", err)
			}
		}
	}
	if r, err := w.console.Request(t.Context(), id); err == nil && r.Status != approvals.StatusPending && !fault.slow {
		t.Errorf("the request is %s while nothing can be recorded", r.Status)
	}
	fault.end()
	deadline := time.Now().Add(soon)
	for err := decide(); err != nil && !(fault.slow && errors.As(err, new(*approvals.DecidedError))); err = decide() {
		if time.Now().After(deadline) {
			t.Fatalf("the decision is refused after the end of the fault: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if answer := <-held; !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the held call is not released: %s", answer)
	}
	for err := w.console.Ready(t.Context()); err != nil; err = w.console.Ready(t.Context()) {
		if time.Now().After(deadline) {
			t.Fatalf("after the end of the fault: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !strings.Contains(w.log.String(), fault.cause) {
		t.Errorf("the log does not have %q", fault.cause)
	}
}
