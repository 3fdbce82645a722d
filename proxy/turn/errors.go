package turn

import (
	"errors"

	"github.com/heldcall/heldcall/intercept"
)

// ErrShuttingDown is the cause of a turn's context that ends because heldcall stops.
var ErrShuttingDown = errors.New("heldcall is shutting down")

// errDisconnected is the error of a turn whose agent has disconnected.
var errDisconnected = errors.New("the agent has left")

// errTakenOver is the error of a turn that continues for another connection.
var errTakenOver = errors.New("another connection of the agent has taken the turn over")

// Explain returns the error for an agent whose answer has ended with an error of Run
// before it started.
func Explain(err error) *intercept.Error {
	if errors.Is(err, ErrShuttingDown) {
		return errRestarting()
	}
	return intercept.AsError(err, intercept.CodeUpstreamCut, "the answer ended early")
}

// errRestarting is the error for an agent whose turn ends because heldcall stops.
func errRestarting() *intercept.Error {
	return &intercept.Error{Code: intercept.CodeShuttingDown, Reason: "heldcall is restarting; retry the request"}
}
