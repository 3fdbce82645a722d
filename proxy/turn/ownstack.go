package turn

import (
	"fmt"
	"runtime/debug"
)

// onOwnStack runs a part of a step on a goroutine of its own and waits for it. Judging and
// recording calls need a deep stack, which stays as large until the next garbage
// collection, and there are few of those while all turns wait for people. So that stack
// ends with its goroutine, and the one that waits stays small. A panic in it is raised
// again here.
func onOwnStack(step func() State) (next State) {
	var fault any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				fault = fmt.Sprintf("%v\n%s", r, debug.Stack())
			}
		}()
		next = step()
	}()
	<-done
	if fault != nil {
		panic(fault)
	}
	return next
}
