package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/trace"
)

// Begin makes the turn of a request, and begins it. If the request repeats one whose turn
// is held without an agent, that turn continues: with the same id, and with the answer from
// its beginning; r.Turn is set to it. The arguments are those of [Engine.New]. The error refuses
// the request; the turn is closed then.
func (e *Engine) Begin(ctx context.Context, r *Request, agent Agent, up Upstream, spans *trace.Spans) (*Turn, *intercept.Error) {
	t := e.New(ctx, r, agent, up, spans)
	held, refusal := (&repetition{e, t, r, &t.conversation}).rejoin(ctx)
	switch {
	case refusal != nil:
		t.Close()
		return t, refusal
	case held != nil:
		t.Close()
		r.Turn = held.request.Turn
		return held, nil
	}
	return t, t.Prepare()
}

// repetition is a request that may repeat the one of a held turn.
type repetition struct {
	engine       *Engine
	turn         *Turn // of the request
	request      *Request
	conversation *conversation.Conversation
}

// rejoin returns the held turn that the request continues, nil for none. It ends the turns
// that the conversation has left.
func (p *repetition) rejoin(ctx context.Context) (*Turn, *intercept.Error) {
	k, c := p.engine.Keeper, p.conversation
	if k == nil || p.engine.stops() {
		return nil, nil
	}
	if k.Await(ctx); !k.Any() {
		return nil, nil
	}
	if refusal := c.Read(ctx); refusal != nil {
		return nil, refusal
	}
	upstream := p.turn.exchange.Upstream.ID()
	session := k.Conversation(c.SessionDigest())
	k.Seen(c.ResultKeys())    // agents that forked or shortened a conversation send the results of a delivered turn in another session
	sameTask := func() bool { // only looked for where there can be one: the digest is of a whole message
		return k.AnyTask() && slices.ContainsFunc(k.Task(c.TaskDigest(upstream, true)), p.mayBeFor)
	}
	if !slices.ContainsFunc(session, p.mayBeFor) && !sameTask() {
		p.endLeft(ctx, session)
		return nil, nil
	}
	like := c.Likeness(upstream)
	claimed, err := p.claim(ctx, like)
	switch {
	case err != nil && ctx.Err() != nil: // nothing may be asked for an agent that has left
		return nil, Explain(context.Cause(ctx))
	case err != nil:
		return nil, p.failed(err)
	}
	if claimed == nil {
		p.endLeft(ctx, session)
		return nil, nil
	}
	return p.restore(ctx, like, claimed)
}

// mayBeFor reports whether the request may continue a turn of its session or task, before it is
// compared with that of the turn: only a declared repetition gets a delivered answer.
func (p *repetition) mayBeFor(turn Candidate) bool {
	return turn.State != heldturns.Delivered || p.request.Retried || p.request.IdempotencyKey != ""
}

func (p *repetition) failed(err error) *intercept.Error {
	p.engine.metrics.storeError("turns")
	return p.conversation.StoreError(err)
}

// maxCompared bounds the snapshots that are read to choose one of equal turns.
const maxCompared = 16

// How long a request waits until it is known whether the agent of an equal turn has left.
const (
	leftKnown   = 8 * time.Second        // the other replicas know that one has died
	leftStored  = 40 * time.Second       // it is recorded after a fault of the store
	leftNoticed = time.Second            // this process has noticed that a connection has ended
	leftLook    = 200 * time.Millisecond // between two looks
)

// claim is a held turn that a request has claimed.
type claim struct {
	Candidate
	attachment Attachment
	text       []byte // the snapshot
}

// claim claims the turn that the request continues. It returns nil for none. The agent of a
// turn that would fit may have just left: with its process, while the turn is recorded, or a
// moment before it sends the request again. claim waits until that is known. It fails with
// [approvals.ErrStoreUnavailable] if it stays unknown: the upstream is not called twice.
func (p *repetition) claim(ctx context.Context, like conversation.Likeness) (*claim, error) {
	for began := time.Now(); ; {
		candidates, waited := p.engine.Keeper.Candidates(like.Content), time.Since(began)
		chosen, err := p.choose(ctx, like, candidates, func(*Candidate) bool { return false })
		if err != nil {
			return nil, err
		}
		if chosen >= 0 {
			a, text, err := p.engine.Keeper.Claim(ctx, candidates[chosen])
			switch {
			case err == nil:
				return &claim{candidates[chosen], a, text}, nil
			case !errors.Is(err, approvals.ErrTaken) && !errors.Is(err, approvals.ErrUnknownTurn):
				return nil, err
			case waited > leftNoticed:
				return nil, nil // other requests were faster
			}
		}
		likely, err := p.choose(ctx, like, candidates, func(c *Candidate) bool { return mayHaveLeft(c, waited) })
		if err != nil || likely < 0 {
			return nil, err
		}
		if waited > leftStored {
			return nil, approvals.Unavailable("wait for the record of an agent that may have left held turn "+candidates[likely].ID, context.DeadlineExceeded)
		}
		select {
		case <-time.After(leftLook):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// mayHaveLeft reports whether the agent of an attached turn may have left a time ago.
func mayHaveLeft(c *Candidate, waited time.Duration) bool {
	return waited < leftNoticed || (c.Unsure && (waited < leftKnown || c.Unrecorded))
}

// choose returns the index of the turn that the request continues, -1 for none. Left
// reports whether an attached turn counts as one whose agent has left.
func (p *repetition) choose(ctx context.Context, like conversation.Likeness, candidates []Candidate, left func(*Candidate) bool) (int, error) {
	turns := make([]conversation.HeldTurn, len(candidates))
	for i, candidate := range candidates {
		held := &turns[i]
		held.Ended = candidate.Ended || candidate.State == approvals.AgentParked
		held.Delivered = candidate.Delivered
		held.Detached = candidate.State == approvals.AgentDetached || (candidate.State == approvals.AgentAttached && left(&candidate))
		if held.Ended || i >= maxCompared {
			continue
		}
		var snapshot struct {
			Names   string
			Request struct{ Peer, IdempotencyKey string }
		}
		done, err := p.engine.comparingPlace(ctx)
		if err != nil {
			return -1, err
		}
		err = p.load(ctx, candidate.ID, &snapshot)
		done()
		switch {
		case errors.Is(err, approvals.ErrUnknownTurn):
			held.Ended = true
		case err != nil:
			return -1, err
		}
		held.Renamed = snapshot.Names != like.Names
		held.Peer, held.IdempotencyKey = snapshot.Request.Peer, snapshot.Request.IdempotencyKey
	}
	return p.conversation.Joins(turns), nil
}

// load reads the snapshot of a turn. One that cannot be decoded sets nothing.
func (p *repetition) load(ctx context.Context, id string, to any) error {
	text, err := p.engine.Keeper.Load(ctx, id)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		p.engine.Log.Error("cannot read a held turn", "turn", id, "error", err)
	}
	return nil
}

// endLeft ends the turns of the session that have no agent and whose conversation continues
// without them.
func (p *repetition) endLeft(ctx context.Context, session []Candidate) {
	for _, candidate := range session {
		if candidate.Ended || candidate.State != approvals.AgentDetached || !p.leaves(ctx, candidate.ID) {
			continue
		}
		if err := p.engine.Keeper.Cancel(ctx, candidate.ID, approvals.CancelAgentGone); err != nil {
			p.engine.Log.Error("failed to end a held turn that its conversation has left", "turn", candidate.ID, "error", err)
		}
	}
}

// leaves reports whether the conversation continues without a stored turn.
func (p *repetition) leaves(ctx context.Context, id string) bool {
	done, err := p.engine.comparingPlace(ctx)
	if err != nil {
		return false
	}
	defer done()
	var s Snapshot
	if p.load(ctx, id, &s) != nil || s.Dialect != p.request.Dialect.Name() || s.unpackRequest(p.request.Dialect, p.engine.Limits.MaxBody) != nil {
		return false
	}
	var left conversation.Conversation
	left.Init(&p.engine.Conversations, &s.Request)
	return left.Restore(s.Conversation) == nil && p.conversation.ContinuesPast(&left)
}

// maxComparing bounds the snapshots that all requests read at a time only to compare them: one may have a request of
// proxy.max_body, and many requests of a session may look at it at once.
const maxComparing = 2

// comparingPlace waits until a snapshot may be read to be compared. Done ends that.
func (e *Engine) comparingPlace(ctx context.Context) (done func(), err error) {
	select {
	case e.comparing <- struct{}{}:
		return func() { <-e.comparing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// restore makes the turn of a snapshot that this request has claimed. A snapshot of another
// request, or one that contradicts itself, is never continued.
func (p *repetition) restore(ctx context.Context, like conversation.Likeness, c *claim) (*Turn, *intercept.Error) {
	if !p.turn.output.agent.Reserve(len(c.text) + len(p.request.Envelope.Body)) {
		p.turn.stored.detach(c.attachment)
		return nil, ErrOverloaded
	}
	held, err := p.decode(ctx, c.ID, like, c.text)
	if err != nil {
		p.turn.output.agent.Discard()
		p.engine.Log.Error("a held turn cannot be continued and ends", "turn", c.ID, "error", err)
		p.turn.stored.detach(c.attachment)
		if err := p.engine.Keeper.Cancel(ctx, c.ID, approvals.CancelFault); err != nil {
			return nil, p.failed(err)
		}
		return nil, nil
	}
	again := held.review.early()
	if c.Delivered {
		again = held.review.calls
	}
	if !held.review.releasesAgain(again) {
		p.turn.output.agent.Discard()
		return nil, p.forget(ctx, c)
	}
	if err := held.review.recordAgain(ctx, (*judgedCall).hasLeft); err != nil {
		p.turn.output.agent.Discard()
		p.turn.stored.detach(c.attachment)
		return nil, p.failed(err)
	}
	if refusal := p.conversation.Rename(ctx, held.conversation.Identity().Session); refusal != nil {
		p.turn.stored.detach(c.attachment)
		return nil, refusal
	}
	held.stored = stored{turn: held, attachment: c.attachment, answers: held.exchange.Count, restored: true, delivered: c.Delivered}
	c.attachment.WatchAgent(held.ctx.Done())
	held.enterRun(true)
	if p.turn.spans != nil {
		who := held.conversation.Identity()
		p.turn.spans.Identified(who.Session, who.Run, who.Principal)
	}
	return held, nil
}

// forget ends a turn whose calls may not be released again.
func (p *repetition) forget(ctx context.Context, c *claim) *intercept.Error {
	if c.Delivered {
		p.turn.stored.report("forget a delivered turn", c.attachment.End)
		return nil
	}
	p.turn.stored.detach(c.attachment)
	if err := p.engine.Keeper.Cancel(ctx, c.ID, approvals.CancelAgentGone); err != nil {
		return p.failed(err)
	}
	return nil
}

// decode makes a turn of a snapshot.
func (p *repetition) decode(ctx context.Context, id string, like conversation.Likeness, text []byte) (*Turn, error) {
	var s Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if s.Request.Turn != id || s.Dialect != p.request.Dialect.Name() {
		return nil, errors.New("it is the snapshot of another turn")
	}
	s.Request.Pulse, s.Request.Silent = p.request.Pulse, p.request.Silent
	s.Request.Envelope.Query = p.request.Envelope.Query
	held, err := p.engine.Restore(ctx, &s, Restored{Agent: p.turn.output.agent, Upstream: p.turn.exchange.Upstream, Spans: p.turn.spans, Dialect: p.request.Dialect})
	if err != nil {
		return nil, err
	}
	if got := held.conversation.Likeness(p.turn.exchange.Upstream.ID()); got.Content != like.Content || got.Names != s.Names {
		return nil, fmt.Errorf("it is of another request: its fingerprint is %s, %s", got.Content, got.Names)
	}
	if who, asks := held.conversation.Identity(), p.conversation.Identity(); who.Principal != asks.Principal || (s.Names == like.Names && who.Session != asks.Session) {
		return nil, errors.New("it is of another session")
	}
	return held, nil
}
