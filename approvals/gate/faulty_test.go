package gate_test

import (
	"context"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
)

// faulty is a store with writes that fail before or after they are done.
type faulty struct {
	approvals.Store
	appendFails  func() bool
	publishFails func() bool
	createFails  func() bool
	getFails     func() bool
	updateFails  func() bool
}

func fails(f func() bool) bool { return f != nil && f() }

var errInjected = fmt.Errorf("injected: %w", approvals.ErrStoreUnavailable)

func (f *faulty) AppendEvents(ctx context.Context, events ...approvals.Event) error {
	if fails(f.appendFails) {
		return errInjected
	}
	return f.Store.AppendEvents(ctx, events...)
}

func (f *faulty) PublishRequest(ctx context.Context, r approvals.Request) error {
	if fails(f.publishFails) {
		return errInjected
	}
	return f.Store.PublishRequest(ctx, r)
}

func (f *faulty) CreateRequest(ctx context.Context, r approvals.Request) (uint64, error) {
	if fails(f.createFails) {
		return 0, errInjected
	}
	return f.Store.CreateRequest(ctx, r)
}

func (f *faulty) GetRequest(ctx context.Context, id string) (approvals.Stored, error) {
	if fails(f.getFails) {
		return approvals.Stored{}, errInjected
	}
	return f.Store.GetRequest(ctx, id)
}

func (f *faulty) UpdateRequest(ctx context.Context, r approvals.Request, revision uint64) (uint64, error) {
	if fails(f.updateFails) {
		return 0, errInjected
	}
	return f.Store.UpdateRequest(ctx, r, revision)
}
