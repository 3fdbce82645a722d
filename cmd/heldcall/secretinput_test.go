package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestLines: without a terminal each value is a line, and "" after the last.
func TestLines(t *testing.T) {
	t.Parallel()
	in := newSecretInput(strings.NewReader("one\r\ntwo"), io.Discard)
	for _, want := range []string{"one", "two", ""} {
		if got, err := in.value(t.Context(), "NAME"); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

// TestSignalEndsTheWait: a signal, which ends the context, ends the wait for a line.
func TestSignalEndsTheWait(t *testing.T) {
	t.Parallel()
	input, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if value, err := newSecretInput(input, io.Discard).value(ctx, "NAME"); !errors.Is(err, context.Canceled) || value != "" {
		t.Errorf("%q, %v", value, err)
	}
}
