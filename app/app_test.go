package app

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// unset is an environment without variables.
func unset(string) (string, bool) { return "", false }

// The log begins with the configuration in use.
func TestLogBeginsWithWhatIsInUse(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	c := DefaultConfig(unset)
	c.Proxy.Listen, c.Console.Listen, c.NATS.Listen = "127.0.0.1:0", "127.0.0.1:0", ""
	var log bytes.Buffer
	a, err := New(Options{Config: c, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := a.Run(ctx); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(log.String(), "\n")
	want := `msg=configuration file="none, defaults" policy="none, so people are asked about every call" data=` + filepath.Join(folder, "data")
	if !strings.HasSuffix(first, want) {
		t.Errorf("the log begins with %s", first)
	}
}

// A NATS server that is not there is named with the key that names it, and
// without its password.
func TestUnreachableNATSIsNamed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	c := DefaultConfig(unset)
	c.Proxy.Listen, c.Console.Listen = "127.0.0.1:0", "127.0.0.1:0" // both ports open before the store is reached
	c.NATS.URL = "nats://me:secret@" + address + ", nats://" + address
	a, err := New(Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err = a.Run(ctx)
	if err == nil || !strings.HasPrefix(err.Error(), "nats.url nats://"+address+",nats://"+address+": ") || strings.Contains(err.Error(), "secret") {
		t.Errorf("it fails with %v", err)
	}
}

// The NATS service has the version that `heldcall version` prints.
func TestServiceHasTheVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                               "1.2.3",
		"v0.0.0-devel":                         "0.0.0-devel",
		"v0.0.0-20261121122034-ab9d05bd14fb":   "0.0.0-20261121122034-ab9d05bd14fb",
		"v0.0.0-20261121122034-ab9d05bd+dirty": "0.0.0-20261121122034-ab9d05bd",
		"":                                     "0.0.0",
	} {
		if got := serviceVersion(version); got != want {
			t.Errorf("of %q it is %q, want %q", version, got, want)
		}
	}
}
