package notify

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
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

// IsPermanent reports whether an HTTP status refuses the message itself. Errors that an
// operator can correct, such as a wrong token or topic, are not permanent.
func IsPermanent(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	}
	return false
}

// ParseRetryAfter reads a header in seconds or as a date, up to a limit; 0 without it.
func ParseRetryAfter(header string, most time.Duration) time.Duration {
	after := time.Duration(0)
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if errors.Is(err, strconv.ErrRange) {
		after = most
	} else if at, err := http.ParseTime(header); err == nil {
		after = time.Until(at)
	}
	return min(max(after, 0), most)
}

var errBusy = errors.New("another replica is delivering this card")
