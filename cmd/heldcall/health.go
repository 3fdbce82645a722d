package main

import (
	"context"
	"fmt"
	"time"
)

// healthTimeout is how long the command waits for an answer. Heldcall's own checks take
// less.
const healthTimeout = 5 * time.Second

type healthCommand struct{ connection }

// Run fails unless a running heldcall can hold and release calls. It needs no
// shell and no other program, so that a container image can use it as its health check.
func (c *healthCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, &streams{}) // it needs no token
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if err := console.Ready(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "ready")
	return err
}
