package console

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/console/problem"
)

type me struct {
	reviewers.Reviewer
	DecidesFor []delegator `json:"decides_for,omitempty"` // whose groups count too, by their delegations
	// SelfApproval is true where they may approve what agents ask that act for them.
	SelfApproval bool       `json:"self_approval"`
	Via          string     `json:"via"`                  // local, token or session
	ExpiresAt    *time.Time `json:"expires_at,omitempty"` // of the session
	Key          string     `json:"key,omitempty"`        // of the session, in the answer to a sign-in only: see sessionKeyHeader
}

type delegator struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
}

type signInHandlers struct {
	auth         *authenticator
	gate         scopedGate
	oidc         *oidc.Provider // nil without one
	origin       string         // of console.url, to which the provider sends browsers back
	attempts     *attempts
	selfApproval bool
	log          *slog.Logger
}

func (h *signInHandlers) showMe(w http.ResponseWriter, r *http.Request) error {
	return answer(w, h.describe(r.Context(), reviewerOf(r)))
}

func (h *signInHandlers) describe(ctx context.Context, who identity) me {
	m := me{Reviewer: who.Reviewer, DecidesFor: h.delegators(withSender(ctx, who), who.Name), SelfApproval: h.selfApproval || h.auth.Reviewers == nil, Via: who.Via}
	if m.Groups == nil {
		m.Groups = []string{}
	}
	if who.Session != nil {
		m.ExpiresAt = &who.Session.Expires
	}
	return m
}

func (h *signInHandlers) delegators(ctx context.Context, of string) []delegator {
	if h.auth.Reviewers == nil {
		return nil
	}
	var all []delegator
	for _, d := range h.gate.Delegations(ctx) {
		from, known := h.auth.Reviewers.ByName(d.From)
		if d.To == of && known && !slices.ContainsFunc(all, func(d delegator) bool { return d.Name == from.Name }) {
			all = append(all, delegator{from.Name, append([]string{}, from.Groups...)})
		}
	}
	return all
}

// signInMethods is how a browser may sign in; nothing is needed where there are
// none.
type signInMethods struct {
	Methods []string `json:"methods"`
}

func (h *signInHandlers) showMethods(w http.ResponseWriter, _ *http.Request) error {
	methods := signInMethods{Methods: []string{}}
	if h.oidc != nil {
		methods.Methods = append(methods.Methods, viaOIDC)
	}
	if h.auth.Reviewers != nil && h.auth.Reviewers.HasTokens() {
		methods.Methods = append(methods.Methods, viaToken)
	}
	return answer(w, methods)
}

type signInPayload struct {
	Token string `json:"token"`
}

// signIn takes a reviewer's token and gives the browser a session in its place.
func (h *signInHandlers) signIn(w http.ResponseWriter, r *http.Request) error {
	if h.auth.Reviewers == nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, "no sign-in is needed: no reviewers are configured, so every client of this console is the reviewer \"local\"")
	}
	if err := h.takeAttempt(w, r); err != nil {
		return err
	}
	given, err := readJSON[signInPayload](w, r, "token", `the body is not {"token": "..."}`)
	if err != nil {
		return err
	}
	who, known := h.auth.Reviewers.ByToken(strings.TrimSpace(given.Token))
	if !known {
		h.log.Warn("sign-in refused: unknown token", "from", r.RemoteAddr)
		detail := "Unknown token. Ask your administrator for one (heldcall token create)."
		if h.auth.Reviewers.OnlyLocal() {
			detail = staleToken + " Open the link that this run printed."
		}
		return problem.New(http.StatusUnauthorized, problem.CodeWrongToken, detail)
	}
	return h.openSession(w, r, proof{who.Reviewer, viaToken, who.Access})
}

// takeAttempt counts a sign-in against what its address may try.
func (h *signInHandlers) takeAttempt(w http.ResponseWriter, r *http.Request) error {
	wait := h.attempts.take(r.RemoteAddr)
	if wait == 0 {
		return nil
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return problem.New(http.StatusTooManyRequests, problem.CodeTooManyAttempts, "too many attempts to sign in from this address; wait a little")
}

func (h *signInHandlers) openSession(w http.ResponseWriter, r *http.Request, by proof) error {
	who := by.who
	opened, issued := h.auth.Sessions.open(by)
	http.SetCookie(w, h.auth.Cookie(issued.Cookie, opened.Expires))
	h.log.Info("signed in", "reviewer", who.Name, "role", who.Role, "by", by.by, "from", r.RemoteAddr)
	self := h.describe(r.Context(), identity{Reviewer: who, Via: viaSession, Session: opened})
	self.Key = issued.Key
	return answer(w, self)
}

func (h *signInHandlers) signOut(w http.ResponseWriter, r *http.Request) error {
	who := reviewerOf(r)
	if who.Session != nil {
		h.auth.Sessions.close(who.Session)
		h.log.Info("signed out", "reviewer", who.Name)
	}
	http.SetCookie(w, h.auth.Cookie("", time.Unix(0, 0)))
	w.WriteHeader(http.StatusNoContent)
	return nil
}
