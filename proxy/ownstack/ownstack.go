// Package ownstack runs functions that need a deep stack.
package ownstack

import (
	"fmt"
	"runtime/debug"
	"time"
)

// Run calls step on a goroutine of its own, waits for it and returns its result. Judging and
// recording calls need a deep stack, which stays as large until the next garbage
// collection, and there are few of those while all turns wait for people. So that stack
// ends soon, and the one that waits stays small. A panic in it is raised again here.
func Run[T any](step func() T) (result T) {
	var fault any
	done := make(chan struct{})
	work := func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				fault = fmt.Sprintf("%v\n%s", r, debug.Stack())
			}
		}()
		result = step()
	}
	select {
	case idle <- work:
	default:
		go serve(work)
	}
	<-done
	if fault != nil {
		panic(fault)
	}
	return result
}

// idle has the goroutines that have just run a step: their stack has grown already, which costs
// more than the step of a usual call.
var idle = make(chan func())

// keep is the time for which a goroutine waits for another step.
const keep = 20 * time.Millisecond

// serve runs a step, and more while there are some.
func serve(work func()) {
	timer := time.NewTimer(keep)
	defer timer.Stop()
	for {
		work()
		timer.Reset(keep)
		select {
		case work = <-idle:
		case <-timer.C:
			return
		}
	}
}
