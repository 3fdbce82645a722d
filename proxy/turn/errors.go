package turn

import (
	"cmp"
	"errors"
	"net/http"

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
	if e := (*intercept.Error)(nil); errors.As(err, &e) {
		return e
	}
	return &intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the answer ended early", Err: err}
}

// errRestarting is the error for an agent whose turn ends because heldcall stops.
func errRestarting() *intercept.Error {
	return &intercept.Error{Code: intercept.CodeShuttingDown, Reason: "heldcall is restarting; retry the request"}
}

// asError returns the *intercept.Error that err wraps, else one with a code.
func asError(err error, code intercept.Code) *intercept.Error {
	var e *intercept.Error
	if errors.As(err, &e) {
		return e
	}
	return &intercept.Error{Code: code, Reason: "the answer could not be processed", Err: err}
}

// redirects reports the statuses that clients follow to another address.
func redirects(status int) bool {
	return status >= 300 && status < 400 && status != http.StatusNotModified
}

// statusText is the text of a status.
func statusText(status int) string {
	return cmp.Or(http.StatusText(status), "Unknown Status Code")
}
