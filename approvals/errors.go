package approvals

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownRequest is returned for a request id that is not recorded.
	ErrUnknownRequest = errors.New("no such request")
	// ErrUnknownRun is returned for a run id that is not recorded.
	ErrUnknownRun = errors.New("no such run")
	// ErrUnknownDelegation is returned for a delegation id that is not recorded.
	ErrUnknownDelegation = errors.New("no such delegation")
	// ErrConflict is returned by a [Store] whose record was changed by another
	// writer since it was read.
	ErrConflict = errors.New("changed by another writer")
	// ErrRunAborted is returned for work of a run that a person has aborted.
	ErrRunAborted = errors.New("the run was aborted")
	// ErrTooLarge is returned for a request, decision or event that is larger
	// than one stored record may be.
	ErrTooLarge = errors.New("too large to record")
	// ErrStoreUnavailable wraps every failure to read or write durable state.
	ErrStoreUnavailable = errors.New("the store is not available")
)

// DecidedError says that a request had ended before a decision arrived. Request
// is how it ended: the loser is told who won.
type DecidedError struct{ Request Request }

func (e *DecidedError) Error() string {
	if d, ok := e.Request.FinalDecision(); ok {
		return fmt.Sprintf("request %s was already %s by %s", e.Request.ID, e.Request.Status, d.ReviewerID)
	}
	return fmt.Sprintf("request %s has already ended: %s", e.Request.ID, e.Request.Status)
}

// ForbiddenError says that a reviewer may not do what they asked for.
type ForbiddenError struct {
	Reviewer string
	Reason   string // who may
}

func (e *ForbiddenError) Error() string { return e.Reviewer + " may not do this: " + e.Reason }

// InvalidError says that a decision or signal cannot be taken as it stands.
// Field names the part that is wrong, in the payload's own spelling.
type InvalidError struct {
	Field  string
	Reason string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Reason }

// Unavailable returns an error of what was being done to the store that wraps
// [ErrStoreUnavailable] or [ErrTooLarge], whatever caused it.
func Unavailable(doing string, err error) error {
	if errors.Is(err, ErrStoreUnavailable) || errors.Is(err, ErrTooLarge) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w: %w", doing, ErrStoreUnavailable, err)
}
