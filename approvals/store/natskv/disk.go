package natskv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
)

const (
	probeBytes   = 64 << 10
	probeTimeout = 2 * time.Second  // of a write to the folder
	slowProbe    = time.Second / 2  // of a write to the folder; failed writes are then no reason for a restart
	lateWrite    = time.Second / 2  // after which a write without an answer checks the folder
	diskInterval = time.Second      // between two checks while writes fail
	restartAfter = 3 * time.Second  // of failed writes to a writable folder
	restartPause = 15 * time.Second // between two restarts
)

// Disk records whether the embedded server can write its folder, and restarts the server if
// needed: JetStream does not report the cause of failed writes, and does not write again
// when the cause is gone.
type Disk struct {
	dir      string
	probe    func() error // writes to the folder
	restart  func() error // restarts the server, and returns when it is connected
	log      *slog.Logger
	restarts prometheus.Counter

	mu        sync.Mutex
	failed    map[string]time.Time // the first failure since the last success, by bucket
	cause     error                // why the folder could not be written since the last restart, nil if it could
	writable  bool                 // the last write to the folder succeeded
	slow      bool                 // the last write to the folder
	restarted time.Time

	probing    chan struct{} // closed at the end of the write to the folder in progress, else nil
	probeBegan time.Time
	probes     sync.WaitGroup
}

func newDisk(dir string, log *slog.Logger) *Disk {
	return &Disk{dir: dir, probe: func() error { return probeDir(dir) }, log: log, failed: map[string]time.Time{}}
}

// probeDir writes a file and syncs it.
func probeDir(dir string) error {
	path := filepath.Join(dir, "heldcall.probe")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeBytes))
	err = errors.Join(err, f.Sync(), f.Close(), os.Remove(path))
	return err
}

// unwritable returns the error of writes that fail because of the folder.
func unwritable(err error) error {
	cause := "the data folder cannot be written"
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		cause = errno.Error()
	}
	return &approvals.FaultError{Cause: cause, Err: fmt.Errorf("the data folder cannot be written: %w", err)}
}

// errSlow is the error of a write to the folder that takes too long.
var errSlow = &approvals.FaultError{
	Cause: "the disk is too slow", Err: fmt.Errorf("a write to the data folder takes longer than %s: the disk is too slow", probeTimeout),
}

// Wrote records the result of a write. It adds the cause to the error if the folder cannot
// be written. The disk of an external server is nil.
func (d *Disk) Wrote(what string, err error) error {
	var fault *approvals.FaultError
	if d == nil || (errors.Is(err, context.Canceled) && !errors.As(err, &fault)) {
		return err
	}
	d.mu.Lock()
	if err == nil {
		delete(d.failed, what)
	} else if _, known := d.failed[what]; !known {
		d.failed[what] = time.Now()
	}
	d.mu.Unlock()
	if err == nil {
		return nil
	}
	if errors.As(err, &fault) {
		return err
	}
	if cause := d.check(context.Background()); errors.As(cause, &fault) {
		return fmt.Errorf("%w: %w", err, fault)
	}
	return err
}

// Unwritable returns the known cause of failed writes, with [approvals.ErrNotRecorded], so that
// no caller waits for a write that cannot succeed. While the disk does not answer, it waits for
// an answer as long as a check does: a disk that answers again may answer the server first, and
// a call is not refused because of that.
func (d *Disk) Unwritable(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	probing, late := d.probing, time.Since(d.probeBegan) > OpTimeout
	d.mu.Unlock()
	if probing != nil && late {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		select {
		case <-probing:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", approvals.ErrNotRecorded, errSlow)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cause != nil {
		return fmt.Errorf("%w: %w", approvals.ErrNotRecorded, d.cause)
	}
	return nil
}

// explain adds the known fault of the disk to the error of an operation.
func (d *Disk) explain(err error) error {
	if d == nil || errors.As(err, new(*approvals.FaultError)) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.cause != nil:
		return fmt.Errorf("%w: %w", err, d.cause)
	case d.probing != nil && time.Since(d.probeBegan) >= probeTimeout:
		return fmt.Errorf("%w: %w", err, errSlow)
	}
	return err
}

// check writes to the folder and returns an error if writes fail. Callers at the same time
// share one write.
func (d *Disk) check(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	if d.probing == nil {
		d.probing, d.probeBegan = make(chan struct{}), time.Now()
		d.probes.Go(d.probeOnce)
	}
	probing := d.probing
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	select {
	case <-probing:
	case <-ctx.Done():
		return errSlow
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cause == nil && len(d.failed) > 0 {
		return errors.New("the embedded NATS server does not write; heldcall restarts it")
	}
	return d.cause // until the restart: the server may have stopped writing
}

// probeOnce writes to the folder and records the result.
func (d *Disk) probeOnce() {
	cause := d.probe()
	if cause != nil {
		cause = unwritable(cause)
	}
	d.mu.Lock()
	before, took := d.cause, time.Since(d.probeBegan)
	d.writable, d.slow = cause == nil, took > slowProbe
	if cause != nil {
		d.cause = cause
	}
	close(d.probing)
	d.probing = nil
	d.mu.Unlock()
	switch {
	case cause != nil && before == nil:
		d.log.Error("failed to write the state", "folder", d.dir, "error", cause)
	case took > probeTimeout:
		d.log.Error("the disk is too slow", "folder", d.dir, "write_seconds", took.Seconds())
	}
}

// Failing reports whether writes fail.
func (d *Disk) Failing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.failed) > 0 || d.cause != nil
}

// needsRestart reports whether the folder can be written and the server does not write: there
// was a cause, or writes have failed for a while on a disk that is not slow.
func (d *Disk) needsRestart() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.writable || d.probing != nil {
		return false
	}
	if d.cause != nil || d.slow {
		return d.cause != nil
	}
	for _, at := range d.failed {
		if time.Since(at) > restartAfter {
			return true
		}
	}
	return false
}

// mayRestart reports whether [restartPause] has passed since the last restart.
func (d *Disk) mayRestart() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.restarted) < restartPause {
		return false
	}
	d.restarted = time.Now()
	return true
}

// recovered removes the failures from before a restart.
func (d *Disk) recovered() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.failed)
	d.cause = nil
}

// Watch checks the folder while writes fail, until the context ends.
func (d *Disk) Watch(ctx context.Context) {
	defer d.probes.Wait()
	ticker := time.NewTicker(diskInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.look(ctx)
		}
	}
}

// look restarts the embedded server if the folder can be written and the server does not
// write.
func (d *Disk) look(ctx context.Context) {
	if !d.Failing() {
		return
	}
	_ = d.check(ctx)
	if !d.needsRestart() || !d.mayRestart() {
		return
	}
	d.restarts.Inc()
	if err := d.restart(); err != nil {
		d.log.Error("failed to restart the embedded NATS server; trying again", "error", err)
		_ = d.Wrote("restart", err)
		return
	}
	d.recovered()
	d.log.Warn("restarted the embedded NATS server: it had stopped writing", "folder", d.dir)
}

// endLate calls cancel with the cause if the folder cannot be written and a write has no
// answer for a while: JetStream does not answer if it cannot write.
func (d *Disk) endLate(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	if d == nil {
		return func() {}
	}
	timer := time.AfterFunc(lateWrite, func() {
		if fault := (*approvals.FaultError)(nil); errors.As(d.check(ctx), &fault) && fault != errSlow {
			cancel(fault)
		}
	})
	return func() { timer.Stop() }
}
