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
	// ErrUnknownSignal is returned for a principal without a recorded signal.
	ErrUnknownSignal = errors.New("no signal to this principal")
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
	// ErrUnknownTurn is returned for a held turn that is not stored, or no longer.
	ErrUnknownTurn = errors.New("no such held turn")
	// ErrTaken is returned to an agent's connection for a held turn that belongs to another
	// connection.
	ErrTaken = errors.New("the turn belongs to another connection")
	// ErrNoRoom is returned for a held turn that does not fit into hold.max_stored.
	ErrNoRoom = errors.New("no room to store the turn")
	// ErrNotRecorded is returned, with [ErrStoreUnavailable], for a write that was not tried
	// because it could not succeed.
	ErrNotRecorded = errors.New("not recorded")
	// ErrStoreUnavailable wraps every failure to read or write durable state.
	ErrStoreUnavailable = errors.New("the store is not available")
)

// DecidedError is returned for a decision on a request that has ended. Request has the
// decision that ended it.
type DecidedError struct{ Request Request }

func (e *DecidedError) Error() string {
	if d, ok := e.Request.FinalDecision(); ok {
		return fmt.Sprintf("request %s was already %s by %s", e.Request.ID, e.Request.Status, d.ReviewerID)
	}
	return fmt.Sprintf("request %s has already ended: %s", e.Request.ID, e.Request.Status)
}

// ForbiddenError is returned for an action that a reviewer may not take.
type ForbiddenError struct {
	Reviewer string
	Reason   string // names who may
}

func (e *ForbiddenError) Error() string { return e.Reviewer + " may not do this: " + e.Reason }

// Forbidden returns a [*ForbiddenError] with a formatted reason.
func Forbidden(reviewer, format string, args ...any) error {
	return &ForbiddenError{reviewer, fmt.Sprintf(format, args...)}
}

// InvalidError is returned for a decision, signal or grant with a wrong field. Field is its
// name in the payload.
type InvalidError struct {
	Field  string
	Reason string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Reason }

// Invalid returns an [*InvalidError] with a formatted reason.
func Invalid(field, format string, args ...any) error {
	return &InvalidError{field, fmt.Sprintf(format, args...)}
}

// FaultError is a failure of the store whose cause may be shown to agents and reviewers, such
// as "no space left on device". Err may contain paths.
type FaultError struct {
	Cause string
	Err   error
}

func (e *FaultError) Error() string { return e.Err.Error() }
func (e *FaultError) Unwrap() error { return e.Err }

// NotRecorded returns the text for a reviewer whose decision, signal or grant certainly has no
// effect because it could not be recorded.
func NotRecorded(err error) (text string, certain bool) {
	return Because("This is not recorded, because heldcall cannot write its state", err) + ". Try again when /readyz of the console answers 200.",
		errors.Is(err, ErrNotRecorded)
}

// Because returns a text for agents and reviewers with the cause of an error of the store, if
// that is known.
func Because(text string, err error) string {
	if fault := (*FaultError)(nil); errors.As(err, &fault) {
		return text + ": " + fault.Cause
	}
	return text
}

// Unavailable wraps an error of the store with what was being done. The result wraps
// [ErrStoreUnavailable] or [ErrTooLarge].
func Unavailable(doing string, err error) error {
	if errors.Is(err, ErrStoreUnavailable) || errors.Is(err, ErrTooLarge) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w: %w", doing, ErrStoreUnavailable, err)
}
