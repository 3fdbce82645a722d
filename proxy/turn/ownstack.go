package turn

import (
	"fmt"
	"runtime/debug"
)

// onOwnStack calls step on a goroutine of its own, waits for it and returns its result. Judging and
// recording calls need a deep stack, which stays as large until the next garbage
// collection, and there are few of those while all turns wait for people. So that stack
// ends with its goroutine, and the one that waits stays small. A panic in it is raised
// again here.
func onOwnStack[T any](step func() T) (result T) {
	var fault any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				fault = fmt.Sprintf("%v\n%s", r, debug.Stack())
			}
		}()
		result = step()
	}()
	<-done
	if fault != nil {
		panic(fault)
	}
	return result
}
