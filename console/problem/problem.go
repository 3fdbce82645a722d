// Package problem is the form in which the console reports an error: RFC 9457
// problem details. The server writes it and the Go client reads it.
package problem

import (
	"net/http"

	"github.com/heldcall/heldcall/approvals"
)

// ContentType is the media type of a [Problem].
const ContentType = "application/problem+json"

// The codes of a problem. They are stable; titles and details are not.
const (
	CodeBadRequest       = "bad_request"        // 400: the query or the form of the request
	CodeUnauthenticated  = "unauthenticated"    // 401: who sent it is not known
	CodeWrongToken       = "wrong_token"        // 401: no reviewer has this token
	CodeSignInFailed     = "sign_in_failed"     // 401: the answer of the provider proves no identity
	CodeForbidden        = "forbidden"          // 403: who sent it may not
	CodeForeignOrigin    = "foreign_origin"     // 403: sent by a page of another site
	CodeForeignHost      = "foreign_host"       // 403: reached under a name that is not the console's
	CodeNotFound         = "not_found"          // 404
	CodeMethodNotAllowed = "method_not_allowed" // 405
	CodeAlreadyDecided   = "already_decided"    // 409: Request and Decision are the outcome
	CodeTooLarge         = "too_large"          // 413
	CodeUnsupportedType  = "unsupported_type"   // 415: the body is not application/json
	CodeInvalid          = "invalid"            // 422: Field and Reason name it
	CodeUpgradeRequired  = "upgrade_required"   // 426: a WebSocket
	CodeTooManyAttempts  = "too_many_attempts"  // 429: to sign in
	CodeTooManySockets   = "too_many_sockets"   // 429: of this reviewer, or of all
	CodeInternal         = "internal"           // 500
	// CodeProviderUnavailable is 502: the OpenID Connect provider cannot be used now.
	CodeProviderUnavailable = "provider_unavailable"
	CodeStoreUnavailable    = "store_unavailable" // 503
	CodeNotReady            = "not_ready"         // 503: Checks has the reasons
	typePrefix              = "urn:heldcall:problem:"
)

// Problem is the body of every answer that is an error. The last fields are
// there only for the codes that name them.
type Problem struct {
	Type   string `json:"type"` // urn:heldcall:problem: and the code
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"` // the cause and the remedy
	Code   string `json:"code"`

	Field    string              `json:"field,omitempty"`
	Reason   string              `json:"reason,omitempty"`
	Request  *approvals.Request  `json:"request,omitempty"`
	Decision *approvals.Decision `json:"decision,omitempty"`
	Checks   []Check             `json:"checks,omitempty"`
}

// Check is the outcome of one readiness check.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// New makes a problem; the title is that of the status.
func New(status int, code, detail string) *Problem {
	return &Problem{Type: typePrefix + code, Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }
