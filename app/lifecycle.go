package app

import (
	"context"
	"errors"
	"fmt"
)

// lifecycle is a stack of running parts. Stop stops them in the reverse order of their
// starts, all under one deadline; its errors name the part.
type lifecycle struct {
	steps  []stopStep
	failed chan error // receives the first error of a background function
}

func newLifecycle() *lifecycle { return &lifecycle{failed: make(chan error, 1)} }

type stopStep struct {
	name string
	stop func(context.Context) error
}

func (l *lifecycle) started(name string, stop func(context.Context) error) {
	l.steps = append(l.steps, stopStep{name, stop})
}

// background runs fn until stop cancels its context and waits for it. If fn returns an
// error before that, the app fails.
func (l *lifecycle) background(name string, fn func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := fn(ctx); err != nil && ctx.Err() == nil {
			select {
			case l.failed <- fmt.Errorf("%s: %w", name, err):
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

// awaitReady returns when a background function is ready, or why it will not be.
func (l *lifecycle) awaitReady(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case err := <-l.failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
