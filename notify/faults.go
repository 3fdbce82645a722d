package notify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// SetupError is the error of a delivery that its service refuses until an operator corrects the
// setup: the token, the rights of the app, or the place of the cards. Another attempt cannot help
// before that.
type SetupError struct {
	Err  error
	Todo string // what the operator does, as a command: "invite the app"
}

func (e *SetupError) Error() string { return fmt.Sprintf("%v; %s", e.Err, e.Todo) }

// Unwrap is the error itself.
func (e *SetupError) Unwrap() error { return e.Err }

// faults are the places at which a channel can post nothing because of its setup. A delivery that
// succeeds there ends the fault.
type faults struct {
	gauge     prometheus.Gauge
	corrected chan struct{} // one place: a fault has ended, so pending requests may be announced

	mu     sync.Mutex
	errors map[string]string    // by target
	ended  map[string]time.Time // by target
	begin  time.Time            // of the process: the setup may be another than before
}

func newFaults(gauge prometheus.Gauge) *faults {
	return &faults{gauge: gauge, corrected: make(chan struct{}, 1), errors: map[string]string{}, ended: map[string]time.Time{}, begin: time.Now()}
}

// note notes an error of the setup, and reports whether it is new.
func (f *faults) note(target string, err error) (isNew bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := err.Error()
	isNew = f.errors[target] != text
	f.errors[target] = text
	f.gauge.Set(float64(len(f.errors)))
	return isNew
}

// end ends the fault of a target, if there is one.
func (f *faults) end(target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, had := f.errors[target]; !had {
		return
	}
	delete(f.errors, target)
	f.ended[target] = time.Now()
	f.gauge.Set(float64(len(f.errors)))
	select {
	case f.corrected <- struct{}{}:
	default:
	}
}

// refuses reports whether what was refused at a target at that time would be refused again.
func (f *faults) refuses(target string, refused time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return refused.After(f.begin) && refused.After(f.ended[target])
}

// list describes the faults.
func (f *faults) list() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, target := range slices.Sorted(maps.Keys(f.errors)) {
		if target != "" {
			list = append(list, target+": "+f.errors[target])
		} else {
			list = append(list, f.errors[target])
		}
	}
	return list
}

// Faults is the error of the channels that can post nothing, at some place or at all, until an
// operator corrects their setup; nil if there are none.
func (d *Dispatcher) Faults() error {
	var list []string
	for _, r := range d.channels() {
		for _, fault := range r.channel.faults.list() {
			list = append(list, r.channel.setup.Name+": "+fault)
		}
	}
	if list == nil {
		return nil
	}
	return errors.New(strings.Join(list, "; "))
}
