package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
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
// damage. A write of several goroutines at a time is interrupted. Large requests fill blocks, which
// the server compresses meanwhile.
func TestKilledWhileWriting(t *testing.T) {
	for size, rounds := range map[int]int{20_000: 3, 400_000: 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) { killedWhileWriting(t, size, rounds) })
	}
}

func killedWhileWriting(t *testing.T, size, rounds int) {
	if dir := os.Getenv(writerFolder); dir != "" {
		writeUntilKilled(t, dir, size)
		return
	}
	dir := t.TempDir()
	var acknowledged []string
	for round := range rounds {
		acknowledged = append(acknowledged, killWriter(t, dir, 20+rand.N(40), rand.N(20*time.Millisecond))...)
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

// killWriter starts a process that runs the test and writes, and kills it a moment after it
// has written n times. It returns what was written.
func killWriter(t *testing.T, dir string, n int, moment time.Duration) (written []string) {
	t.Helper()
	writer := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	writer.Env = append(os.Environ(), writerFolder+"="+dir)
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		id, ok := strings.CutPrefix(lines.Text(), "wrote ")
		if !ok {
			t.Log(lines.Text())
			continue
		}
		if written = append(written, id); len(written) == n {
			time.Sleep(moment)
			if err := writer.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = writer.Wait() // it reports that it was killed
	if len(written) < n {
		t.Fatalf("the process has ended after %d writes", len(written))
	}
	return written
}

// A process is killed while it appends groups of events, often within one. The chain
// is intact, acknowledged groups are whole, and the others are whole and not doubled after
// they were appended again. A large group is one atomic batch.
func TestKilledWithinAGroup(t *testing.T) {
	for _, size := range []int{3, 64} {
		t.Run(fmt.Sprint(size), func(t *testing.T) { killedWithinAGroup(t, size) })
	}
}

func killedWithinAGroup(t *testing.T, size int) {
	if dir := os.Getenv(writerFolder); dir != "" {
		appendUntilKilled(t, dir, size)
		return
	}
	dir, groups, within := t.TempDir(), [][]approvals.Event{}, 0
	for round := range 5 {
		for _, name := range killWriter(t, dir, 3, time.Duration(round*size)*100*time.Microsecond) {
			groups = append(groups, group(name, size))
		}
		s := open(t, store.Options{Dir: dir})
		entries := wantOnce(t, s, groups...)
		if entries%uint64(size) != 0 {
			within++
		}
		if entries > uint64(len(groups)*size) { // a group whose end was not acknowledged
			unfinished, err := s.Events.Entry(t.Context(), entries)
			if err != nil {
				t.Fatal(err)
			}
			groups = append(groups, group(unfinished.Event.RunID, size))
			if err := s.Events.AppendEvents(t.Context(), groups[len(groups)-1]...); err != nil {
				t.Fatal(err)
			}
		}
		if n := wantOnce(t, s, groups...); n != uint64(len(groups)*size) {
			t.Fatalf("%d entries of %d groups", n, len(groups))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills within a group", within)
}

// appendUntilKilled appends groups of events, and prints the names of those that are recorded.
func appendUntilKilled(t *testing.T, dir string, size int) {
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	var ids approvals.IDSource
	for {
		name := ids.Next(time.Now())
		if err := s.Events.AppendEvents(t.Context(), group(name, size)...); err != nil {
			t.Fatal(err)
		}
		fmt.Println("wrote", name)
	}
}

// writeUntilKilled writes requests, their decisions and events, and prints the ids of those
// that are recorded.
func writeUntilKilled(t *testing.T, dir string, size int) {
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
				r := approvals.Request{ID: ids.Next(now), Status: approvals.StatusPending, ToolName: "bash", Arguments: []byte(`{"text":"` + strings.Repeat("x", size) + `"}`)}
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
