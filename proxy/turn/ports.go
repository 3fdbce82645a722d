package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/trace"
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

	Retried        bool   // the client declares that it has sent the request before
	IdempotencyKey string // names a request that a client may send several times, or ""

	Pulse  intercept.Heartbeat // form of the heartbeats in a stream
	Silent bool                // no heartbeats are sent
}

// keyDigest is the SHA-256 of the agent's API key in hex, "" without one.
func (r *Request) keyDigest() string {
	if len(r.APIKey) == 0 {
		return r.KeyDigest
	}
	sum := sha256.Sum256(r.APIKey)
	return hex.EncodeToString(sum[:])
}

// Agent is the client that waits for the answer, and its connection. The methods are for
// the goroutine of the turn.
type Agent interface {
	// Head is the head of the answer. It may change until the answer has started.
	Head() HeadWriter
	// ResetHead makes the head that of an empty answer again.
	ResetHead()
	// Started reports whether the head must be sent now, or was sent.
	Started() bool
	// Start sends the head before there are bytes of the body.
	Start()
	// Writable reports whether the body is being written. While a started answer is not,
	// [Turn.Run] returns.
	Writable() bool
	// Write starts the answer and sends bytes of its body. It keeps p, which must stay
	// valid, until the answer is writable. After an error nothing reaches the agent.
	Write(p []byte) error
	// Finish sends the whole body of an answer that has not started.
	Finish(body []byte)
	// Fail sends an error with its status in place of an answer that has not started.
	Refuse(status int, body []byte)
	// Reserve reserves n more bytes of memory for the request, and reports false if that
	// is more than there is.
	Reserve(n int) bool
}

// HeadWriter takes the head of an answer.
type HeadWriter = interface {
	SetStatusCode(code int)
	SetStatusMessage(message []byte)
	AddBytesKV(name, value []byte)
}

// Upstream is the model API, for the requests of one agent. It is safe for concurrent use.
type Upstream interface {
	// Addr is the host:port of the upstream.
	Addr() string
	// Send sends a request once and reads the head of its answer. It reports whether a byte
	// of the request was sent; the error is the one for the agent.
	Send(ctx context.Context, e intercept.Envelope, c trace.Context) (r Response, sent bool, err *intercept.Error)
	// Redact returns p without the upstream's configured key.
	Redact(p []byte) []byte
}

// Response is an answer of the upstream whose body is still to be read.
type Response interface {
	Status() int
	// ContentType and ContentEncoding are valid until Close.
	ContentType() []byte
	ContentEncoding() []byte
	// CopyHead copies what the agent may get of the head.
	CopyHead(to HeadWriter)
	// Buffered reports whether bytes of the body have arrived with the head.
	Buffered() bool
	// Framed reports whether the framing marks the end of the body.
	Framed() bool
	// Next returns the next block of the body, valid until the next call, or io.EOF. After
	// os.ErrDeadlineExceeded the next call continues.
	Next() ([]byte, error)
	// ReadAll reads the rest of a body of at most limit bytes.
	ReadAll(limit int) ([]byte, error)
	// SetReadDeadline bounds the reads from now on; the zero time removes the bound.
	SetReadDeadline(time.Time)
	Close()
}

// Gate asks people and writes the audit log. [gate.Gate] has these methods.
type Gate interface {
	Open(ctx context.Context, requests []approvals.Request) (*gate.Hold, error)
	Record(ctx context.Context, events ...approvals.Event) error
	RunState(id string) approvals.RunState
	LookUp(id string) (approvals.Run, bool)
	Steered() bool // whether any run is anything but running
	AwaitResume(ctx context.Context, id string) error
}

// Hold is the wait for the requests of a turn. [gate.Hold] implements it.
type Hold interface {
	// Done is closed when every request is final, or when Err is not nil.
	Done() <-chan struct{}
	Err() error
	Requests() []approvals.Request
	Cancel(ctx context.Context, reason string) error
	// Detach leaves the requests with the reviewers.
	Detach()
}

// Store keeps records of conversations by session: hidden turns, denials, and the places
// of answers that agents refer to.
type Store interface {
	AnyTurns() bool
	HasTurns(session string) bool
	Turns(ctx context.Context, session string) ([][]byte, error)
	PutTurn(ctx context.Context, session, id string, value []byte) error
	// TakeTurn is PutTurn for the first caller; taken is false for all others, until
	// DropTurn.
	TakeTurn(ctx context.Context, session, id string, value []byte) (taken bool, err error)
	DropTurn(ctx context.Context, session, id string) error
}
