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
	diskInterval = time.Second      // between two checks while writes fail
	restartAfter = 3 * time.Second  // of failed writes to a writable folder
	restartPause = 15 * time.Second // between two restarts
)

// disk records whether the embedded server can write its folder, and restarts the server if
// needed: JetStream does not report the cause of failed writes, and does not write again
// when the cause is gone.
type disk struct {
	dir     string
	probe   func() error // writes to the folder
	restart func() error // restarts the server
	log     *slog.Logger

	mu        sync.Mutex
	failed    map[string]time.Time // the first failure since the last success, by bucket
	cause     error                // of failed writes, nil if the folder is writable
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

// wrote records the result of a write. It adds the cause to the error if the folder cannot
// be written. The disk of an external server is nil.
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

// unwritable returns the known cause of failed writes, so that no caller waits for a write
// that cannot succeed.
func (d *disk) unwritable() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cause
}

// check writes to the folder and returns an error if writes fail.
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

// mayRestart reports whether [restartPause] has passed since the last restart.
func (d *disk) mayRestart() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.restarted) < restartPause {
		return false
	}
	d.restarted = time.Now()
	return true
}

// recovered removes the failures from before a restart.
func (d *disk) recovered() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.failed)
	d.cause = nil
}

// watch checks the folder while writes fail, until the context ends.
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

// look restarts the embedded server if the folder can be written and the server does not
// write.
func (d *disk) look() {
	since, failing := d.failing()
	if !failing {
		return
	}
	before := d.unwritable()
	_ = d.check()
	switch cause := d.unwritable(); {
	case cause != nil && before == nil:
		d.log.Error("failed to write the state", "folder", d.dir, "error", cause)
	case cause == nil && (before != nil || since > restartAfter) && d.mayRestart():
		if err := d.restart(); err != nil {
			d.log.Error("failed to restart the embedded NATS server; trying again", "error", err)
			_ = d.wrote("restart", err)
			return
		}
		d.recovered()
		d.log.Warn("restarted the embedded NATS server: it had stopped writing", "folder", d.dir)
	}
}
