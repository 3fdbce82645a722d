package oidc

import "errors"

var (
	// ErrUnavailable reports that the provider did not answer, or not as one.
	ErrUnavailable = errors.New("the OpenID Connect provider is not available")
	// ErrUnknown reports a code for which this browser has begun no sign-in, or one
	// that has expired or ended.
	ErrUnknown = errors.New("this browser has not begun this sign-in, or it has ended")
	// ErrRejected reports that the provider refused the code, or that its answer proves
	// no identity.
	ErrRejected = errors.New("the provider's answer does not prove who you are")
)

// RefusedError reports that a person is known, and may not sign in.
type RefusedError struct {
	Who    string // "" if even that was missing
	Reason string
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }
