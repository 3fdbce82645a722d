package intercept

import "errors"

// AsError returns the [*Error] that an error wraps, else one of its own; nil for nil.
func AsError(err error, code Code, reason string) *Error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Code: code, Reason: reason, Err: err}
}

// NotProcessed returns the error for an answer that a dialect has refused.
func NotProcessed(err error) *Error {
	return AsError(err, CodeAnswerNotUnderstood, "the answer could not be processed")
}

// Refusal returns the error for a request that a dialect has refused, nil for nil.
func Refusal(err error) *Error {
	return AsError(err, CodeBadRequest, "the request could not be processed")
}
