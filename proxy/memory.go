package proxy

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const (
	restWorth = 64               // holds whose beginning leaves enough behind to be worth it
	restAfter = time.Second      // without another hold: the burst is over
	restAgain = 15 * time.Second // later, when the store has let go of what it wrote too
)

// freeMemory collects garbage and gives all that is free back to the system. What
// lies in pools lives through one collection.
func freeMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}

// rest gives memory back when a burst of holds is over. Go collects garbage by what
// is allocated, and while all wait for people that is nothing: without this, what
// recording the holds needed would stay in memory beside them, and it is more than
// they are. For some hundred holds it takes milliseconds.
type rest struct {
	giveBack func()

	mu    sync.Mutex
	timer *time.Timer // nil while there is nothing to look after
	began int         // holds since the last look
	burst int         // holds since memory was given back
	again bool        // it is to be given back once more
	ended bool
}

// held says that a hold has begun.
func (r *rest) held() { r.left(1) }

// started says that the program has started, which leaves as much behind as a burst.
func (r *rest) started() { r.left(restWorth) }

// left says that so many holds' worth was left behind.
func (r *rest) left(holds int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began += holds; r.timer == nil && !r.ended {
		r.timer = time.AfterFunc(restAfter, r.look)
	}
}

// look gives memory back if the burst was one and is over.
func (r *rest) look() {
	if r.due() {
		r.giveBack()
	}
}

func (r *rest) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	quiet := r.began == 0
	r.burst, r.began = r.burst+r.began, 0
	switch {
	case !quiet:
		r.timer.Reset(restAfter)
		return false
	case r.burst >= restWorth:
		r.burst, r.again = 0, true
		r.timer.Reset(restAgain)
		return true
	}
	r.timer = nil
	due := r.again
	r.again = false
	return due
}

// end gives nothing back any more.
func (r *rest) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.timer != nil {
		r.timer.Stop()
	}
}
