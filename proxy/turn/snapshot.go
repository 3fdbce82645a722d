package turn

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/packed"
	"github.com/heldcall/heldcall/proxy/trace"
)

// Snapshot is the whole state of a turn whose upstream answer is complete, from the
// judgement of its calls to their release. It can be encoded as JSON. [Engine.Restore]
// continues it, for another agent and in another process.
//
// It has no connection, and no charge of a rule's limit: those are counted in memory, so
// that a restored turn counts for none.
type Snapshot struct {
	State   State
	Outcome string
	Request Request // its body is compressed; it has no query
	Dialect string
	Names   string // see [conversation.Likeness]
	Frame   string
	Folder  string // of the agent, "" if it is not known

	Conversation conversation.State
	Approval     bool // calls of hosted tools have to be approved
	packed.Answers

	Calls    []callState
	Requests []approvals.Request // that are to be recorded: in the state Asking
	Decided  time.Time
}

// callState is a call under review.
type callState struct {
	Call     intercept.Call
	Verdict  policy.Verdict // without limits and the text of a denial
	Policy   string         // that judged it
	Ruling   intercept.Ruling
	Outcome  approvals.Outcome
	Again    bool
	Asked    bool // people are asked about it
	Question bool
	Left     bool               `json:",omitempty"` // it has left before the end of the answer
	Twin     int                // number of the call, from 1, whose request is for this one too; 0: none
	Request  *approvals.Request // in its final state
}

// Snapshot returns the state of the turn between two steps. It shares memory with the turn,
// so encode it before the turn continues. It fails while an answer of the upstream is
// incomplete, and for answers that are not kept: see [Options.Keeper].
func (t *Turn) Snapshot() (*Snapshot, error) {
	kept := t.exchange.Kept
	if !kept.Complete() || !t.state.complete() {
		return nil, fmt.Errorf("turn %s cannot be kept while it is %s", t.request.Turn, t.state)
	}
	kept.Pack()
	r := &t.review
	like := t.conversation.Likeness(t.exchange.Upstream.ID()) // reads the headers too
	s := &Snapshot{
		State: t.state, Outcome: t.output.outcome, Request: *t.request, Dialect: t.request.Dialect.Name(),
		Names: like.Names, Frame: like.Frame, Folder: r.rules().Folder(), Conversation: t.conversation.State(), Approval: t.hosted.Approval, Answers: *kept,
		Requests: r.requests, Decided: r.decided,
	}
	s.Request.KeyDigest = t.request.DigestKey()
	s.Request.Envelope.Query = "" // it may have a key, and the agent that comes back sends an equal one
	s.Request.Envelope.Body = packed.Encode(t.request.Envelope.Body)
	for _, j := range r.calls {
		v := j.verdict
		v.Limits, v.Denial = nil, nil
		s.Calls = append(s.Calls, callState{j.call, v, j.policy, j.ruling, j.outcome, j.again, slices.Contains(r.asked, j), j.question, j.left, slices.Index(r.calls, j.twin) + 1, j.request})
	}
	return s, nil
}

// Restored is the rest that a turn needs to continue from its [Snapshot].
type Restored struct {
	Agent    Agent
	Upstream Upstream
	Hold     *gate.Hold // for its requests, in the state Waiting
	Spans    *trace.Spans
	Dialect  intercept.Dialect // of the snapshot's name
}

// Restore returns the turn of a snapshot for another agent, which gets the answer from its
// beginning. Upstream is not asked again, and neither are people. The snapshot's memory
// belongs to the turn from then on.
func (e *Engine) Restore(ctx context.Context, s *Snapshot, with Restored) (*Turn, error) {
	if !s.State.complete() {
		return nil, fmt.Errorf("restore turn %s: its state is %s", s.Request.Turn, s.State)
	}
	if err := s.unpackRequest(with.Dialect, e.Limits.MaxBody); err != nil {
		return nil, fmt.Errorf("restore turn %s: its request: %w", s.Request.Turn, err)
	}
	request := &s.Request
	t := e.New(ctx, request, with.Agent, with.Upstream, with.Spans)
	t.state = s.State
	t.output.record(s.Outcome)
	if refusal := t.conversation.Restore(s.Conversation); refusal != nil {
		return nil, fmt.Errorf("restore turn %s: %w", request.Turn, refusal)
	}
	if t.hosted.Approval = s.Approval; s.Approval {
		t.conversation.Parsed.RequireApproval()
	}
	if err := t.replay(&s.Answers); err != nil {
		return nil, fmt.Errorf("restore turn %s: %w", request.Turn, err)
	}
	t.review.restore(s, with.Hold)
	if err := t.review.checkCalls(s.State, t.output.answer); err != nil {
		return nil, fmt.Errorf("restore turn %s: %w", request.Turn, err)
	}
	return t, nil
}

// unpackRequest completes the request.
func (s *Snapshot) unpackRequest(d intercept.Dialect, limit int) (err error) {
	s.Request.Dialect = d
	s.Request.Envelope.Body, err = packed.Decode(s.Request.Envelope.Body, limit)
	return err
}

// checkCalls compares restored calls with those of the answer, and the requests with the calls:
// a call must never be released by the decision on another one.
func (r *review) checkCalls(s State, answer *intercept.Answer) error {
	same := func(j *judgedCall, c intercept.Call) bool { return reflect.DeepEqual(j.call, c) }
	left := r.early()
	if !slices.EqualFunc(left, answer.Left(), same) {
		return errors.New("the calls that have left are not those of its answer")
	}
	if s == Judging {
		return nil // the others are judged again
	}
	if !slices.EqualFunc(r.calls[len(left):], answer.Calls(), same) {
		return errors.New("its calls are not those of its answer")
	}
	if slices.ContainsFunc(r.calls, func(j *judgedCall) bool { return j.twin != nil && judge.Key(j.call) != judge.Key(j.twin.call) }) {
		return errors.New("a call of it has the request of another one")
	}
	switch {
	case s == Asking:
		return r.checkRequests(r.requests)
	case r.hold != nil:
		return r.checkRequests(r.hold.Requests())
	case s == Waiting, s == Deciding:
		return errors.New("it has no requests")
	}
	return nil
}

// checkRequests compares requests with the calls that they are about.
func (r *review) checkRequests(requests []approvals.Request) error {
	if len(requests) != len(r.asked) {
		return errors.New("its requests are about other calls")
	}
	for i, j := range r.asked {
		q := &requests[i]
		sameCall := q.TurnID == r.conversation.Request.Turn && q.ToolCallID == j.call.ID
		if (!sameCall && !r.conversation.Hidden.Joins(q.ID)) || q.ToolName != j.call.Name || !judge.SameArguments(q.Arguments, j.shown()) {
			return fmt.Errorf("request %s is about another call", q.ID)
		}
	}
	return nil
}

// restore takes over the calls of a snapshot.
func (r *review) restore(s *Snapshot, hold *gate.Hold) {
	r.requests, r.decided, r.hold = s.Requests, s.Decided, hold
	rules, from := r.rules(), originOf(r.conversation)
	for _, saved := range s.Calls {
		j := &judgedCall{call: saved.Call, verdict: saved.Verdict, policy: saved.Policy, ruling: saved.Ruling, outcome: saved.Outcome, again: saved.Again, request: saved.Request, question: saved.Question, left: saved.Left}
		// The text of a denial is not in the snapshot: rules have it.
		if v := rules.Verdict(from, j.call); v.Rule == j.verdict.Rule {
			j.verdict.Denial = v.Denial
		}
		if before := saved.Twin - 1; before >= 0 && before < len(r.calls) && s.Calls[before].Asked {
			j.twin = r.calls[before]
		}
		r.calls = append(r.calls, j)
		if saved.Asked {
			r.asked = append(r.asked, j)
		}
	}
}

// MarshalText and UnmarshalText encode a state by its name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText fails for a name that no state has.
func (s *State) UnmarshalText(text []byte) error {
	for i := range states {
		if states[i].name == string(text) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("a turn has no state %q", text)
}
