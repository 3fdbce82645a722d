package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

// public is the role of a route that needs no authentication.
const public reviewers.Role = ""

// How a sender was authenticated.
const (
	viaLocal   = "local"   // not at all: there are no reviewers
	viaToken   = "token"   // a bearer token in this request
	viaSession = "session" // the cookie and the key of a sign-in
)

// staleToken is the text about a token that a run does not know.
const staleToken = "Unknown token: each `heldcall run` has a new one, and this is probably that of an earlier run."

// identity is the sender of a request.
type identity struct {
	reviewers.Reviewer
	Via     string   // local, token or session
	Session *session // with ViaSession
	// Rights ends when the configuration gives the sender other rights, or none; nil: it cannot.
	Rights context.Context
}

// Over returns why the sender no longer is who they were, nil while they are.
func (i identity) Over() error {
	switch {
	case i.Session != nil && i.Session.over():
		return errSessionOver
	case i.Rights != nil && i.Rights.Err() != nil:
		return errRightsOver
	}
	return nil
}

// EndWith calls end at the end of the session, if the sender has one, and when their rights change, unless stop is
// called before.
func (i identity) EndWith(end func(reason error)) (stop func()) {
	atSession, atRights := func() bool { return true }, func() bool { return true }
	if i.Session != nil {
		atSession = i.Session.onEnd(func() { end(errSessionOver) })
	}
	if i.Rights != nil {
		atRights = context.AfterFunc(i.Rights, func() { end(errRightsOver) })
	}
	return func() { atSession(); atRights() }
}

type identityKey struct{}

// reviewerOf returns the sender of a request to a route that is not public.
func reviewerOf(r *http.Request) identity {
	who, _ := r.Context().Value(identityKey{}).(identity)
	return who
}

// authenticator authenticates the senders of requests, by tokens and sessions. It is
// safe for concurrent use.
type authenticator struct {
	Reviewers *reviewers.Directory // nil without any: every sender is the reviewer "local"
	Sessions  *sessions
	Secure    bool // browsers use HTTPS
}

// Admit authenticates the sender of a request and compares the role with the one
// that the route needs. It returns the request with the identity that [reviewerOf]
// reads.
func (a *authenticator) Admit(r *http.Request, needed reviewers.Role) (*http.Request, error) {
	if needed == public {
		return r, nil
	}
	who, err := a.identify(r)
	if err != nil {
		return r, err
	}
	if !who.Role.Includes(needed) {
		return r, lacksRole(who, needed)
	}
	return r.WithContext(withSender(r.Context(), who)), nil
}

// lacksRole refuses a sender without the role that is needed.
func lacksRole(who identity, needed reviewers.Role) error {
	return problem.New(http.StatusForbidden, problem.CodeForbidden,
		fmt.Sprintf("%s has the role %s; this takes the role %s", who.Name, who.Role, needed))
}

// identify returns the sender of a request, by its token or else by its session. A
// request with a wrong token is refused even if it has a session.
func (a *authenticator) identify(r *http.Request) (identity, error) {
	if a.Reviewers == nil {
		return identity{Reviewer: reviewers.Local(), Via: viaLocal}, nil
	}
	if given := r.Header.Values("Authorization"); len(given) > 0 {
		token, ok := bearer(given)
		if ok {
			if who, known := a.Reviewers.ByToken(token); known {
				return identity{Reviewer: who.Reviewer, Via: viaToken, Rights: who.Rights}, nil
			}
		}
		detail := "unknown token; send a reviewer's token as Authorization: Bearer TOKEN, on the command line in HELDCALL_TOKEN"
		if a.Reviewers.OnlyLocal() {
			detail = staleToken + " On the command line HELDCALL_TOKEN or --token-file has it: use the token that this run printed."
		}
		return identity{}, problem.New(http.StatusUnauthorized, problem.CodeWrongToken, detail)
	}
	cookie, err := r.Cookie(a.cookieName())
	if err == nil {
		if s := a.Sessions.find(sessionSecrets{Cookie: cookie.Value, Key: sessionKey(r)}); s != nil {
			if who, ok := a.senderOf(s); ok {
				return who, writesFromOwnPage(r)
			}
		}
	}
	return identity{}, problem.New(http.StatusUnauthorized, problem.CodeUnauthenticated,
		"not signed in: sign in at the console's page, or send a reviewer's token (Authorization: Bearer TOKEN; HELDCALL_TOKEN or --token on the command line)")
}

// senderOf returns the sender of a session, with the rights that they have now; ok is false for a person who signed in
// at the provider before the configuration named them.
func (a *authenticator) senderOf(s *session) (who identity, ok bool) {
	inForce := a.Reviewers.InForce()
	if s.By == viaToken {
		t, known := a.Reviewers.TenureOf(s.Reviewer.Name)
		return identity{Reviewer: t.Reviewer, Via: viaSession, Session: s, Rights: t.Rights}, known
	}
	if _, known := a.Reviewers.ByAddress(s.Reviewer.Name); known != s.Named {
		a.Sessions.close(s)
		return identity{}, false
	}
	return identity{Reviewer: s.Reviewer, Via: viaSession, Session: s, Rights: inForce}, true
}

// bearer is the token of an Authorization header that is given once.
func bearer(values []string) (token string, ok bool) {
	scheme, token, found := strings.Cut(values[0], " ")
	return strings.TrimSpace(token), found && len(values) == 1 && strings.EqualFold(scheme, "Bearer")
}

// writesFromOwnPage refuses a write by cookie, or a WebSocket, if no browser reports
// its origin. The guard has refused foreign origins before.
func writesFromOwnPage(r *http.Request) error {
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && !isHandshake(r) {
		return nil
	}
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return problem.New(http.StatusForbidden, problem.CodeForeignOrigin,
			"a write by cookie comes from the console's own page in a browser; a program sends its token")
	}
	return nil
}

// Cookie is the cookie of a session: scripts cannot read it, and other sites cannot
// make a browser send it. Other ports of this host receive it: see [sessionKeyHeader].
func (a *authenticator) Cookie(secret string, expires time.Time) *http.Cookie {
	cookie := &http.Cookie{
		Name: a.cookieName(), Value: secret, Path: "/", Expires: expires,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: a.Secure,
	}
	if secret == "" {
		cookie.MaxAge = -1
	}
	return cookie
}

// cookieName binds the cookie to HTTPS and to this host, where there is HTTPS.
func (a *authenticator) cookieName() string {
	if a.Secure {
		return "__Host-heldcall_session"
	}
	return "heldcall_session"
}

// isHandshake reports whether a request asks for a WebSocket, as far as a browser
// could make it.
func isHandshake(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// sessionKey is the key of a session in a request: in a header, or as a subprotocol
// of the WebSocket.
func sessionKey(r *http.Request) string {
	if key := r.Header.Get(sessionKeyHeader); key != "" {
		return key
	}
	if r.URL.Path != live.Path {
		return ""
	}
	for offered := range strings.SplitSeq(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), ",") {
		if key, ok := strings.CutPrefix(strings.TrimSpace(offered), live.KeyProtocol); ok {
			return key
		}
	}
	return ""
}
