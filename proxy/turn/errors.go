package turn

import (
	"errors"

	"github.com/heldcall/heldcall/intercept"
)

// ErrShuttingDown is the cause of a turn's context that ends because heldcall stops.
var ErrShuttingDown = errors.New("heldcall is shutting down")

// Errors of turns that end without an answer.
var (
	errDisconnected = errors.New("the agent has left")
	errTakenOver    = errors.New("another connection of the agent has taken the turn over")
)

// Explain returns the error for an agent whose answer has ended with an error of Run
// before it started.
func Explain(err error) *intercept.Error {
	if errors.Is(err, ErrShuttingDown) {
		return errRestarting()
	}
	return intercept.AsError(err, intercept.CodeUpstreamCut, "the answer ended early")
}

func errRestarting() *intercept.Error {
	return &intercept.Error{Code: intercept.CodeShuttingDown, Reason: "heldcall is restarting; retry the request"}
}

func errHasKey() *intercept.Error {
	return intercept.NotUnderstood("a call contains the upstream's key")
}

func errNotCounted(err error) *intercept.Error {
	return &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: "the limits of the policy cannot be counted; try again", Err: err}
}
