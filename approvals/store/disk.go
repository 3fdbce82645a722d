package store

import (
	"context"
	"errors"
	"fmt"
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

// disk knows whether the embedded server can write its folder. JetStream does not
// report why it cannot write, and does not write again by itself when the reason is
// gone.
type disk struct {
	probe func() error // writes to the folder

	mu        sync.Mutex
	failed    map[string]time.Time // by what was written: the first failure since the last success
	cause     error                // why the folder cannot be written, as far as known
	restarted time.Time
}

func newDisk(dir string) *disk {
	return &disk{probe: func() error { return probeDir(dir) }, failed: map[string]time.Time{}}
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

// unwritable returns why writes fail while that is known, so that nobody waits for
// a write that cannot succeed.
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

// recovered forgets the failures from before a restart.
func (d *disk) recovered() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.failed)
	d.cause = nil
}

// watchDisk looks for the cause while writes fail, and restarts the embedded server
// when the folder can be written again and the server still cannot.
func (s *Store) watchDisk(ctx context.Context) {
	look := time.NewTicker(diskInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			s.lookAtDisk()
		}
	}
}

func (s *Store) lookAtDisk() {
	since, failing := s.disk.failing()
	if !failing {
		return
	}
	before := s.disk.unwritable()
	_ = s.disk.check()
	switch cause := s.disk.unwritable(); {
	case cause != nil && before == nil:
		s.log.Error("the state cannot be written", "folder", s.opts.Dir, "error", cause)
	case cause == nil && (before != nil || since > restartAfter) && s.disk.mayRestart():
		if err := s.server.restart(s.opts); err != nil {
			s.log.Error("the embedded NATS server cannot be restarted; trying again", "error", err)
			_ = s.disk.wrote("restart", err)
			return
		}
		s.disk.recovered()
		s.log.Warn("the embedded NATS server was restarted because it did not write any more", "folder", s.opts.Dir)
	}
}
