package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type approveCommand struct {
	severalRequests
	Note    string `help:"Note stored with the decision." placeholder:"TEXT"`
	Window  string `help:"Also open a trust window for the run, such as 15m (at most 1h): reads and writes in the workspace pass." placeholder:"TIME"`
	Confirm string `help:"The text that the request asks you to type." placeholder:"TEXT"`
	rememberFlags
}

// Run approves each request.
func (c *approveCommand) Run(ctx context.Context, s *streams) error {
	decision, err := c.remember(approvals.Decision{Action: approvals.ActionApprove, Note: c.Note, Window: c.Window, Confirm: c.Confirm}, approvals.ActionAllowAlways)
	if err != nil {
		return err
	}
	return c.decide(ctx, s, decision)
}

type denyCommand struct {
	severalRequests
	Note string `help:"Reason, sent to the model." placeholder:"WHY"`
	rememberFlags
}

// Run denies each request.
func (c *denyCommand) Run(ctx context.Context, s *streams) error {
	decision, err := c.remember(approvals.Decision{Action: approvals.ActionDeny, Note: c.Note}, approvals.ActionDenyAlways)
	if err != nil {
		return err
	}
	return c.decide(ctx, s, decision)
}

// severalRequests is what a command takes that decides requests.
type severalRequests struct {
	connection
	outputFlag
	IDs []string `arg:"" optional:"" name:"id" help:"Requests, each as its ${id}. Without any: the only pending request."`
	Run string   `name:"run" help:"The calls of this run that are pending now. They are shown first, as one question or several, and you confirm each." placeholder:"ID"`
	Yes bool     `help:"With --run: decide without being asked."`
}

// decide takes the same decision on each request. It decides none if an id is unknown.
// Without ids it decides the request that was the only pending one when it was read, or
// with a run those of its calls that it has shown.
// A failed decision does not stop the others.
func (c severalRequests) decide(ctx context.Context, s *streams, decision approvals.Decision) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	if c.Run != "" {
		return c.decideRun(ctx, s, console, decision)
	}
	requests, err := c.named(ctx, console)
	if err != nil {
		return err
	}
	return c.decideEach(ctx, s, console, requests, decision)
}

func (c severalRequests) decideEach(ctx context.Context, s *streams, console *client.Client, requests []approvals.Request, decision approvals.Decision) (err error) {
	var failures []error
	for i := range requests {
		d := decision
		d.RequestID = requests[i].ID
		if text := requests[i].Details.Confirm; text != "" && d.Confirm == "" && d.Action.Approves() {
			if d.Confirm, err = confirm(ctx, s, text); err != nil {
				failures = append(failures, fmt.Errorf("request %s is still pending: %w", d.RequestID, err))
				continue
			}
		}
		failures = append(failures, decideOne(ctx, s, console, c.outputFlag, d))
	}
	return errors.Join(failures...)
}

// named returns the requests whose ids were given, or the only pending one.
func (c severalRequests) named(ctx context.Context, console *client.Client) (requests []approvals.Request, err error) {
	ids := []*string{nil}
	if len(c.IDs) > 0 {
		ids = nil
	}
	for i := range c.IDs {
		ids = append(ids, &c.IDs[i])
	}
	for _, id := range ids {
		request, err := resolve(ctx, console, id)
		if err != nil {
			return nil, err
		}
		requests = append(requests, request)
	}
	return requests, nil
}

// decideRun shows the pending calls of a run, and decides those that the person confirms: one question after the other, each with
// one answer. Calls that come later are not among them.
func (c severalRequests) decideRun(ctx context.Context, s *streams, console *client.Client, decision approvals.Decision) error {
	if len(c.IDs) > 0 {
		return usagef("give ids or --run, not both")
	}
	requests, err := c.ofRun(ctx, s, console, decision.Action)
	if err != nil {
		return err
	}
	questions := [][]approvals.Request{requests} // a denial needs no second look at each
	if decision.Action.Approves() {
		questions = approvals.JointQuestions(requests)
	}
	input := newSecretInput(s.in, s.err)
	var failures []error
	var unconfirmed []string
	for _, question := range questions {
		if !c.json() {
			fmt.Fprint(s.out, textview.JointQuestion(question, time.Now()))
		}
		ids := idsOf(question)
		switch {
		case c.Yes:
		case input.terminal == nil:
			unconfirmed = append(unconfirmed, ids...)
			continue
		default:
			if err := input.typed(ctx, "yes", "Type yes to decide "+callsText(len(ids))+": "); err != nil {
				failures = append(failures, fmt.Errorf("not decided: %s: %w", strings.Join(ids, " "), err))
				continue
			}
		}
		failures = append(failures, c.decideEach(ctx, s, console, question, decision))
	}
	if len(unconfirmed) > 0 {
		return usagef("nothing was decided: there is no terminal to confirm these calls on; give their ids (%s), or add --yes", strings.Join(unconfirmed, " "))
	}
	return errors.Join(failures...)
}

func idsOf(requests []approvals.Request) (ids []string) {
	for i := range requests {
		ids = append(ids, requests[i].ID)
	}
	return ids
}

func callsText(n int) string {
	if n == 1 {
		return "this call"
	}
	return fmt.Sprintf("these %d calls", n)
}

// ofRun returns the pending calls of a run that it can decide, the oldest first.
func (c severalRequests) ofRun(ctx context.Context, s *streams, console *client.Client, action approvals.Action) ([]approvals.Request, error) {
	pending, _, err := collect(math.MaxInt, func(limit int, cursor string) ([]approvals.Request, string, error) {
		page, err := console.Requests(ctx, approvals.Filter{Status: approvals.StatusPending, RunID: c.Run, Limit: limit, Cursor: cursor})
		return page.Items, page.NextCursor, err
	})
	if err != nil {
		return nil, err
	}
	var requests []approvals.Request
	for i := range slices.Backward(pending) {
		request, err := console.Request(ctx, pending[i].ID) // the list may have it abridged
		if err != nil {
			return nil, err
		}
		if why := decidedAlone(&request); why != "" && action.Approves() {
			fmt.Fprintf(s.err, "Left out: %s %s, %s; decide it by itself.\n", request.ID, sanitize.Line(request.ToolName), why)
			continue
		}
		requests = append(requests, request)
	}
	if len(requests) == 0 {
		return nil, &unknownRequest{"no call of run " + sanitize.Line(c.Run) + " is pending that can be decided with --run; `heldcall requests --run " + textview.ShellWord(c.Run) + "` lists what is pending"}
	}
	return requests, nil
}

// decidedAlone is why a request is not approved with --run, "" if it may be.
func decidedAlone(r *approvals.Request) string {
	switch {
	case r.Asks():
		return "a question"
	case r.RiskLevel == approvals.RiskCritical:
		return "a critical call"
	case r.Details.Confirm != "" || r.Details.Passkey:
		return "a call whose approval has to be confirmed"
	}
	return ""
}

// decideOne takes one decision and prints what it was about.
func decideOne(ctx context.Context, s *streams, console *client.Client, output outputFlag, decision approvals.Decision) error {
	request, err := console.Decide(ctx, decision)
	if decided := (*approvals.DecidedError)(nil); errors.As(err, &decided) {
		return &tooLate{decided}
	}
	if invalid := (*approvals.InvalidError)(nil); errors.As(err, &invalid) {
		return fmt.Errorf("request %s is still pending: the decision is not valid: %w", decision.RequestID, invalid)
	}
	if err != nil {
		return fmt.Errorf("request %s: %w", decision.RequestID, err)
	}
	if output.json() {
		return textview.JSON(s.out, request)
	}
	return textview.Decided(s.out, &request)
}

// tooLate describes the decision that was taken before.
type tooLate struct{ decided *approvals.DecidedError }

func (e *tooLate) Error() string {
	text := e.decided.Error()
	if d, ok := e.decided.Request.FinalDecision(); ok {
		text += " (" + textview.Decision(&d) + ")"
	}
	return text
}

func (e *tooLate) Unwrap() error { return e.decided }
