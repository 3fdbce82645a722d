//go:build mount

package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sys/unix"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store"
)

// Finding 26: if the disk is full, errors and the readiness check name the cause. Writes
// succeed again after space is freed, without a restart of heldcall. A small disk is mounted,
// which needs root: make load runs this test.
func TestDiskFull(t *testing.T) {
	for _, first := range []string{"the readiness check", "a write"} {
		t.Run(first+" notices first", func(t *testing.T) { testDiskFull(t, first == "a write") })
	}
}

func testDiskFull(t *testing.T, writeFirst bool) {
	dir := mountSmallDisk(t)
	s := open(t, store.Options{Dir: filepath.Join(dir, "data")})
	create := func() error {
		r := approvals.Request{ID: ulid.Make().String(), Status: approvals.StatusPending, ToolName: "bash", Arguments: []byte(`{}`)}
		_, err := s.Requests.CreateRequest(t.Context(), r)
		return err
	}
	event := func() error {
		return s.Events.AppendEvents(t.Context(), approvals.Event{ID: ulid.Make().String(), Type: approvals.EventCallAllowed, Time: time.Now()})
	}
	if err := errors.Join(create(), event(), s.Healthy(t.Context())); err != nil {
		t.Fatal(err)
	}
	fill := filepath.Join(dir, "fill")
	if err := os.WriteFile(fill, make([]byte, 16<<20), 0o600); err == nil {
		t.Fatal("the disk did not get full")
	}
	const full = "no space left on device"
	if writeFirst {
		var err error
		for err == nil { // blocks of the server may have room
			err = errors.Join(create(), event())
		}
		if !strings.Contains(err.Error(), full) {
			t.Errorf("a write to a full disk reports %v, want %q", err, full)
		}
	}
	if err := s.Healthy(t.Context()); err == nil || !strings.Contains(err.Error(), full) {
		t.Errorf("the readiness check reports %v, want %q", err, full)
	}
	for _, write := range []func() error{create, event} {
		if err := write(); !errors.Is(err, approvals.ErrStoreUnavailable) || !strings.Contains(err.Error(), full) {
			t.Errorf("a write to a full disk reports %v, want %q", err, full)
		}
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := errors.Join(create(), event(), s.Healthy(t.Context()))
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("with room on the disk again: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// The disk gets full while groups of events are appended, each as an atomic batch. After space is
// freed, the group that was refused is appended whole and once, and the chain is intact.
func TestDiskFullWithinABatch(t *testing.T) {
	for _, kilobytes := range []int{200, 270, 340} {
		t.Run(fmt.Sprint("room for KB ", kilobytes), func(t *testing.T) { testDiskFullWithinABatch(t, kilobytes<<10) })
	}
}

func testDiskFullWithinABatch(t *testing.T, room int) {
	dir := mountSmallDisk(t)
	s := open(t, store.Options{Dir: filepath.Join(dir, "data")})
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	fill := filepath.Join(dir, "fill")
	if err := os.WriteFile(fill, make([]byte, int(disk.Bavail)*int(disk.Bsize)-room), 0o600); err != nil {
		t.Fatal(err)
	}
	const size = 64
	var groups [][]approvals.Event
	var err error
	for err == nil {
		events := group(ulid.Make().String(), size)
		for i := range events {
			events[i].Note = strings.Repeat("x", 1000)
		}
		groups = append(groups, events)
		err = s.Events.AppendEvents(t.Context(), events...)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for err != nil {
		if time.Now().After(deadline) {
			t.Fatalf("with room on the disk again: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
		err = s.Events.AppendEvents(t.Context(), groups[len(groups)-1]...)
	}
	if n := wantOnce(t, s, groups...); n != uint64(len(groups)*size) {
		t.Fatalf("%d entries of %d groups", n, len(groups))
	}
}

// mountSmallDisk mounts a disk of 16 MB and returns its folder.
func mountSmallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatalf("mount a small disk, which needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
