package main

import (
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/problem"
)

// The exit codes. `heldcall run` has those of its command.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDecided     = 3 // already decided, or no such request or grant
	exitUnreachable = 4 // no heldcall answers
)

// usageError is a command that cannot be carried out as it was given.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// exitCode returns the exit code of an error. Of several errors the first counts.
func exitCode(err error) int {
	var (
		failed      *launch.ExitError
		usage       *usageError
		decided     *approvals.DecidedError
		unreachable *client.UnreachableError
		reported    *problem.Problem
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &failed):
		return failed.Code
	case errors.As(err, &usage), errors.As(err, &reported) && reported.Code == problem.CodeBadRequest:
		return exitUsage
	case errors.As(err, &unreachable):
		return exitUnreachable
	case errors.As(err, &decided), errors.Is(err, approvals.ErrUnknownRequest), errors.Is(err, approvals.ErrUnknownGrant),
		errors.Is(err, approvals.ErrUnknownDelegation), errors.Is(err, approvals.ErrUnknownRun):
		return exitDecided
	}
	return exitFailed
}
