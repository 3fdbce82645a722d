package turn

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
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
	Request Request
	Dialect string

	Identity  Identity
	Continues responseRef
	Records   [][]byte // of hidden turns, that are spliced into the request
	Approval  bool     // calls of hosted tools have to be approved

	Head      *keptHead    // of the first answer of the upstream
	Exchanges []keptAnswer // with the upstream, all complete
	Passes    []bool       // whether a call passed before it was complete, in the order of its questions

	Calls    []callState
	Requests []approvals.Request // that are to be recorded: in the state Asking
	Decided  time.Time
	Before   denied // in the conversation, before this answer
	Denied   bool   // calls of this turn were denied
}

// callState is a call under review.
type callState struct {
	Call    intercept.Call
	Verdict policy.Verdict // without limits and the text of a denial
	Policy  string         // that judged it
	Ruling  intercept.Ruling
	Outcome approvals.Outcome
	Again   bool
	Asked   bool               // people are asked about it
	Request *approvals.Request // in its final state
}

// keptAnswer is an answer of the upstream, and what was ruled of its calls.
type keptAnswer struct {
	ContentType string
	Body        []byte
	Framed      bool
	Rulings     []intercept.Ruling // nil: its calls are under review
}

// keptHead is the head of an answer as the agent gets it. It implements [HeadWriter].
type keptHead struct {
	Status  int
	Message []byte // "" for the usual one
	Fields  []headerField
}

type headerField struct{ Name, Value string }

// SetStatusCode implements [HeadWriter].
func (h *keptHead) SetStatusCode(code int) { h.Status = code }

// SetStatusMessage implements [HeadWriter].
func (h *keptHead) SetStatusMessage(message []byte) { h.Message = bytes.Clone(message) }

// AddBytesKV implements [HeadWriter].
func (h *keptHead) AddBytesKV(name, value []byte) {
	h.Fields = append(h.Fields, headerField{string(name), string(value)})
}

// copyTo copies the head. A nil head is one of which nothing is known.
func (h *keptHead) copyTo(w HeadWriter) {
	if h == nil {
		return
	}
	w.SetStatusCode(h.Status)
	if len(h.Message) > 0 {
		w.SetStatusMessage(h.Message)
	}
	for _, f := range h.Fields {
		w.AddBytesKV([]byte(f.Name), []byte(f.Value))
	}
}

// keepHead keeps the head of an answer.
func (x *exchange) keepHead(r Response) {
	if x.engine.KeepAnswers {
		x.head = new(keptHead)
		r.CopyHead(x.head)
	}
}

// keepPass keeps what was answered to [intercept.Limits.Pass].
func (x *exchange) keepPass(passes bool) {
	if x.engine.KeepAnswers {
		x.passes = append(x.passes, passes)
	}
}

// keepBody begins to keep an answer.
func (x *exchange) keepBody(r Response) {
	if x.engine.KeepAnswers {
		x.kept = append(x.kept, keptAnswer{ContentType: string(r.ContentType())})
	}
}

// keep keeps a block of the answer. The dialect may change p afterwards.
func (x *exchange) keep(p []byte) {
	if x.engine.KeepAnswers {
		last := &x.kept[len(x.kept)-1]
		last.Body = append(last.Body, p...)
	}
}

func (x *exchange) keepEnd(framed bool) {
	if x.engine.KeepAnswers {
		x.kept[len(x.kept)-1].Framed = framed
	}
}

func (x *exchange) keepRulings(rulings []intercept.Ruling) {
	if x.engine.KeepAnswers {
		x.kept[len(x.kept)-1].Rulings = rulings
	}
}

// Snapshot returns the state of the turn between two steps. It shares memory with the turn,
// so encode it before the turn continues. It fails while an answer of the upstream is
// incomplete, and without [Options.KeepAnswers].
func (t *Turn) Snapshot() (*Snapshot, error) {
	if !t.engine.KeepAnswers || !states[t.state].complete {
		return nil, fmt.Errorf("turn %s cannot be kept while it is %s", t.request.Turn, t.state)
	}
	c, r := &t.conversation, &t.review
	s := &Snapshot{
		State: t.state, Outcome: t.output.outcome, Request: *t.request, Dialect: t.request.Dialect.Name(),
		Identity: *c.identity(), Continues: c.continues, Records: t.hidden.records, Approval: t.hosted.approval,
		Head: t.exchange.head, Exchanges: t.exchange.kept, Passes: t.exchange.passes,
		Requests: r.requests, Decided: r.decided, Before: r.denials.before, Denied: r.denials.any,
	}
	s.Request.KeyDigest = t.request.keyDigest()
	for _, j := range r.calls {
		v := j.verdict
		v.Limits, v.Denial = nil, nil
		s.Calls = append(s.Calls, callState{j.call, v, j.policy, j.ruling, j.outcome, j.again, r.isAsked(j), j.request})
	}
	return s, nil
}

func (r *review) isAsked(j *judgedCall) bool {
	for _, asked := range r.asked {
		if asked == j {
			return true
		}
	}
	return false
}

// Restored is what a turn needs beside its [Snapshot] to continue.
type Restored struct {
	Agent    Agent
	Upstream Upstream
	Hold     Hold // for its requests, in the state Waiting
	Spans    *trace.Spans
	Dialect  intercept.Dialect // of the snapshot's name
}

// Restore returns the turn of a snapshot for another agent, which gets the answer from its
// beginning. Upstream is not asked again, and neither are people. The snapshot's memory
// belongs to the turn from then on.
func (e *Engine) Restore(ctx context.Context, s *Snapshot, with Restored) (*Turn, error) {
	if !states[s.State].complete {
		return nil, fmt.Errorf("restore turn %s: its state is %s", s.Request.Turn, s.State)
	}
	request := s.Request
	request.Dialect = with.Dialect
	t := e.New(ctx, &request, with.Agent, with.Upstream, with.Spans)
	t.state = s.State
	t.output.record(s.Outcome)
	c := &t.conversation
	c.id, c.continues = s.Identity, s.Continues
	t.hidden.records, t.hosted.approval = s.Records, s.Approval
	if refusal := c.read(); refusal != nil {
		return nil, fmt.Errorf("restore turn %s: %w", request.Turn, refusal)
	}
	if len(s.Records) > 0 {
		c.parsed.Splice(s.Records)
	}
	if s.Approval {
		c.parsed.RequireApproval()
	}
	if err := s.replay(t); err != nil {
		return nil, fmt.Errorf("restore turn %s: %w", request.Turn, err)
	}
	t.review.restore(s, with.Hold)
	return t, nil
}

// replay reads the kept answers again, which brings the answer into its state, and sends
// the agent what it may have of them.
func (s *Snapshot) replay(t *Turn) error {
	s.Head.copyTo(t.output.agent.Head())
	asked := 0
	t.output.begin(func(c intercept.Call) bool {
		if asked < len(s.Passes) {
			asked++
			return s.Passes[asked-1]
		}
		return t.passByName(c)
	})
	for i := range s.Exchanges {
		if err := s.Exchanges[i].replay(&t.output); err != nil {
			return err
		}
	}
	x := &t.exchange
	x.count, x.head, x.kept, x.passes = len(s.Exchanges), s.Head, s.Exchanges, s.Passes
	t.output.answer.Shrink()
	return nil
}

// replay reads the answer again.
func (kept *keptAnswer) replay(o *output) error {
	o.answer.Begin(kept.ContentType)
	body := append([]byte{}, kept.Body...) // the dialect may change it
	out, err := o.answer.Write(body)
	if err != nil {
		return err
	}
	o.emit(append([]byte{}, out...))
	if out, err = o.answer.End(kept.Framed); err != nil {
		return err
	}
	o.emit(append([]byte{}, out...))
	if kept.Rulings == nil {
		return nil
	}
	settled, err := o.answer.Resolve(kept.Rulings)
	if err != nil {
		return err
	}
	o.emit(settled.Bytes)
	return nil
}

// restore takes over the calls of a snapshot.
func (r *review) restore(s *Snapshot, hold Hold) {
	r.requests, r.decided, r.hold = s.Requests, s.Decided, hold
	r.denials.before, r.denials.any = s.Before, s.Denied
	judge := r.conversation.judge()
	for _, one := range s.Calls {
		j := &judgedCall{call: one.Call, verdict: one.Verdict, policy: one.Policy, ruling: one.Ruling, outcome: one.Outcome, again: one.Again, request: one.Request}
		// The text of a denial is not in the snapshot: rules have it.
		if v := judge.Verdict(r.conversation.origin(), j.call); v.Rule == j.verdict.Rule {
			j.verdict.Denial = v.Denial
		}
		r.calls = append(r.calls, j)
		if one.Asked {
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
