package console

import (
	"errors"
	"net/http"

	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/console/problem"
)

// viaOIDC is a sign-in at the provider, which opens a session.
const viaOIDC = "oidc"

// maxReturned bounds what a browser brings back: anybody may send it.
const maxReturned = 64 << 10

func (h *signInHandlers) beginOIDC(w http.ResponseWriter, r *http.Request) error {
	if err := h.offersOIDC(); err != nil {
		return err
	}
	// The page keeps the secret for its origin, and the provider sends the browser
	// back to that of console.url.
	if origin := r.Header.Get("Origin"); origin != "" && origin != h.origin {
		return problem.New(http.StatusForbidden, problem.CodeForeignOrigin,
			"the provider returns browsers to "+h.origin+"; open the console there to sign in")
	}
	if err := h.takeAttempt(w, r); err != nil {
		return err
	}
	begun, err := h.oidc.Begin(r.Context())
	if err != nil {
		return h.signInProblem(r, err)
	}
	return answer(w, begun)
}

// finishOIDC takes the code that the provider gave a browser and opens a session for
// the person whom the provider names.
func (h *signInHandlers) finishOIDC(w http.ResponseWriter, r *http.Request) error {
	if err := h.offersOIDC(); err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxReturned)
	returned, err := readJSON[oidc.Returned](w, r, "code", `the body is not {"code": "...", "state": "...", "secret": "..."}`)
	if err != nil {
		return err
	}
	inForce := h.auth.Reviewers.InForce()
	who, err := h.oidc.Finish(r.Context(), returned)
	if err != nil {
		return h.signInProblem(r, err)
	}
	by := proof{who: who, by: viaOIDC}
	if t, named := h.auth.Reviewers.TenureOf(who.Name); named {
		by.valid = t.Rights
	}
	if inForce.Err() != nil {
		return problem.New(http.StatusUnauthorized, problem.CodeSignInFailed, "console.reviewers has changed during the sign-in; sign in again")
	}
	return h.openSession(w, r, by)
}

func (h *signInHandlers) offersOIDC() error {
	if h.oidc == nil {
		return problem.New(http.StatusNotFound, problem.CodeNotFound, "console.oidc is not configured here; GET /api/v1/session lists the ways to sign in")
	}
	return nil
}

// signInProblem is the answer to a failed sign-in at the provider. The log has more
// of the error than strangers may read.
func (h *signInHandlers) signInProblem(r *http.Request, err error) error {
	refused := (*oidc.RefusedError)(nil)
	switch {
	case errors.As(err, &refused):
		h.log.Warn("sign-in refused", "reviewer", refused.Who, "reason", refused.Reason, "from", r.RemoteAddr)
		return problem.New(http.StatusForbidden, problem.CodeForbidden, refused.Reason)
	case errors.Is(err, oidc.ErrUnknown):
		h.log.Debug("sign-in refused: this browser has not begun it", "from", r.RemoteAddr)
		return problem.New(http.StatusUnauthorized, problem.CodeSignInFailed, "this sign-in has expired, has ended, or began in another browser; sign in again")
	case errors.Is(err, oidc.ErrRejected):
		h.log.Warn("sign-in refused", "error", err, "from", r.RemoteAddr)
		return problem.New(http.StatusUnauthorized, problem.CodeSignInFailed, "the provider's answer does not prove your identity (see heldcall's log); sign in again")
	case errors.Is(err, oidc.ErrUnavailable):
		h.log.Warn("sign-in failed: the provider is not available", "error", err)
		return problem.New(http.StatusBadGateway, problem.CodeProviderUnavailable, "the provider is not available (see heldcall's log); try again later, or sign in with a token")
	}
	return err
}
