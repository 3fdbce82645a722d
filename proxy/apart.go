package proxy

import (
	"fmt"
	"runtime/debug"
)

// apart is a state that is gone through on a goroutine of its own while the
// exchange's waits for it. What judges and records calls is deep, and a stack stays
// as large as it once was until the next garbage collection, of which there are few
// while all wait for people: so the stack goes, and the one that waits stays small.
func apart(s state) state {
	return func(x *exchange) (next state) {
		var fault any
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if r := recover(); r != nil {
					fault = fmt.Sprintf("%v\n%s", r, debug.Stack())
				}
			}()
			next = s(x)
		}()
		<-done
		if fault != nil {
			panic(fault)
		}
		return next
	}
}
