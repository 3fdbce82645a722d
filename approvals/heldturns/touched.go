package heldturns

import (
	"maps"
	"slices"
	"sync"
)

// touched are the turns that may have work in the background.
type touched struct {
	wake chan struct{} // receives when there are some

	mu  sync.Mutex
	ids map[string]bool
}

func (x *touched) add(id string) {
	x.mu.Lock()
	x.ids[id] = true
	x.mu.Unlock()
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// take returns the turns since the last call.
func (x *touched) take() (ids []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ids = slices.Collect(maps.Keys(x.ids))
	clear(x.ids)
	return ids
}
