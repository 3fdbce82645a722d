package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/trace"
)

// Begin makes the turn of a request, and begins it. If the request repeats one whose turn
// is held without an agent, that turn continues: with the same id, and with the answer from
// its beginning. The arguments are those of [Engine.New]. The error refuses the request;
// the turn is closed then.
func (e *Engine) Begin(ctx context.Context, r *Request, agent Agent, up Upstream, spans *trace.Spans) (*Turn, *intercept.Error) {
	t := e.New(ctx, r, agent, up, spans)
	held, refusal := t.rejoin()
	switch {
	case refusal != nil:
		t.Close()
		return t, refusal
	case held != nil:
		return held, nil
	}
	return t, t.Prepare()
}

// ID returns the id of the turn.
func (t *Turn) ID() string { return t.request.Turn }

// rejoin returns the held turn that the request continues, nil for none. It ends the turns
// that the conversation has left.
func (t *Turn) rejoin() (*Turn, *intercept.Error) {
	k, c := t.engine.Keeper, &t.conversation
	if k == nil || !k.Any() || t.engine.draining.Err() != nil {
		return nil, nil
	}
	if refusal := c.Read(t.ctx); refusal != nil {
		return nil, refusal
	}
	session := k.Conversation(c.SessionDigest())
	if len(session) == 0 {
		return nil, nil
	}
	fingerprint := c.Fingerprint(t.exchange.upstream.Addr())
	candidates := k.Candidates(fingerprint)
	chosen, err := t.choose(candidates)
	if err != nil {
		return nil, t.rejoinFailed(err)
	}
	if chosen < 0 {
		t.endLeft(session)
		return nil, nil
	}
	attachment, text, err := k.Claim(t.ctx, candidates[chosen])
	switch {
	case errors.Is(err, approvals.ErrTaken), errors.Is(err, approvals.ErrUnknownTurn):
		return nil, nil // another request was faster
	case err != nil:
		return nil, t.rejoinFailed(err)
	}
	return t.restore(candidates[chosen].ID, fingerprint, attachment, text)
}

func (t *Turn) rejoinFailed(err error) *intercept.Error {
	t.engine.metrics.storeError("turns")
	return t.conversation.StoreError(err)
}

// maxCompared bounds the copies that are read to choose one of equal turns.
const maxCompared = 16

// choose returns the index of the turn that the request continues, -1 for none.
func (t *Turn) choose(candidates []Candidate) (int, error) {
	turns := make([]conversation.HeldTurn, len(candidates))
	for i, candidate := range candidates {
		held := &turns[i]
		held.Ended, held.Detached = candidate.Ended || candidate.State == approvals.AgentParked, candidate.State == approvals.AgentDetached
		if held.Ended || i >= maxCompared {
			continue
		}
		var copied struct {
			Request struct{ Peer, IdempotencyKey string }
		}
		switch err := t.load(candidate.ID, &copied); {
		case errors.Is(err, approvals.ErrUnknownTurn):
			held.Ended = true
		case err != nil:
			return -1, err
		}
		held.Peer, held.IdempotencyKey = copied.Request.Peer, copied.Request.IdempotencyKey
	}
	return t.conversation.Joins(turns), nil
}

// load reads the copy of a turn. One that cannot be decoded sets nothing.
func (t *Turn) load(id string, to any) error {
	text, err := t.engine.Keeper.Load(t.ctx, id)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		t.engine.Log.Error("cannot read a held turn", "turn", id, "error", err)
	}
	return nil
}

// endLeft ends the turns of the session that have no agent and whose conversation goes on
// without them.
func (t *Turn) endLeft(session []Candidate) {
	for _, candidate := range session {
		if candidate.Ended || candidate.State != approvals.AgentDetached {
			continue
		}
		var s Snapshot
		if t.load(candidate.ID, &s) != nil || s.Dialect != t.request.Dialect.Name() || s.unpackRequest(t.request.Dialect, t.engine.Limits.MaxBody) != nil {
			continue
		}
		var left conversation.Conversation
		left.Init(&t.engine.Conversations, &s.Request)
		if left.Restore(s.Conversation) != nil || !t.conversation.ContinuesPast(&left) {
			continue
		}
		if err := t.engine.Keeper.Cancel(t.ctx, candidate.ID, approvals.CancelAgentGone); err != nil {
			t.engine.Log.Error("failed to end a held turn that its conversation has left", "turn", candidate.ID, "error", err)
		}
	}
}

// restore makes the turn of a copy that this request has claimed. A copy that is not of an
// equal request, or that contradicts itself, is never continued.
func (t *Turn) restore(id, fingerprint string, a Attachment, text []byte) (*Turn, *intercept.Error) {
	if !t.output.agent.Reserve(len(text) + len(t.request.Envelope.Body)) {
		t.detach(a)
		return nil, ErrOverloaded
	}
	held, err := t.decode(id, fingerprint, text)
	if err != nil {
		t.engine.Log.Error("a held turn cannot be continued and ends", "turn", id, "error", err)
		t.detach(a)
		if err := t.engine.Keeper.Cancel(t.ctx, id, approvals.CancelFault); err != nil {
			return nil, t.rejoinFailed(err)
		}
		return nil, nil
	}
	held.stored = stored{attachment: a, answers: held.exchange.count, restored: true}
	if t.spans != nil {
		who := held.conversation.Identity()
		t.spans.Identified(who.Session, who.Run, who.Principal)
	}
	t.Close()
	return held, nil
}

// decode makes a turn of a copy.
func (t *Turn) decode(id, fingerprint string, text []byte) (*Turn, error) {
	var s Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if s.Request.Turn != id || s.Dialect != t.request.Dialect.Name() {
		return nil, errors.New("it is the copy of another turn")
	}
	s.Request.Pulse, s.Request.Silent = t.request.Pulse, t.request.Silent
	held, err := t.engine.Restore(t.ctx, &s, Restored{Agent: t.output.agent, Upstream: t.exchange.upstream, Spans: t.spans, Dialect: t.request.Dialect})
	if err != nil {
		return nil, err
	}
	if got := held.conversation.Fingerprint(t.exchange.upstream.Addr()); got != fingerprint {
		return nil, fmt.Errorf("it is of another request: its fingerprint is %s", got)
	}
	return held, nil
}
