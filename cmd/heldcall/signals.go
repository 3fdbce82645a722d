package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// haste is how long after the first signal others count as that one: a key
// pressed twice, or a supervisor that tells the process and its group.
const haste = time.Second

// untilSignal returns a context that ends with the first signal to stop: an
// interrupt, SIGTERM, or SIGHUP when the terminal closes. Commands then stop in
// order. A signal that comes later than haste ends the process at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, heeded(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)...)
	go func() {
		<-signals
		cancel()
		time.Sleep(haste)
		signal.Stop(signals)
	}()
	return ctx
}

// heeded leaves out the signals that heldcall was started to ignore, as nohup
// does.
func heeded(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, signal.Ignored)
}
