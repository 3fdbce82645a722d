package natskv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
)

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
	if err := d.Unwritable(t.Context()); err != nil {
		t.Errorf("a write is refused at once: %v", err)
	}
	d.mu.Lock()
	d.probeBegan = d.probeBegan.Add(-2 * OpTimeout)
	d.mu.Unlock()
	if err := d.Unwritable(short); !errors.Is(err, approvals.ErrNotRecorded) || !errors.Is(err, errSlow) {
		t.Errorf("a write to a disk that does not answer reports %v", err)
	}
	answer <- fmt.Errorf("open /secret/path: %w", syscall.EROFS)
	d.probes.Wait()
	if n := probes.Load(); n != 1 {
		t.Errorf("%d probes, want 1", n)
	}
	err := d.Unwritable(t.Context())
	if text := approvals.Because("no", err); text != "no: read-only file system" {
		t.Errorf("the cause for agents is %q", text)
	}
	if text, certain := approvals.NotRecorded(err); !certain || !strings.Contains(text, "read-only file system") {
		t.Errorf("the text for reviewers is %q (%t)", text, certain)
	}
}

// The disk answers the server before it answers a check: what the server wrote has consequences
// that are recorded then, and they are not refused.
func TestWriteWhenTheDiskAnswersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name  string
			after time.Duration // the check takes so much longer than the limit of a write
			want  error
		}{
			{"soon", probeTimeout - 1, nil},
			{"not soon", probeTimeout + 1, errSlow},
		} {
			d := newDisk(t.TempDir(), slog.New(slog.DiscardHandler))
			d.probe = func() error { time.Sleep(OpTimeout + 1 + test.after); return nil }
			if err := d.check(t.Context()); !errors.Is(err, errSlow) {
				t.Errorf("a check of a disk that does not answer reports %v", err)
			}
			time.Sleep(OpTimeout + 1 - probeTimeout)
			if err := d.Unwritable(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("%s: a write to a disk that answers again reports %v", test.name, err)
			}
			d.probes.Wait()
		}
	})
}

// The server has stopped writing after an error of the folder, so it is restarted as soon as
// the folder can be written, however slowly. Writes without a known cause may only be slow.
func TestRestartOnASlowDisk(t *testing.T) {
	failed := map[string]time.Time{"events": time.Now().Add(-2 * restartAfter)}
	for _, test := range []struct {
		name  string
		cause error
		slow  time.Duration
		want  int
	}{
		{"a cause", syscall.ENOSPC, 0, 1},
		{"a cause, slow", syscall.ENOSPC, slowProbe + 1, 1},
		{"no cause", nil, 0, 1},
		{"no cause, slow", nil, slowProbe + 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			restarts := 0
			d := newDisk(t.TempDir(), slog.New(slog.DiscardHandler))
			d.failed, d.cause = maps.Clone(failed), test.cause
			d.restarts = prometheus.NewCounter(prometheus.CounterOpts{Name: "restarts"})
			d.probe = func() error { time.Sleep(test.slow); return nil }
			d.restart = func() error { restarts++; return nil }
			d.look(t.Context())
			if restarts != test.want {
				t.Errorf("%d restarts, want %d", restarts, test.want)
			}
			if err := d.Unwritable(t.Context()); test.cause != nil && err != nil {
				t.Errorf("after the restart, writes are refused: %v", err)
			}
		})
	}
}
