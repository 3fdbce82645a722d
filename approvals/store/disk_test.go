package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Finding 26: while the folder cannot be written, writes and the readiness check return the
// cause at once. Then the embedded server is restarted and writes succeed again.
func TestUnwritableFolder(t *testing.T) {
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Listen: "-", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	full := errors.New("no space left on device")
	var broken atomic.Bool
	broken.Store(true)
	s.backend.disk.mu.Lock()
	probe := s.backend.disk.probe
	s.backend.disk.probe = func() error {
		if broken.Load() {
			return full
		}
		return probe()
	}
	var restarts atomic.Int32
	restart := s.backend.disk.restart
	s.backend.disk.restart = func() error {
		restarts.Add(1)
		return restart()
	}
	s.backend.disk.mu.Unlock()
	if err := s.Healthy(t.Context()); !errors.Is(err, full) {
		t.Errorf("the readiness check reports %v", err)
	}
	write := func() error {
		_, err := s.Requests.CreateRequest(context.WithoutCancel(t.Context()), approvals.Request{ID: "01M828KGBK7FPM9QX4Q0E7N63S", Arguments: []byte(`{}`)})
		return err
	}
	if err := write(); !errors.Is(err, full) || !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Errorf("a write reports %v", err)
	}
	broken.Store(false)
	s.backend.disk.look(t.Context())
	if restarts.Load() == 0 {
		t.Error("the embedded server was not restarted")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for err = write(); errors.Is(err, approvals.ErrStoreUnavailable) && ctx.Err() == nil; err = write() {
		time.Sleep(10 * time.Millisecond)
	}
	if err := errors.Join(err, s.Healthy(t.Context())); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

// Checks of the folder at the same time share one write, and none waits longer than its limit
// for a disk that does not answer. Writes are refused only when the disk has not answered for
// as long as they would wait.
func TestChecksShareOneProbe(t *testing.T) {
	var probes atomic.Int32
	answer := make(chan error)
	d := newDisk(t.TempDir(), slog.New(slog.DiscardHandler))
	d.probe = func() error {
		probes.Add(1)
		return <-answer
	}
	short, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if err := d.check(short); !errors.Is(err, errSlow) {
			t.Errorf("a check of a disk that does not answer reports %v", err)
		}
	}
	if err := d.unwritable(); err != nil {
		t.Errorf("a write is refused at once: %v", err)
	}
	d.mu.Lock()
	d.probeBegan = d.probeBegan.Add(-2 * opTimeout)
	d.mu.Unlock()
	if err := d.unwritable(); !errors.Is(err, approvals.ErrNotRecorded) || !errors.Is(err, errSlow) {
		t.Errorf("a write to a disk that does not answer reports %v", err)
	}
	answer <- fmt.Errorf("open /secret/path: %w", syscall.EROFS)
	d.probes.Wait()
	if n := probes.Load(); n != 1 {
		t.Errorf("%d probes, want 1", n)
	}
	err := d.unwritable()
	if text := approvals.Because("no", err); text != "no: read-only file system" {
		t.Errorf("the cause for agents is %q", text)
	}
	if text, certain := approvals.NotRecorded(err); !certain || !strings.Contains(text, "read-only file system") {
		t.Errorf("the text for reviewers is %q (%t)", text, certain)
	}
}
