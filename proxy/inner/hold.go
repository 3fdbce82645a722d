package inner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/notice"
	"github.com/heldcall/heldcall/proxy/conversation"
)

const (
	openTimeout  = 45 * time.Second       // to record a request before anybody is asked: longer than a cluster elects leaders
	leaveTimeout = 5 * time.Second        // to record that the agent has left
	leftNoticed  = time.Second            // until this process notices that the connection of an equal call has ended
	leftLook     = 100 * time.Millisecond // between two looks
)

// snapshot is the stored form of a held call.
type snapshot struct {
	CallID  string            `json:"call_id"`
	Request approvals.Request `json:"request"`
}

// key identifies the call in its session: a call that is made again has the same.
func (a *asking) key() string {
	return conversation.PrincipalKey(a.call.Principal, "hook", a.call.KeyDigest, a.call.Session, judge.Key(a.call.Call))
}

// ask asks people, or joins the request about the same call that was made before.
func (a *asking) ask(ctx context.Context) (Answer, error) {
	answer, err := a.join(ctx)
	if answer != nil || err != nil {
		return a.stopped(answer), err
	}
	if a.request == nil {
		a.begin()
	}
	if a.request.Status.Final() {
		return a.decided(ctx)
	}
	if err := a.keep(ctx); err != nil {
		return Answer{}, err
	}
	opening, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	hold, err := a.Gate.Open(opening, []approvals.Request{*a.request})
	cancel()
	if err != nil {
		return Answer{}, err
	}
	if a.attachment != nil {
		a.attachment.Opened(hold.Requests())
	}
	return a.wait(ctx, hold)
}

// begin makes the request to people.
func (a *asking) begin() {
	v := &a.judged.Verdict
	q := a.from.NewRequest(approvals.KindPermission, v, a.MaxWait)
	shown := a.call.Call
	if v.Arguments != "" {
		shown.Arguments = v.Arguments
	}
	a.judged.Subject(&q, a.call.Call, shown)
	q.Details.Files = v.Files
	if a.from.Tainted {
		q.Details.Tainted = taintCause
		q.Details.Flags = append(q.Details.Flags, approvals.TaintFlag(taintCause))
	}
	requests := []approvals.Request{q}
	a.Gate.Prepare(requests)
	a.request = &requests[0]
}

// keep stores the call before its request is recorded, unless it is stored.
func (a *asking) keep(ctx context.Context) error {
	if a.Keeper == nil || a.attachment != nil {
		return nil
	}
	text, err := json.Marshal(snapshot{a.call.Call.ID, *a.request})
	if err != nil {
		return fmt.Errorf("encode a held call: %w", err)
	}
	keeping, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	defer cancel()
	digested := digest(a.key())
	a.attachment, err = a.Keeper.Keep(keeping, approvals.HeldTurn{ID: a.call.Turn, Conversation: digested, Fingerprint: digested}, text)
	switch {
	case errors.Is(err, approvals.ErrNoRoom):
		a.attachment = nil
		a.Log.Warn("a held call of a hook is not stored and ends with its connection", "turn", a.call.Turn, "error", err)
		return nil
	case err == nil:
		a.attachment.WatchAgent(ctx.Done())
	}
	return err
}

// taintCause is the cause of a tainted run where only the wire knows which result it is.
const taintCause = "a result in the conversation of this hook"

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// join looks for the same call that was made before and waits, or was decided and not delivered. It sets the request that
// is joined, or returns the answer that was given a moment ago.
func (a *asking) join(ctx context.Context) (*Answer, error) {
	if a.Keeper != nil {
		a.Keeper.Await(ctx)
		for began := time.Now(); ; {
			answer, waits, err := a.joinHeld(ctx)
			if answer != nil || a.request != nil || err != nil {
				return answer, err
			}
			if !waits || time.Since(began) > leftNoticed {
				break
			}
			select {
			case <-time.After(leftLook):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return nil, a.joinParked(ctx)
}

// joinHeld joins a held turn. waits reports that another connection still has one: the agent may have left it.
func (a *asking) joinHeld(ctx context.Context) (answer *Answer, waits bool, err error) {
	for _, held := range a.Keeper.Candidates(digest(a.key())) {
		switch {
		case held.Ended:
			continue
		case held.State == heldturns.Delivered:
			if answer, err = a.deniedBefore(ctx, held.ID); answer != nil || err != nil {
				return answer, false, err
			}
			continue
		case held.State == approvals.AgentAttached:
			if a.call.Call.ID == "" || !a.isOf(ctx, held.ID) {
				waits = true
				continue
			}
		}
		attachment, text, err := a.Keeper.Claim(ctx, held)
		switch {
		case errors.Is(err, approvals.ErrTaken), errors.Is(err, approvals.ErrUnknownTurn):
			waits = true
			continue
		case err != nil:
			return nil, false, err
		}
		attachment.WatchAgent(ctx.Done())
		a.attachment = attachment
		usable, err := a.resume(ctx, text)
		if usable || err != nil {
			return nil, false, err
		}
		a.attachment = nil
		a.report("remove a held call", attachment.End)
	}
	return nil, waits, nil
}

// resume reads the request of a held call. usable is false if it cannot decide the call any more.
func (a *asking) resume(ctx context.Context, text []byte) (usable bool, err error) {
	var held snapshot
	if err := json.Unmarshal(text, &held); err != nil {
		return false, fmt.Errorf("read a held call: %w", err)
	}
	current, err := a.Gate.Request(ctx, held.Request.ID)
	switch {
	case errors.Is(err, approvals.ErrUnknownRequest): // heldcall was killed before it was recorded
		a.request = &held.Request
		return true, nil
	case err != nil:
		return false, err
	}
	if a.decides(&current) {
		a.request = &current
	}
	return a.request != nil, nil
}

// decides reports whether a request decides this call, or will.
func (a *asking) decides(q *approvals.Request) bool {
	switch q.Status {
	case approvals.StatusCancelled:
		return false
	case approvals.StatusApproved:
		return time.Now().Before(q.ApprovalEnd())
	}
	return true
}

// isOf reports whether a held turn is about the call with the same id.
func (a *asking) isOf(ctx context.Context, turn string) bool {
	held, stored := a.held(ctx, turn)
	return stored && held.CallID == a.call.Call.ID
}

// held reads a held turn; stored is false for one that has ended meanwhile, or cannot be read.
func (a *asking) held(ctx context.Context, turn string) (held snapshot, stored bool) {
	text, err := a.Keeper.Load(ctx, turn)
	if err != nil {
		return held, false
	}
	err = json.Unmarshal(text, &held)
	return held, err == nil
}

// deniedBefore returns the answer to the same call if a person has denied it a moment ago.
func (a *asking) deniedBefore(ctx context.Context, turn string) (*Answer, error) {
	held, stored := a.held(ctx, turn)
	if !stored {
		return nil, nil
	}
	q, err := a.Gate.Request(ctx, held.Request.ID)
	if err != nil {
		return nil, err
	}
	d, _ := q.FinalDecision()
	if q.Status != approvals.StatusDenied || d.ReviewerID == approvals.ReviewerPolicy {
		return nil, nil
	}
	a.request = &q
	settled, err := a.settle(ctx, a.denied(approvals.OutcomeDeniedByPerson, d.Note, notice.DeniedAgain(a.call.Call.Name, d.Note)))
	return &settled, err
}

// parkedKey is the key of the records of parked requests about the call.
func (a *asking) parkedKey() string { return "parked " + a.key() }

// joinParked joins a parked request whose held turn has ended.
func (a *asking) joinParked(ctx context.Context) error {
	ids, err := a.records(ctx, a.parkedKey())
	if err != nil {
		return err
	}
	for _, id := range ids {
		q, err := a.Gate.Request(ctx, string(id))
		switch {
		case errors.Is(err, approvals.ErrUnknownRequest):
			continue
		case err != nil:
			return err
		}
		open := q.Status == approvals.StatusPending || (q.Status == approvals.StatusApproved && a.decides(&q))
		if !open {
			continue
		}
		used, err := a.records(ctx, a.usedKey(q.ID))
		if err != nil {
			return err
		}
		if len(used) == 0 {
			a.request = &q
			return nil
		}
	}
	return nil
}

// wait waits until people have decided, the deadline, the agent's disconnect, or until heldcall stops.
func (a *asking) wait(ctx context.Context, hold *gate.Hold) (Answer, error) {
	var lost <-chan struct{}
	if a.attachment != nil {
		lost = a.attachment.Lost()
	}
	deadline := time.NewTimer(time.Until(a.call.Until))
	defer deadline.Stop()
	select {
	case <-hold.Done():
		if err := hold.Err(); err != nil {
			return Answer{}, err
		}
		a.request = &hold.Requests()[0]
		return a.decided(ctx)
	case <-lost:
		hold.Detach()
		a.attachment = nil
		return Answer{}, approvals.ErrTaken
	case <-a.Draining:
		hold.Detach()
		a.attachment = nil // the end of the process detaches it
		return Answer{}, errStopping
	case <-ctx.Done():
		if a.attachment == nil && a.request.TurnID == a.call.Turn {
			cancelling, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
			defer cancel()
			if err := hold.Cancel(cancelling, approvals.CancelAgentGone); err != nil {
				a.Log.Error("failed to cancel the request of a hook that has gone", "turn", a.call.Turn, "error", err)
			}
		}
		hold.Detach()
		return Answer{}, ctx.Err()
	case <-deadline.C:
		hold.Detach()
		return a.park(ctx)
	}
}

// park leaves the request to people, and answers that it is not decided yet.
func (a *asking) park(ctx context.Context) (Answer, error) {
	parking, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if err := a.Store.PutTurn(parking, a.parkedKey(), a.request.ID, []byte(a.request.ID)); err != nil {
		return Answer{}, err
	}
	if attachment := a.attachment; attachment != nil {
		a.attachment = nil
		a.report("park a held call", attachment.Park)
	} else if err := a.Gate.Record(parking, a.event(approvals.EventTurnParked, approvals.OutcomeParked)); err != nil {
		return Answer{}, err
	}
	return Answer{Outcome: approvals.OutcomeParked, Reason: notice.NotDecidedYet(a.call.Call.Name, a.request.ID), Request: a.request.ID}, nil
}

// leave leaves the held turn for the same call that is made again.
func (a *asking) leave() {
	attachment := a.attachment
	a.attachment = nil
	if attachment != nil && !a.drains() {
		a.report("detach a held call", attachment.Detach)
	}
}

// report does a write about a held turn that nothing waits for.
func (a *asking) report(what string, write func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if err := write(ctx); err != nil && !errors.Is(err, approvals.ErrTaken) {
		a.Log.Error("failed to "+what, "turn", a.call.Turn, "error", err)
	}
}

// judgedNow is the verdict on the call by the rules in force.
func (a *asking) judgedNow(c intercept.Call) (reason string, denied bool) {
	v := a.Rules(a.call.Client).Verdict(a.from, c)
	return v.Reason, v.Action == "deny"
}
