package conformance

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
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
	Log       *slog.Logger  // nil discards
}

// Heldcall is a heldcall that runs in this process, its store in a folder of
// the test.
type Heldcall struct {
	Proxy   string // base URL of the proxy, without the prefix
	Console string // base URL of the console
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
	c.NATS.Dir = filepath.Join(dir, "data")
	c.Policy.File, c.Policy.FileNamed = filepath.Join(dir, "policy.yaml"), true
	if err := os.WriteFile(c.Policy.File, []byte(o.Policy), 0o600); err != nil {
		t.Fatal(err)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	a, err := app.New(app.Options{Config: c, Log: log, Version: "test"})
	if err != nil {
		t.Fatalf("making heldcall: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("heldcall ended with: %v", err)
		}
	})
	select {
	case <-a.Started():
	case err := <-ended:
		ended <- nil
		t.Fatalf("heldcall did not start: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("heldcall did not start within a minute")
	}
	return &Heldcall{Proxy: "http://" + a.ProxyAddr(), Console: a.ConsoleURL()}
}
