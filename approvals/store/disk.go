package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	probeBytes   = 64 << 10
	diskInterval = time.Second      // between two looks while writes fail
	restartAfter = 3 * time.Second  // of failed writes to a folder that can be written
	restartPause = 15 * time.Second // between two restarts
)

// disk records whether the embedded server can write its folder, and restarts it
// where it has to. JetStream does not report why it cannot write, and does not write
// again by itself when the reason is gone.
type disk struct {
	dir     string
	probe   func() error // writes to the folder
	restart func() error // restarts the server
	log     *slog.Logger

	mu        sync.Mutex
	failed    map[string]time.Time // by what was written: the first failure since the last success
	cause     error                // why the folder cannot be written, as far as known
	restarted time.Time
}

func newDisk(dir string, restart func() error, log *slog.Logger) *disk {
	return &disk{
		dir: dir, probe: func() error { return probeDir(dir) }, restart: restart, log: log,
		failed: map[string]time.Time{},
	}
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

// wrote records how a write ended, and adds the cause to its error where the folder
// cannot be written. The disk of an external server is nil.
func (d *disk) wrote(what string, err error) error {
	if d == nil {
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
	_ = d.check()
	if cause := d.unwritable(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// unwritable returns why writes fail while that is known, so that no caller waits
// for a write that cannot succeed.
func (d *disk) unwritable() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cause
}

// check probes the folder.
func (d *disk) check() error {
	if d == nil {
		return nil
	}
	cause := d.probe()
	if cause != nil {
		cause = fmt.Errorf("the data folder cannot be written: %w", cause)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cause = cause
	if cause == nil && len(d.failed) > 0 {
		return errors.New("writes fail")
	}
	return cause
}

// failing reports whether writes fail, and for how long.
func (d *disk) failing() (since time.Duration, failing bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range d.failed {
		since = max(since, time.Since(at))
	}
	return since, len(d.failed) > 0 || d.cause != nil
}

// mayRestart reports whether the last restart is long enough ago.
func (d *disk) mayRestart() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.restarted) < restartPause {
		return false
	}
	d.restarted = time.Now()
	return true
}

// recovered drops the failures from before a restart.
func (d *disk) recovered() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.failed)
	d.cause = nil
}

// watch looks for the cause while writes fail, until the context ends.
func (d *disk) watch(ctx context.Context) {
	ticker := time.NewTicker(diskInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.look()
		}
	}
}

// look restarts the embedded server when the folder can be written again and the
// server still cannot.
func (d *disk) look() {
	since, failing := d.failing()
	if !failing {
		return
	}
	before := d.unwritable()
	_ = d.check()
	switch cause := d.unwritable(); {
	case cause != nil && before == nil:
		d.log.Error("the state cannot be written", "folder", d.dir, "error", cause)
	case cause == nil && (before != nil || since > restartAfter) && d.mayRestart():
		if err := d.restart(); err != nil {
			d.log.Error("the embedded NATS server cannot be restarted; trying again", "error", err)
			_ = d.wrote("restart", err)
			return
		}
		d.recovered()
		d.log.Warn("the embedded NATS server was restarted because it did not write any more", "folder", d.dir)
	}
}
