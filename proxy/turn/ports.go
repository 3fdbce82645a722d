package turn

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/runs"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/exchange"
	"github.com/heldcall/heldcall/proxy/packed"
)

// Request is an agent's request for an answer that may contain calls.
type Request = conversation.Request

// Store keeps records of conversations by session.
type Store = conversation.Store

// Agent is the client that waits for the answer, and its connection. The methods are for
// the goroutine of the turn.
type Agent interface {
	// Head is the head of the answer. It may change until the answer has started.
	Head() packed.HeadWriter
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
	// Discard takes back the head and all that was written to an answer that was never writable: another
	// answer begins.
	Discard()
	// Finish sends the whole body of an answer that has not started.
	Finish(body []byte)
	// Refuse sends an error with its status in place of an answer that has not started.
	Refuse(status int, body []byte)
	// OnSent calls done when the last byte of the answer has been sent, or with an error when
	// the connection ends before. Call it before the last step of the turn has returned.
	OnSent(done func(error))
	// Reserve reserves n more bytes of memory for the request, and reports false if that
	// is more than there is.
	Reserve(n int) bool
	// Return returns n bytes of what was reserved.
	Return(n int)
}

// Upstream is the model API, for the requests of one agent.
type Upstream = exchange.Upstream

// Response is an answer of the upstream whose body is still to be read.
type Response = exchange.Response

// Gate asks people and writes the audit log. [gate.Gate] has these methods.
type Gate interface {
	// Prepare completes requests, so that they can be stored before they are opened.
	Prepare(requests []approvals.Request)
	// Open records the requests that are not recorded yet, and waits for all.
	Open(ctx context.Context, requests []approvals.Request) (*gate.Hold, error)
	// Record appends to the audit log. An event with an id and a time may be there already.
	Record(ctx context.Context, events ...approvals.Event) error
	// Cancel cancels a request with a details.cancel_reason. It fails with an
	// [approvals.DecidedError] if the request is final.
	Cancel(ctx context.Context, requestID, reason string) error
	conversation.Runs
	conversation.Requests
	AwaitResume(ctx context.Context, id string, who approvals.Principal) error
	EnterRun(calls bool, entry func() runs.Entry) (leave func(approvals.Outcome))
}

// Candidate is a held turn that a repeated request may join.
type Candidate = heldturns.Candidate

// Keeper stores held turns. [heldturns.Keeper] has these methods.
type Keeper interface {
	// Keep stores a turn. It fails with [approvals.ErrNoRoom] if it does not fit.
	Keep(ctx context.Context, t approvals.HeldTurn, snapshot []byte) (Attachment, error)
	// Await waits until the memory has what other processes stored before, or until the store
	// has been lost for some seconds.
	Await(ctx context.Context)
	// Any reports from memory whether any turn is stored.
	Any() bool
	// Candidates returns the turns with a fingerprint, from memory: those that are stored,
	// and those that have ended a short time ago.
	Candidates(fingerprint string) []Candidate
	// Conversation returns the stored turns of a session, from memory.
	Conversation(conversation string) []Candidate
	// AnyTask reports from memory whether Task may return a turn.
	AnyTask() bool
	// Task returns the stored turns with an [approvals.HeldTurn.Task] that were not delivered, from memory.
	Task(task string) []Candidate
	// Seen marks that results of calls have arrived: see [heldturns.Delivery].
	Seen(calls []string)
	// Load reads the snapshot. It fails with [approvals.ErrUnknownTurn].
	Load(ctx context.Context, id string) (snapshot []byte, err error)
	// Claim attaches a turn to the caller. It fails with [approvals.ErrTaken] if another
	// caller was faster.
	Claim(ctx context.Context, c Candidate) (a Attachment, snapshot []byte, err error)
	// Cancel ends a turn that has no agent: its undecided requests are cancelled with the
	// reason.
	Cancel(ctx context.Context, id, reason string) error
}

// Attachment is the connection of an agent to a stored turn. [heldturns.Attachment] has these
// methods.
type Attachment interface {
	// Lost is closed when another connection has taken the turn over.
	Lost() <-chan struct{}
	// WatchAgent sets the channel that is closed when the agent leaves.
	WatchAgent(left <-chan struct{})
	// Opened marks that people are asked about the requests.
	Opened(requests []approvals.Request)
	// Confirm fails with [approvals.ErrTaken] if the turn is lost, also where Lost does not
	// know it yet.
	Confirm(ctx context.Context) error
	// Update replaces the snapshot. After [approvals.ErrNoRoom] nothing is stored.
	Update(ctx context.Context, snapshot []byte) error
	// Detach records that the connection has ended.
	Detach(ctx context.Context) error
	// Park records that the agent got a notice in place of the answer.
	Park(ctx context.Context) error
	// Deliver records that the agent got the whole answer.
	Deliver(ctx context.Context, d heldturns.Delivery) error
	// End removes the stored turn.
	End(ctx context.Context) error
}
