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
func onOwnStack[T any](step func() T) T { return begin(step).wait() }

// whileBeating calls a step that waits for durable state, and returns its result. An agent whose
// answer has begun gets the heartbeats that fall due meanwhile. The step uses neither the agent nor
// the answer.
func whileBeating[T any](o *output, step func() T) T {
	if !o.agent.Started() {
		return step()
	}
	taken := o.stored.taken() // before the step, which may store the turn
	r := begin(step)
	o.beatUntil(r.done, taken)
	return r.wait()
}

// running is a step on its own goroutine.
type running[T any] struct {
	done   chan struct{}
	result T
	fault  any
}

func begin[T any](step func() T) *running[T] {
	r := &running[T]{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer func() {
			if fault := recover(); fault != nil {
				r.fault = fmt.Sprintf("%v\n%s", fault, debug.Stack())
			}
		}()
		r.result = step()
	}()
	return r
}

// wait waits for the end of the step.
func (r *running[T]) wait() T {
	<-r.done
	if r.fault != nil {
		panic(r.fault)
	}
	return r.result
}
