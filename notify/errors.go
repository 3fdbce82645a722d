package notify

import (
	"errors"
	"fmt"
	"time"
)

// PermanentError is an error of a delivery that another attempt cannot help.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap is the error itself.
func (e *PermanentError) Unwrap() error { return e.Err }

// Permanent marks a delivery as one that trying again cannot help.
func Permanent(err error) error { return &PermanentError{err} }

// RetryAfterError is an error of a delivery that a service accepts later. Nothing was
// posted.
type RetryAfterError struct {
	Err   error
	After time.Duration
}

func (e *RetryAfterError) Error() string {
	return fmt.Sprintf("%s (it may be tried again in %s)", e.Err, e.After)
}

// Unwrap is the error itself.
func (e *RetryAfterError) Unwrap() error { return e.Err }

// RetryAfter marks a delivery that the service did not take now. The whole channel
// pauses for that long.
func RetryAfter(err error, after time.Duration) error { return &RetryAfterError{err, after} }

var errBusy = errors.New("another replica is delivering this card")
