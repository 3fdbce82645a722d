package console

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

// me is what a reviewer is told of themselves.
type me struct {
	reviewers.Reviewer
	DecidesFor []delegator `json:"decides_for,omitempty"` // whose groups count too, by their delegations
	// SelfApproval is true where they may approve what agents ask that act for them.
	SelfApproval bool       `json:"self_approval"`
	Via          string     `json:"via"`                  // local, token or session
	ExpiresAt    *time.Time `json:"expires_at,omitempty"` // of the session
	Key          string     `json:"key,omitempty"`        // of the session, in the answer to a sign-in only: see sessionKeyHeader
}

// delegator is a reviewer in whose place another may decide.
type delegator struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
}

// showMe answers who the sender is.
func (c *Console) showMe(w http.ResponseWriter, r *http.Request) error {
	return answer(w, c.describe(reviewerOf(r)))
}

func (c *Console) describe(who identity) me {
	m := me{Reviewer: who.Reviewer, DecidesFor: c.delegators(who.Name), SelfApproval: c.selfApproval || c.reviewers == nil, Via: who.via}
	if m.Groups == nil {
		m.Groups = []string{}
	}
	if who.session != nil {
		m.ExpiresAt = &who.session.expires
	}
	return m
}

// delegators are the reviewers in whose place another may decide now.
func (c *Console) delegators(of string) []delegator {
	if c.reviewers == nil {
		return nil
	}
	var all []delegator
	for _, d := range c.gate.Delegations() {
		from, known := c.reviewers.ByName(d.From)
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

// showSignIn answers how one signs in.
func (c *Console) showSignIn(w http.ResponseWriter, _ *http.Request) error {
	methods := signInMethods{Methods: []string{}}
	if c.oidc != nil {
		methods.Methods = append(methods.Methods, viaOIDC)
	}
	if c.reviewers != nil && c.reviewers.HasTokens() {
		methods.Methods = append(methods.Methods, viaToken)
	}
	return answer(w, methods)
}

// signInPayload is the body of a sign-in.
type signInPayload struct {
	Token string `json:"token"`
}

// signIn takes a reviewer's token and gives the browser a session in its place.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) error {
	if c.reviewers == nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, "nobody signs in here: no reviewers are configured, and whoever reaches this console is the reviewer \"local\"")
	}
	if err := c.takeAttempt(w, r); err != nil {
		return err
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	var given signInPayload
	if err := json.Unmarshal(body, &given, json.RejectUnknownMembers(true)); err != nil {
		return &approvals.InvalidError{Field: "token", Reason: `the body is not {"token": "..."}`}
	}
	who, known := c.reviewers.ByToken(strings.TrimSpace(given.Token))
	if !known {
		c.log.Warn("a sign-in was refused: no reviewer has this token", "from", r.RemoteAddr)
		return problem.New(http.StatusUnauthorized, problem.CodeWrongToken, "this is no reviewer's token; `heldcall token create` makes one, and console.reviewers of the configuration holds its hash")
	}
	return c.openSession(w, r, who, viaToken)
}

// takeAttempt counts a sign-in against what its address may try.
func (c *Console) takeAttempt(w http.ResponseWriter, r *http.Request) error {
	wait := c.attempts.take(r.RemoteAddr)
	if wait == 0 {
		return nil
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return problem.New(http.StatusTooManyRequests, problem.CodeTooManyAttempts, "too many attempts to sign in from this address; wait a little")
}

// openSession signs a browser in as somebody who has proven who they are.
func (c *Console) openSession(w http.ResponseWriter, r *http.Request, who reviewers.Reviewer, by string) error {
	opened, issued := c.sessions.open(who)
	http.SetCookie(w, c.cookie(issued.cookie, opened.expires))
	c.log.Info("signed in", "reviewer", who.Name, "role", who.Role, "by", by, "from", r.RemoteAddr)
	self := c.describe(identity{Reviewer: who, via: viaSession, session: opened})
	self.Key = issued.key
	return answer(w, self)
}

// signOut ends the session that the request came by, and takes the cookie back.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) error {
	who := reviewerOf(r)
	if who.session != nil {
		c.sessions.close(who.session)
		c.log.Info("signed out", "reviewer", who.Name)
	}
	http.SetCookie(w, c.cookie("", time.Unix(0, 0)))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// cookie carries a session: no script reads it, and no other site makes a
// browser send it. Other ports of this host get it: see [sessionKeyHeader].
func (c *Console) cookie(secret string, expires time.Time) *http.Cookie {
	cookie := &http.Cookie{
		Name: c.cookieName(), Value: secret, Path: "/", Expires: expires,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.secure,
	}
	if secret == "" {
		cookie.MaxAge = -1
	}
	return cookie
}

// cookieName binds the cookie to HTTPS and to this host, where there is HTTPS.
func (c *Console) cookieName() string {
	if c.secure {
		return "__Host-heldcall_session"
	}
	return "heldcall_session"
}

const (
	attemptsAtOnce = 20              // sign-ins from one address
	attemptEvery   = 3 * time.Second // one more after that
	maxAddresses   = 4096            // remembered; with more at a time all share one allowance
)

// attempts bounds how often one address may try to sign in.
type attempts struct {
	mu     sync.Mutex
	by     map[netip.Prefix]*rate.Limiter
	others *rate.Limiter
}

func newAttempts() *attempts {
	return &attempts{by: map[netip.Prefix]*rate.Limiter{}, others: newAllowance()}
}

func newAllowance() *rate.Limiter { return rate.NewLimiter(rate.Every(attemptEvery), attemptsAtOnce) }

// take counts an attempt from an address; it is refused where the answer is not
// 0, which is then the time to wait.
func (a *attempts) take(remote string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	allowance := a.of(network(remote), now)
	if allowance.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - allowance.TokensAt(now)) * float64(attemptEvery))
}

// of is the allowance of a network. The caller holds a.mu.
func (a *attempts) of(from netip.Prefix, now time.Time) *rate.Limiter {
	if known := a.by[from]; known != nil {
		return known
	}
	if len(a.by) >= maxAddresses {
		for network, allowance := range a.by {
			if allowance.TokensAt(now) >= attemptsAtOnce {
				delete(a.by, network)
			}
		}
	}
	if len(a.by) >= maxAddresses {
		return a.others
	}
	a.by[from] = newAllowance()
	return a.by[from]
}

// network is what counts as one address: for IPv6 the 64 bits that one host has
// to itself.
func network(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	bits := 32
	if ip = ip.Unmap(); ip.Is6() {
		bits = 64
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		panic(fmt.Sprintf("internal error: %s has no /%d", ip, bits))
	}
	return prefix
}
