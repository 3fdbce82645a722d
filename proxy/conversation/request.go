// Package conversation has two users, the turns and what they are made of (packages exchange, hosted
// and results): it finds the conversation that an agent's request belongs to, which is its
// session and run, the hidden turns that are spliced into it, and the denials that count
// for it. It knows neither policy nor people, and stores its records by keys of the
// principal.
//
// Read it from request.go (a request, and the store) by identity.go (principal,
// session, run) to conversation.go (a request in its conversation). On that are built
// continued.go (conversations and answers that the provider keeps), admission.go (runs that a
// reviewer stopped), hidden.go, parked.go and onetime.go (hidden turns), denials.go (earlier denials) and results.go (results of released calls). repeat.go finds
// the held turn that a request repeats; state.go has a conversation as a value.
package conversation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/prometheus/client_golang/prometheus"
)

// Request is an agent's request for an answer that may contain calls. Its bytes must stay
// valid until the turn ends.
type Request struct {
	Turn     string             // id of the turn
	Began    time.Time          // when the request arrived
	Route    string             // label of the route, for metrics and spans
	Dialect  intercept.Dialect  `json:"-"`
	Envelope intercept.Envelope // as the agent sent it

	Client    string // SHA-256 of the API key of a configured client in hex, "" for others
	APIKey    []byte `json:"-"` // of the agent, nil if it sent none
	KeyDigest string // SHA-256 of the API key in hex, if APIKey is not known
	Principal approvals.Principal
	Session   string // as a header names it, or ""
	Run       string // as a header names it, or ""

	Patience time.Duration // how long the client waits for its answer, as far as it declares it; 0 for not

	Retried        bool   // the client declares that it has sent the request before
	IdempotencyKey string // names a request that a client may send several times, or ""
	Peer           string // address of the agent, without the port
	UserAgent      string
	ClientRequest  string // X-Client-Request-Id, or ""
	SessionHeaders []SessionHeader
	// ReadSessionHeaders returns the SessionHeaders when they are first needed; nil: they are known.
	ReadSessionHeaders func() []SessionHeader `json:"-"`

	Pulse  intercept.Heartbeat // form of the heartbeats in a stream
	Silent bool                // no heartbeats are sent
}

// SessionHeader is a header by which a client names a session, a conversation or a user.
type SessionHeader struct {
	Name   string // in lower case
	Digest string // of the value: see [DigestHeader]
}

// DigestHeader returns a digest of the value of a header.
func DigestHeader(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:16])
}

// sessionHeaders returns the headers that name a session.
func (r *Request) sessionHeaders() []SessionHeader {
	if r.ReadSessionHeaders != nil {
		r.SessionHeaders, r.ReadSessionHeaders = r.ReadSessionHeaders(), nil
	}
	return r.SessionHeaders
}

// DigestKey returns the SHA-256 of the agent's API key in hex, "" without one.
func (r *Request) DigestKey() string {
	if len(r.APIKey) == 0 {
		return r.KeyDigest
	}
	sum := sha256.Sum256(r.APIKey)
	return hex.EncodeToString(sum[:])
}

// Store keeps records of conversations by session: hidden turns, denials, and the places
// of answers that agents refer to.
type Store interface {
	// AwaitTurns returns when AnyTurns and HasTurns know all records that any replica had
	// written before the call. If known is false, they may not know some of them, also later.
	AwaitTurns(ctx context.Context) (known bool, err error)
	AnyTurns() bool
	HasTurns(session string) bool
	Turns(ctx context.Context, session string) ([][]byte, error)
	PutTurn(ctx context.Context, session, id string, value []byte) error
	// TakeTurn is PutTurn for the first caller; taken is false for all others, until
	// DropTurn.
	TakeTurn(ctx context.Context, session, id string, value []byte) (taken bool, err error)
	DropTurn(ctx context.Context, session, id string) error
}

// recorded reports for one request whether the store has records.
type recorded struct {
	store  Store
	behind bool // the store may not know some of them, so all are looked for
}

// await waits until the store knows what any replica has recorded before the request.
func (r *recorded) await(ctx context.Context) error {
	known, err := r.store.AwaitTurns(ctx)
	r.behind = !known
	return err
}

// any reports whether there may be any records.
func (r *recorded) any() bool { return r.behind || r.store.AnyTurns() }

// in reports whether there may be records under a key.
func (r *recorded) in(key string) bool { return r.behind || r.store.HasTurns(key) }

// Runs reports how reviewers have steered runs. [gate.Gate] implements it.
type Runs interface {
	// RunState also returns since when the run is paused or aborted. With an empty id it is
	// the state by signals to the principal alone.
	RunState(id string, who approvals.Principal) (approvals.RunState, time.Time)
	Steered() bool // whether a run is paused or aborted
}

// Shared is what all conversations have in common.
type Shared struct {
	Store       Store
	Runs        Runs
	Requests    Requests
	Questions   func(client string) Questions // of the policy of a client; nil: none
	AbortRest   time.Duration                 // after an abort, for which the same conversation is not taken for a new one
	KeepRecords bool                          // for [Conversation.State]
	Digests     *Digests                      // of the texts that identify requests; nil: none are remembered
	Log         *slog.Logger
	Metrics     Metrics

	Reviewed *ReviewedResults // what people have decided about results; needed where a policy asks about some

	Released ReleasedCalls // whose results are recorded; nil: none are
	// Redact removes the secrets that heldcall knows from a text that is recorded or shown to
	// people; nil: there are none. It is needed with Released.
	Redact func([]byte) []byte
}

// Metrics count events of conversations.
type Metrics struct {
	Spliced     prometheus.Counter // hidden turns put back into requests
	Unplaced    prometheus.Counter // hidden turns without a certain place
	Unseen      prometheus.Counter // conversations that go on without results
	StoreErrors prometheus.Counter // failed operations on stored turns
}
