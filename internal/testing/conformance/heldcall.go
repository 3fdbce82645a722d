package conformance

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
)

// Options configure a heldcall under test.
type Options struct {
	Upstream  string        // base URL of /v1
	Policy    string        // the policy file's text
	Keepalive time.Duration // between two heartbeats
	Heartbeat string        // "" means auto
	ParkAfter time.Duration // when a hold is parked; 0: never
	Log       *slog.Logger  // nil discards
}

// Heldcall is a heldcall that runs in this process, its store in a folder of
// the test.
type Heldcall struct {
	Proxy   string // base URL of the proxy, without the prefix
	Console string // base URL of the console

	t       testing.TB
	options app.Options
	stop    func()
}

// StartHeldcall runs the whole of heldcall on free ports of loopback until the
// test ends.
func StartHeldcall(t testing.TB, o Options) *Heldcall {
	t.Helper()
	dir := t.TempDir()
	c := app.DefaultConfig(func(string) (string, bool) { return "", false })
	c.Proxy.Listen, c.Console.Listen, c.NATS.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.Proxy.Upstreams = []app.Upstream{{Prefix: "/v1", URL: o.Upstream}}
	c.Proxy.Keepalive = o.Keepalive
	if o.Heartbeat != "" {
		c.Proxy.Heartbeat = o.Heartbeat
	}
	if o.ParkAfter != 0 {
		c.Hold.Mode, c.Hold.ParkAfter = "park", o.ParkAfter
	}
	c.NATS.Dir = filepath.Join(dir, "data")
	c.Policy.File, c.Policy.FileNamed = filepath.Join(dir, "policy.yaml"), true
	if err := os.WriteFile(c.Policy.File, []byte(o.Policy), 0o600); err != nil {
		t.Fatal(err)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	h := &Heldcall{t: t, options: app.Options{Config: c, Log: log, Version: "test"}}
	h.start()
	t.Cleanup(func() { h.stop() })
	return h
}

// Restart stops heldcall in order, and starts it again with the same addresses and state after a gap.
func (h *Heldcall) Restart(gap time.Duration) {
	h.t.Helper()
	h.stop()
	time.Sleep(gap)
	c := &h.options.Config
	c.Proxy.Listen, c.Console.Listen = strings.TrimPrefix(h.Proxy, "http://"), strings.TrimPrefix(h.Console, "http://")
	h.start()
}

func (h *Heldcall) start() {
	h.t.Helper()
	a, err := app.New(h.options)
	if err != nil {
		h.t.Fatalf("making heldcall: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	h.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Errorf("heldcall ended with: %v", err)
		}
		h.stop = func() {}
	}
	select {
	case <-a.Started():
	case err := <-ended:
		ended <- nil
		h.t.Fatalf("heldcall did not start: %v", err)
	case <-time.After(time.Minute):
		h.t.Fatal("heldcall did not start within a minute")
	}
	h.Proxy, h.Console = "http://"+a.ProxyAddr(), a.ConsoleURL()
}
