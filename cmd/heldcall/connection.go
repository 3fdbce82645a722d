package main

import (
	"context"
	"errors"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/connect"
	"github.com/heldcall/heldcall/internal/lookup"
)

// connection identifies the running heldcall that a command talks to.
type connection struct{ connect.Flags }

// dial makes a client of the console.
func (c connection) dial(ctx context.Context, s *streams) (*client.Client, error) {
	return c.Dial(ctx, connect.Terminal{In: s.in, Out: s.err})
}

// oneRequest is what a command takes that is about one request.
type oneRequest struct {
	connection
	outputFlag
	ID *string `arg:"" optional:"" help:"Request ${id}. Without it: the only pending request."`
}

// find returns the request, and the console that has it.
func (o oneRequest) find(ctx context.Context, s *streams) (*client.Client, approvals.Request, error) {
	console, err := o.dial(ctx, s)
	if err != nil {
		return nil, approvals.Request{}, err
	}
	request, err := resolve(ctx, console, o.ID)
	return console, request, err
}

// resolve finds a request by its id or a part of it, see [lookup.Request], or, without an
// id, the only pending one. An id that is empty, as of a variable in a script, is an error.
func resolve(ctx context.Context, c *client.Client, id *string) (r approvals.Request, err error) {
	if id == nil {
		r, err = lookup.Only(ctx, c)
	} else {
		r, err = lookup.Request(ctx, c, *id)
	}
	if errors.Is(err, lookup.ErrVague) {
		err = &usageError{err}
	}
	return r, err
}
