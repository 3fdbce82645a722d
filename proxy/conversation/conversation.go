package conversation

import (
	"context"
	"errors"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// Conversation is the agent's request in its conversation: see Init. It is for one
// goroutine.
type Conversation struct {
	Request *Request
	Parsed  intercept.Request // goes upstream; nil before Begin and Restore
	Hidden  HiddenTurns
	Denials Denials
	Results Results
	Judged  JudgedResults
	Unseen  UnseenResults
	Offered Offered

	shared   *Shared
	recorded recorded

	offer    *intercept.Offer // once it was needed: see Offer
	id       Identity         // once it was needed: see Identity
	info     intercept.Info   // once it was needed: see Info
	informed bool
	task     string    // once it was needed: see TaskDigest
	like     *Likeness // once it was needed

	continued keptAnswer // that the request continues by the provider's id
}

// Init makes c the conversation of a request that is not read yet. c must not be copied.
func (c *Conversation) Init(shared *Shared, r *Request) {
	*c = Conversation{Request: r, shared: shared, recorded: recorded{store: shared.Store}}
	c.Hidden.conversation, c.Denials.conversation, c.Results.conversation, c.Judged.conversation = c, c, c, c
	c.Unseen.conversation = c
}

// read reads the request.
func (c *Conversation) read() (refusal *intercept.Error) {
	c.Parsed, refusal = c.parse()
	c.offer = nil
	return refusal
}

// parse reads the request for its dialect, and adds the tools by which the model may ask
// people.
func (c *Conversation) parse() (intercept.Request, *intercept.Error) {
	r, err := c.Request.Dialect.Request(c.Request.Envelope)
	if err != nil {
		return nil, intercept.Refusal(err)
	}
	var from Questions
	if c.shared.Questions != nil {
		from = c.shared.Questions(c.Request.Client)
	}
	c.Offered.add(r, from)
	return r, nil
}

// Info returns the description of the request as the agent sent it.
func (c *Conversation) Info() *intercept.Info {
	if !c.informed {
		c.info, c.informed = c.Parsed.Info(), true
	}
	return &c.info
}

// Offer returns what the request offers the model, without the tools of heldcall.
func (c *Conversation) Offer() *intercept.Offer {
	if c.offer == nil {
		c.offer = intercept.NewOffer(c.Parsed)
		c.offer.All = slices.DeleteFunc(c.offer.All, func(name string) bool { return slices.Contains(c.Offered.names, name) })
	}
	return c.offer
}

// Identity returns the whole identity. It is computed when it is first needed: most
// requests need none.
func (c *Conversation) Identity() *Identity {
	id := c.sessionIdentity()
	if id.Run != "" {
		return id
	}
	task := c.Parsed.Task(c.continued.Users)
	if c.continued.Run != "" && !task.HasMessage() {
		id.Run = c.continued.Run // results of tools continue the task
	} else {
		id.Run, id.Derived = RunOf(id.Principal.Tenant, id.Session+"-"+c.shared.Digests.hex(task, 4)), true
	}
	return id
}

// KnownSession returns the session, "" if it was not needed yet.
func (c *Conversation) KnownSession() string { return c.id.Session }

// sessionIdentity returns the identity as far as the session: the run may be unknown.
func (c *Conversation) sessionIdentity() *Identity {
	if c.id.Session == "" {
		c.id = c.Request.identify(c.Info(), c.Parsed.Opening(), c.continued.Session, c.shared.Digests)
	}
	return &c.id
}

// NewEvent returns an event about the turn of the request.
func (c *Conversation) NewEvent(t approvals.EventType) approvals.Event {
	who := c.Identity()
	return approvals.Event{
		Type: t, Tenant: who.Principal.Tenant, Principal: who.Principal, SessionID: who.Session, RunID: who.Run,
		TurnID: c.Request.Turn, Dialect: c.Request.Dialect.Name(), Model: who.Model, Tainted: c.Judged.Taint() != "",
	}
}

// userMessage identifies the user's last message: "" where the request continues without
// one from an answer that is not known.
func (c *Conversation) userMessage() string {
	task := c.Parsed.Task(c.continued.Users)
	if !task.HasMessage() {
		return c.continued.User
	}
	return c.shared.Digests.hex(task, 8)
}

// records reads the store's records under a key.
func (c *Conversation) records(ctx context.Context, key string) ([][]byte, *intercept.Error) {
	if !c.recorded.in(key) {
		return nil, nil
	}
	kept, err := c.shared.Store.Turns(ctx, key)
	if err != nil {
		c.shared.Metrics.StoreErrors.Inc()
		return nil, &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: approvals.Because("the hidden turns of this conversation cannot be read; try again", err), Err: err}
	}
	return kept, nil
}

// put records a value under an id of a key. The error is for the agent.
func (c *Conversation) put(ctx context.Context, key, id string, value []byte) *intercept.Error {
	if err := c.shared.Store.PutTurn(ctx, key, id, value); err != nil {
		c.shared.Metrics.StoreErrors.Inc()
		return c.StoreError(err)
	}
	return nil
}

// StoreError returns the error for the agent if an operation on durable state failed.
func (c *Conversation) StoreError(err error) *intercept.Error {
	switch {
	case errors.Is(err, approvals.ErrRunAborted):
		return c.runAborted()
	case errors.Is(err, approvals.ErrTooLarge):
		return intercept.NotUnderstood("a call is too large to be recorded")
	}
	return &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: approvals.Because("the request cannot be recorded; try again later. The storage is not available", err), Err: err}
}
