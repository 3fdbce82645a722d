package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

// public is the role of a route that asks nobody who they are.
const public reviewers.Role = ""

// How somebody proved who they are.
const (
	viaLocal   = "local"   // nobody had to
	viaToken   = "token"   // a bearer token in this request
	viaSession = "session" // the cookie and the key of a sign-in
)

// identity is who sent a request.
type identity struct {
	reviewers.Reviewer
	via     string
	session *session // with viaSession
}

type identityKey struct{}

// reviewerOf is who sent a request to a route that is not public.
func reviewerOf(r *http.Request) identity {
	who, _ := r.Context().Value(identityKey{}).(identity)
	return who
}

// admit finds out who sent a request and whether they have the role that its
// route needs. It returns the request with the identity that [reviewerOf] reads.
func (c *Console) admit(r *http.Request, needed reviewers.Role) (*http.Request, error) {
	if needed == public {
		return r, nil
	}
	who, err := c.identify(r)
	if err != nil {
		return r, err
	}
	if !who.Role.Includes(needed) {
		return r, lacksRole(who, needed)
	}
	return r.WithContext(context.WithValue(r.Context(), identityKey{}, who)), nil
}

func lacksRole(who identity, needed reviewers.Role) error {
	return problem.New(http.StatusForbidden, problem.CodeForbidden,
		fmt.Sprintf("%s has the role %s; this takes the role %s", who.Name, who.Role, needed))
}

// identify is who sent a request, by its token or else by its session. A token
// that is wrong is not made good by a session.
func (c *Console) identify(r *http.Request) (identity, error) {
	if c.reviewers == nil {
		return identity{Reviewer: reviewers.Local(), via: viaLocal}, nil
	}
	if given := r.Header.Values("Authorization"); len(given) > 0 {
		token, ok := bearer(given)
		if ok {
			if who, known := c.reviewers.ByToken(token); known {
				return identity{Reviewer: who, via: viaToken}, nil
			}
		}
		return identity{}, problem.New(http.StatusUnauthorized, problem.CodeWrongToken,
			"this is no reviewer's token; a token goes into the header Authorization: Bearer TOKEN, or HELDCALL_TOKEN of the command line")
	}
	cookie, err := r.Cookie(c.cookieName())
	if err == nil {
		if s := c.sessions.find(secrets{cookie: cookie.Value, key: sessionKey(r)}); s != nil {
			return identity{Reviewer: s.reviewer, via: viaSession, session: s}, writesFromOwnPage(r)
		}
	}
	return identity{}, problem.New(http.StatusUnauthorized, problem.CodeUnauthenticated,
		"say who you are: sign in at the console's page, or send a reviewer's token (Authorization: Bearer TOKEN; HELDCALL_TOKEN or --token on the command line)")
}

// bearer is the token of an Authorization header that is given once.
func bearer(values []string) (token string, ok bool) {
	scheme, token, found := strings.Cut(values[0], " ")
	return strings.TrimSpace(token), found && len(values) == 1 && strings.EqualFold(scheme, "Bearer")
}

// writesFromOwnPage refuses a write by cookie, or a WebSocket, whose origin no browser vouches
// for. That it is not a foreign one the guard has seen to.
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
