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

// What is in use is the first thing that the log says.
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
	want := `msg=configuration file="none, defaults" policy="none, so every call is asked about" data=` + filepath.Join(folder, "data")
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
