//go:build faults

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// patience bounds every wait. It is generous: nothing is timed with it.
const patience = 90 * time.Second

const policy = "default: ask\nrules: [{allow: [lookup]}]\n"

// replica is one `heldcall serve`, started again and again on the same configuration.
type replica struct {
	name    string
	program string
	config  string // its file
	log     string // its file
	proxy   string // host:port
	console *client.Client
	url     string // of the console
	nats    string // host:port of the embedded server

	mu      sync.Mutex
	process *exec.Cmd // nil while it does not run
	exited  chan struct{}
	left    bool // it stops, is stopped or does not run: the balancer does not connect agents to it
}

// newReplica prepares a replica in a folder. store is the nats section of its configuration.
func newReplica(t *testing.T, program, dir, name, upstream, store string) *replica {
	t.Helper()
	free, err := fakemodel.FreeAddresses(3)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{
		name: name, program: program, proxy: free[0], url: "http://" + free[1], nats: free[2], left: true,
		config: filepath.Join(dir, name+".yaml"), log: filepath.Join(dir, name+".log"),
	}
	if r.console, err = client.New(r.url); err != nil {
		t.Fatal(err)
	}
	rules := filepath.Join(dir, "policy.yaml") // the same for all: decisions are judged by the policy of that name
	config := fmt.Sprintf(`proxy:
  listen: %s
  upstreams: [{prefix: /v1, url: %q}]
  keepalive: 1s
console: {listen: %q}
nats: {listen: %q, %s}
policy: {file: %q}
`, r.proxy, upstream, free[1], r.nats, store, rules)
	if err := errors.Join(os.WriteFile(r.config, []byte(config), 0o600), os.WriteFile(rules, []byte(policy), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.end(syscall.SIGKILL) })
	return r
}

// start starts the replica. It may not be ready yet: see await.
func (r *replica) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process != nil {
		return nil
	}
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.Command(r.program, "serve", "--config", r.config)
	process.Stdout, process.Stderr = log, log
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", r.name, err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = process.Wait()
	}()
	r.process, r.exited = process, exited
	return nil
}

// await waits until the replica is ready. A replica that has ended by itself is an error.
func (r *replica) await(ctx context.Context) error {
	var last error
	for start := time.Now(); time.Since(start) < patience && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if r.ended() {
			return fmt.Errorf("%s ended by itself: %s", r.name, tail(r.log))
		}
		if last = r.console.Ready(ctx); last == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.left = false
			return nil
		}
	}
	return fmt.Errorf("%s is not ready: %w: %s", r.name, last, tail(r.log))
}

func (r *replica) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return false
	}
	select {
	case <-r.exited:
		r.process, r.left = nil, true
		return true
	default:
		return false
	}
}

// end sends a signal and waits for the end of the process, if it runs.
func (r *replica) end(s syscall.Signal) error {
	r.mu.Lock()
	process, exited := r.process, r.exited
	r.process, r.left = nil, true
	r.mu.Unlock()
	if process == nil {
		return nil
	}
	_ = process.Process.Signal(s) // fails if it has ended
	select {
	case <-exited:
		return nil
	case <-time.After(patience):
		_ = process.Process.Kill()
		<-exited
		return fmt.Errorf("%s did not end for %s", r.name, s)
	}
}

// freeze stops the process for a time, as a slow disk or a busy machine does.
func (r *replica) freeze(ctx context.Context, last time.Duration) {
	r.mu.Lock()
	process := r.process
	r.left = true
	r.mu.Unlock()
	if process != nil {
		pulse(ctx, process.Process.Pid, last)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = r.process == nil
}

// pulse stops a process by SIGSTOP and continues it after a time.
func pulse(ctx context.Context, pid int, last time.Duration) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	sleep(ctx, last)
	_ = syscall.Kill(pid, syscall.SIGCONT)
}

// alive reports whether the replica takes connections.
func (r *replica) alive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.left
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// tail returns the end of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return "\n" + string(text[max(0, len(text)-3000):])
}
