// Package inner knows no HTTP and no form of a client: it judges one call that an agent is about to run, outside of an
// answer of a model, from a principal and a session and by a deadline. The call gets what a call on the wire gets: the
// verdict of the policy and of grants, limits, a request to people where nothing else decides, the audit log, and a held
// turn that outlives the connection. At the deadline it is parked: the same call made again joins its request.
//
// Read inner.go (the call, and its way), hold.go (people are asked), settle.go (the decision takes effect), then
// releases.go (calls that were released on the wire).
package inner

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/runs"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// Dialect is that of requests and events about inner calls.
const Dialect = "hook"

// Rules judge the calls of a client. [judge.Rules] implements it.
type Rules interface {
	Judge(ctx context.Context, from judge.Origin, c intercept.Call, denied map[string]string) (judge.Case, error)
	Verdict(from judge.Origin, c intercept.Call) policy.Verdict
}

// Gate asks people and writes the audit log. [gate.Gate] has these methods.
type Gate interface {
	Prepare(requests []approvals.Request)
	Open(ctx context.Context, requests []approvals.Request) (*gate.Hold, error)
	Record(ctx context.Context, events ...approvals.Event) error
	Request(ctx context.Context, id string) (approvals.Request, error)
	RunState(id string, who approvals.Principal) (approvals.RunState, time.Time)
	AwaitResume(ctx context.Context, id string, who approvals.Principal) error
	EnterRun(calls bool, entry func() runs.Entry) (leave func(approvals.Outcome))
}

// Attachment is the connection of an agent to a stored turn. [heldturns.Attachment] has these methods.
type Attachment interface {
	Lost() <-chan struct{}
	WatchAgent(left <-chan struct{})
	Opened(requests []approvals.Request)
	Confirm(ctx context.Context) error
	Detach(ctx context.Context) error
	Park(ctx context.Context) error
	Deliver(ctx context.Context, d heldturns.Delivery) error
	End(ctx context.Context) error
}

// Keeper stores held turns. [heldturns.Keeper] has these methods.
type Keeper interface {
	Keep(ctx context.Context, t approvals.HeldTurn, snapshot []byte) (Attachment, error)
	Await(ctx context.Context)
	Candidates(fingerprint string) []heldturns.Candidate
	Load(ctx context.Context, id string) (snapshot []byte, err error)
	Claim(ctx context.Context, c heldturns.Candidate) (Attachment, []byte, error)
}

// Options configures a [Judge]. All are needed, but for those that may be nil.
type Options struct {
	Gate     Gate
	Rules    func(client string) Rules
	Store    conversation.Store
	Releases *Releases
	// Keeper stores held turns. Nil: a held call ends with its connection.
	Keeper Keeper
	// Results records whether approved calls are released. Nil: that is not recorded.
	Results conversation.ReleasedCalls
	// Used is called with the ids of the grants that decided a call. It must not wait. It may be nil.
	Used    func(grants ...string)
	MaxWait time.Duration // longest time that people have; 0: as long as the policy allows
	// Draining is closed when holds have to end because heldcall stops.
	Draining <-chan struct{}
	Log      *slog.Logger
}

// Judge judges inner calls. It is safe for concurrent use.
type Judge struct{ Options }

// Call is a call that an agent is about to run.
type Call struct {
	Turn      string // id of the turn, which is this call
	Client    string // SHA-256 of the API key of a configured client in hex, "" for others
	KeyDigest string // SHA-256 of the API key in hex, "" without one
	Principal approvals.Principal
	Session   string // as the agent names its conversation
	Call      intercept.Call
	Offer     *intercept.Offer
	Model     string    // "" where it is not known
	Until     time.Time // when the agent needs an answer
}

// Answer is what the agent is to do with a call.
type Answer struct {
	Outcome   approvals.Outcome
	Arguments string // with which it runs, "" for those that it has
	Reason    string // for the model, if it does not run
	Request   string // id of the request to people, "" for none

	sent func(error)
}

// Allowed reports whether the call runs.
func (a *Answer) Allowed() bool {
	switch a.Outcome {
	case approvals.OutcomeAllowedByRule, approvals.OutcomeAllowedByPerson, approvals.OutcomeAllowedByTimeout, approvals.OutcomeModified:
		return true
	default:
		return false
	}
}

// Sent reports that the agent has got the answer, or with an error that its connection ended before. It must be called
// once.
func (a *Answer) Sent(err error) {
	if a.sent != nil {
		a.sent(err)
	}
}

// asking is one call on its way.
type asking struct {
	*Judge
	call  *Call
	rules Rules
	from  judge.Origin

	judged     judge.Case
	attachment Attachment         // nil: the call is not stored
	request    *approvals.Request // to people, nil if they were not asked
}

// Ask judges a call, and waits for people until its deadline. The context ends when the agent disconnects. Whatever
// fails, the answer does not allow the call.
func (j *Judge) Ask(ctx context.Context, c *Call) Answer {
	a := &asking{Judge: j, call: c, rules: j.Rules(c.Client)}
	answer, err := a.answer(ctx)
	if err == nil {
		return answer
	}
	a.leave()
	if ctx.Err() == nil {
		j.Log.Error("a call of a hook is not allowed because of an error", "turn", c.Turn, "tool", c.Call.Name, "error", err)
	}
	reason := "heldcall could not judge this call, so it was not run: " + approvals.Because("its storage is not available; try again later", err) + "."
	switch {
	case errors.Is(err, errStopping):
		reason = "heldcall is stopping. This call was not run; try it again with exactly the same arguments."
	case errors.Is(err, approvals.ErrRunAborted):
		reason = notice.RunAborted("")
	case errors.Is(err, approvals.ErrTooLarge):
		reason = "This call is too large to be recorded, so it was not run."
	case errors.Is(err, approvals.ErrTaken):
		reason = "The same call was made again, and that one waits for the decision. This one was not run."
	}
	return Answer{Outcome: approvals.OutcomeFailedClosed, Reason: reason}
}

// errStopping ends the wait for people because heldcall stops.
var errStopping = errors.New("heldcall is stopping")

// answer is [Judge.Ask] with the error that denies the call.
func (a *asking) answer(ctx context.Context) (answer Answer, err error) {
	if err := a.identify(ctx); err != nil {
		return answer, err
	}
	if stopped, err := a.awaitRun(ctx); stopped != nil || err != nil {
		return a.stopped(stopped), err
	}
	leave := a.Gate.EnterRun(true, func() runs.Entry {
		return runs.Entry{Run: approvals.Run{ID: a.from.Run, Principal: a.from.Principal, SessionID: a.from.Session}, Continues: true}
	})
	defer func() { leave(answer.Outcome) }()
	if v := a.rules.Verdict(a.from, a.call.Call); v.Action != policy.Deny && a.Releases.take(a.call) {
		return Answer{Outcome: approvals.OutcomeAllowedByRule}, nil // the log has its release
	}
	if a.judged, err = a.rules.Judge(ctx, a.from, a.call.Call, nil); err != nil {
		return answer, err
	}
	defer a.judged.Charge.Return() // but for one that was kept
	switch v := &a.judged.Verdict; v.Action {
	case policy.Allow:
		return a.settle(ctx, Answer{Outcome: approvals.OutcomeAllowedByRule, Arguments: v.Arguments})
	case policy.Deny:
		return a.settle(ctx, a.deniedByRule(v.Reason))
	}
	return a.ask(ctx)
}

func (a *asking) stopped(answer *Answer) Answer {
	if answer == nil {
		return Answer{}
	}
	return *answer
}

// identify finds the conversation of the call: that of the wire if it is known there by this name.
func (a *asking) identify(ctx context.Context) error {
	c := a.call
	a.from = judge.Origin{
		Principal: c.Principal, Session: c.Session, Run: conversation.RunOf(c.Principal.Tenant, c.Session), Turn: c.Turn, Model: c.Model,
		Dialect: Dialect, At: time.Now(), Offer: c.Offer,
	}
	if of, known := a.Releases.conversation(c.Principal, c.Session); known {
		a.from.Session, a.from.Run, a.from.Tainted = of.Session, of.Run, of.Tainted
	}
	if a.from.Tainted {
		return nil
	}
	for _, key := range conversation.TaintKeys(c.Principal, c.Session, a.from.Session) {
		kept, err := a.records(ctx, key)
		if err != nil {
			return err
		}
		a.from.Tainted = a.from.Tainted || len(kept) > 0
	}
	return nil
}

// records reads the store's records under a key.
func (a *asking) records(ctx context.Context, key string) ([][]byte, error) {
	known, err := a.Store.AwaitTurns(ctx)
	if err != nil || (known && !a.Store.HasTurns(key)) {
		return nil, err
	}
	return a.Store.Turns(ctx, key)
}

// awaitRun waits while people have paused the run. It returns the answer if the run was stopped, or is still paused at
// the deadline.
func (a *asking) awaitRun(ctx context.Context) (*Answer, error) {
	for {
		switch state, _ := a.Gate.RunState(a.from.Run, a.from.Principal); state {
		case approvals.RunAborted:
			return &Answer{Outcome: approvals.OutcomeAborted, Reason: notice.RunAborted("")}, nil
		case approvals.RunPaused:
		default:
			return nil, nil
		}
		waiting, cancel := context.WithDeadline(ctx, a.call.Until)
		stop := make(chan struct{})
		go func() { // ends with the wait
			select {
			case <-a.Draining:
				cancel()
			case <-stop:
			}
		}()
		err := a.Gate.AwaitResume(waiting, a.from.Run, a.from.Principal)
		close(stop)
		cancel()
		switch {
		case err == nil, errors.Is(err, approvals.ErrRunAborted):
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case a.drains():
			return nil, errStopping
		default:
			return &Answer{Outcome: approvals.OutcomeParked, Reason: "A person has paused this run. This call of " + a.call.Call.Name + " was not run; try it again later with exactly the same arguments."}, nil
		}
	}
}

func (a *asking) drains() bool {
	select {
	case <-a.Draining:
		return true
	default:
		return false
	}
}

// deniedByRule is the answer to a call that a rule denies.
func (a *asking) deniedByRule(reason string) Answer {
	return a.denied(approvals.OutcomeDeniedByRule, "", notice.DeniedByRule(a.call.Call.Name, reason))
}

// denied is the answer to a call that is denied. The model reads the text of the rule, else the usual one.
func (a *asking) denied(outcome approvals.Outcome, note, usual string) Answer {
	text := a.judged.Verdict.Denial.Denied(policy.Denied{Outcome: outcome, Note: note, Reviewer: a.decision().ReviewerID})
	if text == "" {
		text = usual
	}
	return Answer{Outcome: outcome, Reason: text}
}
