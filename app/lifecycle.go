package app

import (
	"context"
	"errors"
	"fmt"
)

// lifecycle is the stack of what runs: stop undoes the starts in reverse order,
// each under its name, all of them under one deadline.
type lifecycle struct {
	steps  []stopStep
	failed chan error
}

type stopStep struct {
	name string
	stop func(context.Context) error
}

func (l *lifecycle) started(name string, stop func(context.Context) error) {
	l.steps = append(l.steps, stopStep{name, stop})
}

// background runs fn until its context is cancelled by stop, which waits for
// it. If it returns with an error before, the app fails.
func (l *lifecycle) background(name string, fn func(context.Context) error) {
	if l.failed == nil {
		l.failed = make(chan error, 1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	failed := l.failed
	go func() {
		defer close(done)
		if err := fn(ctx); err != nil && ctx.Err() == nil {
			select {
			case failed <- fmt.Errorf("%s: %w", name, err):
			default:
			}
		}
	}()
	l.started(name, func(deadline context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-deadline.Done():
			return deadline.Err()
		}
	})
}

func (l *lifecycle) stop(ctx context.Context) error {
	var errs []error
	for i := len(l.steps) - 1; i >= 0; i-- {
		if err := l.steps[i].stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", l.steps[i].name, err))
		}
	}
	l.steps = nil
	return errors.Join(errs...)
}
