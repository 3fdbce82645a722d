//go:build faults

package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// reviewers decide the requests of a seed as its plan has it, each on any replica, over REST
// or NATS, again after a failure.
type reviewers struct {
	site  *site
	calls map[string]*call // by id

	mu       sync.Mutex
	begun    map[string]bool      // requests whose decision has begun
	reviews  map[string][]*review // by request
	deciding sync.WaitGroup
}

// review is one decision of one reviewer.
type review struct {
	call     *call
	action   approvals.Action
	note     string // unique
	args     string // of an edit
	sent     time.Time
	accepted bool
	lost     bool  // another decision was earlier
	err      error // neither
}

func newReviewers(s *site, p *plan) *reviewers {
	r := &reviewers{site: s, calls: map[string]*call{}, begun: map[string]bool{}, reviews: map[string][]*review{}}
	for _, c := range p.conversations {
		for _, call := range c.calls {
			r.calls[call.id] = call
		}
	}
	return r
}

// run decides until ctx ends, then waits for decisions in progress.
func (r *reviewers) run(ctx context.Context) {
	defer r.deciding.Wait()
	for ctx.Err() == nil {
		sleep(ctx, 50*time.Millisecond)
		replica := r.site.any()
		if replica == nil {
			continue
		}
		listing, cancel := context.WithTimeout(ctx, time.Second)
		page, err := replica.console.Requests(listing, approvals.Filter{Status: approvals.StatusPending, Limit: 500})
		cancel()
		if err != nil {
			continue
		}
		for _, request := range page.Items {
			r.look(ctx, request)
		}
	}
}

// look begins the decisions on a request that has waited long enough.
func (r *reviewers) look(ctx context.Context, request approvals.Request) {
	call := r.calls[request.ToolCallID]
	if call == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun[request.ID] {
		return
	}
	r.begun[request.ID] = true
	r.site.steps.happened(stepShown)
	decisions := []*review{newReview(call, call.action, request.ID)}
	if call.contest {
		opposite := "approve"
		if call.action != "deny" {
			opposite = "deny"
		}
		decisions = append(decisions, newReview(call, opposite, request.ID))
	}
	r.reviews[request.ID] = decisions
	for _, one := range decisions {
		r.deciding.Go(func() {
			sleep(ctx, call.wait)
			r.decide(ctx, one, request.ID)
		})
	}
}

func newReview(c *call, action, request string) *review {
	v := &review{call: c, note: fmt.Sprintf("%s %s, review %d", action, request, rand.Uint64())}
	switch action {
	case "approve":
		v.action = approvals.ActionApprove
	case "deny":
		v.action = approvals.ActionDeny
	case "edit":
		v.action, v.args = approvals.ActionModifyArgs, c.arguments(c.edited)
	}
	return v
}

// decide sends a decision until it is known whether it was accepted.
func (r *reviewers) decide(ctx context.Context, v *review, id string) {
	d := approvals.Decision{RequestID: id, Action: v.action, Note: v.note}
	if v.args != "" {
		d.ModifiedArgs = json.RawMessage(v.args)
	}
	for start := time.Now(); time.Since(start) < patience && ctx.Err() == nil; sleep(ctx, 200*time.Millisecond) {
		replica := r.site.any()
		if replica == nil {
			continue
		}
		r.mu.Lock()
		if v.sent.IsZero() {
			v.sent = time.Now()
		}
		r.mu.Unlock()
		r.site.steps.happened(stepDecision)
		sending, cancel := context.WithTimeout(ctx, 5*time.Second)
		var err error
		if rand.IntN(3) == 0 {
			err = r.overNATS(sending, d)
		} else {
			_, err = replica.console.Decide(sending, d)
		}
		cancel()
		if r.settled(v, err) {
			return
		}
	}
}

// settled records the answer to a decision, and reports whether there is one. An earlier
// decision with the same note is this one, whose answer was lost.
func (r *reviewers) settled(v *review, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.err = nil
	var decided *approvals.DecidedError
	switch {
	case err == nil:
		v.accepted = true
	case errors.As(err, &decided):
		final, ok := decided.Request.FinalDecision()
		v.accepted = ok && final.Note == v.note
		v.lost = !v.accepted
	default:
		v.err = err
		return false
	}
	return true
}

// overNATS decides over NATS.
func (r *reviewers) overNATS(ctx context.Context, d approvals.Decision) error {
	payload, err := json.Marshal(map[string]any{"action": d.Action, "note": d.Note, "modified_args": d.ModifiedArgs})
	if d.ModifiedArgs == nil {
		payload, err = json.Marshal(map[string]any{"action": d.Action, "note": d.Note})
	}
	if err != nil {
		return err
	}
	reply, err := r.site.bot.RequestWithContext(ctx, "heldcall.v1.decide.local."+d.RequestID, payload)
	if err != nil {
		return err
	}
	var answer struct {
		Code    string             `json:"code"`
		Message string             `json:"message"`
		Request *approvals.Request `json:"request"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return err
	}
	switch {
	case answer.Code == "":
		return nil
	case answer.Request != nil:
		return &approvals.DecidedError{Request: *answer.Request}
	}
	return fmt.Errorf("%s: %s", answer.Code, answer.Message)
}

// settle waits until all decisions that have begun are answered.
func (r *reviewers) settle(ctx context.Context) {
	for ctx.Err() == nil {
		open := 0
		r.mu.Lock()
		for _, decisions := range r.reviews {
			for _, v := range decisions {
				if !v.accepted && !v.lost {
					open++
				}
			}
		}
		r.mu.Unlock()
		if open == 0 {
			return
		}
		sleep(ctx, 50*time.Millisecond)
	}
}
