package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

const soon = 2 * time.Minute // bounds every wait; nothing is timed with it

// noExitSleep spares each program under the race detector a sleep of a second at its end.
const noExitSleep = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"heldcall": main, "stops-slowly": stopsSlowly, "asks-model": asksModel})
}

// stopsSlowly is a program that takes the duration in its argument to stop.
func stopsSlowly() {
	ctx, _ := untilSignal()
	if err := os.WriteFile("ready", []byte("ready"), 0o600); err != nil {
		panic(err)
	}
	<-ctx.Done()
	takes, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	time.Sleep(takes)
	fmt.Println("stopped")
}

// letHangUp has the programs that a test starts heed SIGHUP, which under nohup they
// rightly would not: a signal that is caught here is not ignored there.
func letHangUp(t *testing.T) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
}
