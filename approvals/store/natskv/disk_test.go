package natskv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

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
	if err := d.Unwritable(); err != nil {
		t.Errorf("a write is refused at once: %v", err)
	}
	d.mu.Lock()
	d.probeBegan = d.probeBegan.Add(-2 * OpTimeout)
	d.mu.Unlock()
	if err := d.Unwritable(); !errors.Is(err, approvals.ErrNotRecorded) || !errors.Is(err, errSlow) {
		t.Errorf("a write to a disk that does not answer reports %v", err)
	}
	answer <- fmt.Errorf("open /secret/path: %w", syscall.EROFS)
	d.probes.Wait()
	if n := probes.Load(); n != 1 {
		t.Errorf("%d probes, want 1", n)
	}
	err := d.Unwritable()
	if text := approvals.Because("no", err); text != "no: read-only file system" {
		t.Errorf("the cause for agents is %q", text)
	}
	if text, certain := approvals.NotRecorded(err); !certain || !strings.Contains(text, "read-only file system") {
		t.Errorf("the text for reviewers is %q (%t)", text, certain)
	}
}
