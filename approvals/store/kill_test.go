package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store"
)

// writerFolder is the environment variable with the data folder of a process that writes until
// it is killed.
const writerFolder = "HELDCALL_TEST_WRITER"

// A write that was acknowledged survives kill -9, and what a killed process leaves is no
// damage. A write of several goroutines at a time is interrupted.
func TestKilledWhileWriting(t *testing.T) {
	if dir := os.Getenv(writerFolder); dir != "" {
		writeUntilKilled(t, dir)
		return
	}
	dir := t.TempDir()
	var acknowledged []string
	for round := range 3 {
		writer := exec.Command(os.Args[0], "-test.run=^TestKilledWhileWriting$")
		writer.Env = append(os.Environ(), writerFolder+"="+dir)
		out, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 20*(round+1) && lines.Scan(); {
			if id, ok := strings.CutPrefix(lines.Text(), "wrote "); ok {
				acknowledged = append(acknowledged, id)
				n++
			} else {
				t.Log(lines.Text())
			}
		}
		if err := writer.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		_ = writer.Wait() // it reports that it was killed
		for line := range strings.Lines(string(rest)) {
			if id, ok := strings.CutPrefix(line, "wrote "); ok && strings.HasSuffix(id, "\n") {
				acknowledged = append(acknowledged, strings.TrimSpace(id))
			}
		}
		s := open(t, store.Options{Dir: dir})
		for _, id := range acknowledged {
			if r, err := s.Requests.GetRequest(t.Context(), id); err != nil || r.Request.Status != approvals.StatusApproved {
				t.Fatalf("after %d kills: an acknowledged request is %s: %v", round+1, r.Request.Status, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// writeUntilKilled writes requests, their decisions and events, and prints the ids of those
// that are recorded.
func writeUntilKilled(t *testing.T, dir string) {
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	var ids approvals.IDSource
	for range 8 {
		go func() {
			for {
				now := time.Now()
				r := approvals.Request{ID: ids.Next(now), Status: approvals.StatusPending, ToolName: "bash", Arguments: []byte(`{"text":"` + strings.Repeat("x", 20000) + `"}`)}
				revision, err := s.Requests.CreateRequest(t.Context(), r)
				if err == nil {
					r.Status = approvals.StatusApproved
					_, err = s.Requests.UpdateRequest(t.Context(), r, revision)
				}
				err = errors.Join(err, s.Events.AppendEvents(t.Context(), approvals.Event{ID: r.ID, Type: approvals.EventCallAllowed, Time: now}))
				if err != nil {
					ended <- err
					return
				}
				fmt.Println("wrote", r.ID)
			}
		}()
	}
	t.Fatal(<-ended)
}
