// Package proxy is the data plane: it takes an agent's request, lets the model answer it,
// holds the calls that policy does not decide, and releases, rewrites or denies them. With
// its subpackages it is the only place where the wire (package intercept) and the domain
// (package approvals) meet. It and package upstream alone import fasthttp.
//
// Read it from handler.go (one request, top to bottom) by request.go and agent.go (how
// fasthttp's request is read, and its answer written) to the packages turn (the
// answer to a gated request), conversation (its session, run and history), upstream
// (requests to a model API) and agentconn (agents' connections).
package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/mask"
	"github.com/heldcall/heldcall/internal/memory"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/trace"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/prometheus/client_golang/prometheus"
)

// Options configures a [Proxy].
type Options struct {
	Listen           string // host:port
	Upstreams        []Upstream
	Clients          []Client
	Unnamed          approvals.Principal // of agents whose key is not in Clients; an empty tenant is the default
	TrustHeaders     bool                // believe X-Heldcall-User, -Agent and -Tenant
	Keepalive        time.Duration
	Heartbeat        Heartbeat
	MaxBody          int            // bytes of a request, and of the buffered part of an answer
	Memory           *memory.Budget // of all requests, and of others; nil: any number of bytes
	GoLimit          int64          // bytes of Go's memory, unless the environment sets them; 0: any number
	MaxContinuations int            // how often one answer continues after a denial
	MaxDenials       int            // denied calls of a run since the user wrote, after which no answer continues; 0: any number
	MaxWait          time.Duration  // longest hold, 0 for as long as policy allows
	Park             bool           // answers are parked where no rule has it otherwise
	ParkAfter        time.Duration  // how long a parked answer waits before it ends
	Routes           []string       // further path patterns that pass ungated
	Hosts            []string       // names under which a Listen on loopback is reached besides localhost
	Origins          []string       // of web pages that may use the proxy, scheme://host[:port]
	StartPatience    time.Duration  // how long requests wait for [Proxy.Open]; 0: 15 s
	ShutdownGrace    time.Duration  // how long streams may end by themselves; 0: 3 s
	AbortRest        time.Duration  // how long after an abort the same conversation is not taken for a new one; 0: 1 min

	Dialects []intercept.Dialect
	Socket   net.Listener // that a supervisor has opened, in place of Listen, which then is its address; nil: none
	Services

	Tracing    Tracing
	Log        *slog.Logger          // nil: discards
	Registerer prometheus.Registerer // nil: metrics are not exported
	// FreeMemory is called after the start and after a burst of holds. Nil: it collects garbage and
	// returns free memory to the system.
	FreeMemory func()
}

// Services are what a proxy needs of heldcall's state, to serve requests.
type Services struct {
	Judge   func(client string) Judge // of the calls of a client by its KeySHA256, "" for a client that is not configured
	Gate    Gate
	Results conversation.ReleasedCalls // whose results are recorded; nil: none are
	Turns   Turns
	// Keeper stores held turns. Nil: a held turn ends with its connection.
	Keeper Keeper
	// Secrets masks the secrets of agents. Nil: there are none.
	Secrets Secrets
	// Used is called with the ids of the grants that decided a call. It must not wait. It
	// may be nil.
	Used func(grants ...string)
}

// Upstream is one model API.
type Upstream = upstream.Config

// Client ties an API key to who the agent acts for.
type Client struct {
	KeySHA256 string // hex
	Principal approvals.Principal
}

// Judge returns the verdicts on the calls of a client. [judge.Rules] implements it.
type Judge = turn.Judge

// Gate asks people and writes the audit log. [gate.Gate] implements it.
type Gate = turn.Gate

// Turns keeps hidden turns by session.
type Turns = turn.Store

// Keeper stores held turns.
type Keeper = turn.Keeper

// Secrets masks the secrets of agents. [secrets.Secrets] implements it.
type Secrets interface {
	// Await waits until Masker knows the secrets that any replica had stored before the call.
	Await(ctx context.Context) error
	// Masker returns the masker of the secrets of a principal, nil if it has none. It fails
	// while stored secrets cannot be read.
	Masker(who approvals.Principal) (*mask.Masker, error)
}

// Attachment is the connection of an agent to a stored turn.
type Attachment = turn.Attachment

// Tracing sets which spans are made. The zero value: none.
type Tracing = trace.Options

func (o *Options) validate() error {
	var errs []error
	if len(o.Upstreams) == 0 {
		errs = append(errs, errors.New("no upstream is configured"))
	}
	for _, u := range o.Upstreams {
		errs = append(errs, validateUpstream(&u)...)
	}
	if o.Keepalive <= 0 || o.MaxBody <= 0 || o.MaxContinuations < 0 || o.MaxDenials < 0 {
		errs = append(errs, errors.New("keepalive and max_body must be positive, max_continuations and max_denials not negative"))
	}
	if len(o.Dialects) == 0 {
		errs = append(errs, errors.New("dialects are needed"))
	}
	return errors.Join(errs...)
}

func validateUpstream(u *Upstream) (errs []error) {
	for _, address := range []string{u.URL, cmp.Or(u.ChatGPT, u.URL)} {
		parsed, err := url.Parse(address)
		if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
			errs = append(errs, fmt.Errorf("upstream %s: %q is not an http or https URL", u.Prefix, address))
		}
	}
	if strings.ContainsFunc(u.APIKey, unicode.IsControl) {
		errs = append(errs, fmt.Errorf("upstream %s: api_key has a line break or another control character in it", u.Prefix))
	}
	if !strings.HasPrefix(u.Prefix, "/") {
		errs = append(errs, fmt.Errorf("upstream prefix %q does not begin with /", u.Prefix))
	}
	return errs
}
