package store

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
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
