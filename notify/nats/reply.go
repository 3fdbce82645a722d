package nats

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// The codes of an error reply.
const (
	CodeUnknownRequest   = "unknown_request"
	CodeUnknownRun       = "unknown_run"
	CodeUnknownGrant     = "unknown_grant"
	CodeAlreadyDecided   = "already_decided" // with the request as it ended
	CodeInvalid          = "invalid"
	CodeUnknownReviewer  = "unknown_reviewer"
	CodeForbidden        = "forbidden"         // the reviewer may not
	CodeInternal         = "internal"          // see heldcall's log
	CodeStoreUnavailable = "store_unavailable" // the outcome is unknown: read the request
)

// Codes are all that a [Failure] can have.
func Codes() []string {
	return []string{
		CodeUnknownRequest, CodeUnknownRun, CodeUnknownGrant, CodeAlreadyDecided, CodeInvalid,
		CodeUnknownReviewer, CodeForbidden, CodeInternal, CodeStoreUnavailable,
	}
}

// Failure is the reply to a message that was refused.
type Failure struct {
	Code    string             `json:"code"`
	Message string             `json:"message"`
	Field   string             `json:"field,omitempty"`   // of the payload, with CodeInvalid
	Request *approvals.Request `json:"request,omitempty"` // with CodeAlreadyDecided
}

// errInternal answers what made heldcall panic.
var errInternal = errors.New("internal error (see heldcall's log); the message may or may not have had an effect: read the record")

func failureOf(err error) Failure {
	f := Failure{Code: CodeStoreUnavailable, Message: err.Error()}
	var decided *approvals.DecidedError
	var invalid *approvals.InvalidError
	var forbidden *approvals.ForbiddenError
	switch {
	case errors.As(err, &decided):
		f.Code, f.Request = CodeAlreadyDecided, &decided.Request
	case errors.As(err, &invalid):
		f.Code, f.Field = CodeInvalid, invalid.Field
	case errors.As(err, &forbidden):
		f.Code = CodeForbidden
	case errors.Is(err, approvals.ErrTooLarge):
		f.Code = CodeInvalid
	case errors.Is(err, approvals.ErrUnknownRequest):
		f.Code, f.Message = CodeUnknownRequest, "there is no request with this id; heldcall.v1.svc.requests.list lists them"
	case errors.Is(err, approvals.ErrUnknownRun):
		f.Code, f.Message = CodeUnknownRun, "no run with this id had a call or a signal; heldcall.v1.svc.runs.list lists runs"
	case errors.Is(err, approvals.ErrUnknownGrant):
		f.Code, f.Message = CodeUnknownGrant, "there is no grant with this id, or it was revoked; heldcall.v1.svc.grants.list lists them"
	case errors.Is(err, errInternal):
		f.Code = CodeInternal
	case errors.Is(err, errUnknownReviewer):
		f.Code = CodeUnknownReviewer
	case errors.Is(err, approvals.ErrStoreUnavailable):
		var certain bool
		if f.Message, certain = approvals.NotRecorded(err); !certain {
			f.Message = approvals.Because("the store does not answer (see heldcall's log)", err) + ". A decision may or may not be recorded: read the request, and send the decision again if it is pending"
		}
	}
	return f
}

// mayReply refuses the reply subjects on which heldcall may publish and the sender may
// not: JetStream's and its own.
func mayReply(reply string) bool {
	return !strings.HasPrefix(reply, "$") && !strings.HasPrefix(reply, "heldcall.")
}

func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
