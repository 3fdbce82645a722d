package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store"
)

// Finding 26: while the folder cannot be written, writes and the readiness check return the
// cause at once. Then the embedded server is restarted and writes succeed again.
func TestUnwritableFolder(t *testing.T) {
	dir, registry := t.TempDir(), prometheus.NewRegistry()
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Listen: "-", Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	inTheWay := filepath.Join(dir, "heldcall.probe") // no file of that name can be written
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Healthy(t.Context()); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("the readiness check reports %v", err)
	}
	write := func() error {
		_, err := s.Requests.CreateRequest(context.WithoutCancel(t.Context()), approvals.Request{ID: "01M828KGBK7FPM9QX4Q0E7N63S", Arguments: []byte(`{}`)})
		return err
	}
	if err := write(); !errors.Is(err, syscall.EISDIR) || !errors.Is(err, approvals.ErrStoreUnavailable) {
		t.Errorf("a write reports %v", err)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for err = write(); errors.Is(err, approvals.ErrStoreUnavailable) && ctx.Err() == nil; err = write() {
		time.Sleep(10 * time.Millisecond)
	}
	if err := errors.Join(err, s.Healthy(t.Context())); err != nil {
		t.Errorf("after the restart: %v", err)
	}
	if n, err := testutil.GatherAndCount(registry, "heldcall_store_restarts_total"); n != 1 || err != nil {
		t.Fatalf("%d metrics of restarts: %v", n, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "heldcall_store_restarts_total" && family.Metric[0].GetCounter().GetValue() == 0 {
			t.Error("the embedded server was not restarted")
		}
	}
}
