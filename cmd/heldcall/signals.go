package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
)

// haste is how long after the first signal others count as that one: a key
// pressed twice, or a supervisor that signals the process and its group.
const haste = time.Second

// untilSignal returns a context that ends with the first signal to stop: an
// interrupt, SIGTERM, or SIGHUP that is not handed on. Commands then stop in
// order. A signal that comes later than haste ends the process at once.
func untilSignal() (context.Context, *hangups) {
	ctx, cancel := context.WithCancel(context.Background())
	hup := newHangups()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, launch.NotIgnored(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)...)
	go func() {
		for sig := range signals {
			if sig != syscall.SIGHUP || !hup.handOn() {
				break
			}
		}
		cancel()
		time.Sleep(haste)
		signal.Stop(signals)
	}()
	return ctx, hup
}

// hangups passes SIGHUP on to a command that reads its files again then. It does not where
// the terminal has closed in which heldcall was started: then heldcall stops.
type hangups struct {
	terminal bool // there was one at the start
	taken    atomic.Bool
	c        chan struct{}
}

func newHangups() *hangups { return &hangups{terminal: hasTerminal(), c: make(chan struct{}, 1)} }

// take yields a value for each SIGHUP from now on, or one for several.
func (h *hangups) take() <-chan struct{} {
	h.taken.Store(true)
	return h.c
}

// handOn reports whether a SIGHUP was handed on.
func (h *hangups) handOn() bool {
	if !h.taken.Load() || (h.terminal && !hasTerminal()) {
		return false
	}
	select {
	case h.c <- struct{}{}:
	default: // one is waiting
	}
	return true
}
