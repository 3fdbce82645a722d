package store

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/heldcall/heldcall/approvals"
)

// Finding 26: while the folder cannot be written, writes and the readiness check report
// why, at once; then the embedded server is restarted and writes succeed again.
func TestUnwritableFolder(t *testing.T) {
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Listen: "-", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	full := errors.New("no space left on device")
	var broken atomic.Bool
	broken.Store(true)
	s.disk.mu.Lock()
	probe := s.disk.probe
	s.disk.probe = func() error {
		if broken.Load() {
			return full
		}
		return probe()
	}
	s.disk.mu.Unlock()
	running := func() *server.Server {
		s.server.mu.RLock()
		defer s.server.mu.RUnlock()
		return s.server.server
	}
	before := running()
	if err := s.Healthy(t.Context()); !errors.Is(err, full) {
		t.Errorf("the readiness check reports %v", err)
	}
	write := func() error {
		_, err := s.CreateRequest(context.WithoutCancel(t.Context()), approvals.Request{ID: "01M828KGBK7FPM9QX4Q0E7N63S", Arguments: []byte(`{}`)})
		return err
	}
	if err := write(); !errors.Is(err, full) || !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Errorf("a write reports %v", err)
	}
	broken.Store(false)
	s.lookAtDisk()
	if running() == before {
		t.Error("the embedded server was not restarted")
	}
	for err = write(); errors.Is(err, approvals.ErrStoreUnavailable) && t.Context().Err() == nil; err = write() {
	}
	if err := errors.Join(err, s.Healthy(t.Context())); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}
