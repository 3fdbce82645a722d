package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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
	Run string   `name:"run" help:"The calls of this run that are pending now. They are shown first, and you confirm." placeholder:"ID"`
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
	requests, err := c.requests(ctx, s, console, decision.Action)
	if err != nil {
		return err
	}
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

// requests returns the requests to decide: those that were named, or those of a run.
func (c severalRequests) requests(ctx context.Context, s *streams, console *client.Client, action approvals.Action) (requests []approvals.Request, err error) {
	if c.Run != "" {
		return c.ofRun(ctx, s, console, action)
	}
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

// ofRun shows the pending calls of a run that may be decided together, and returns them once the person has confirmed. Calls
// that come later are not among them.
func (c severalRequests) ofRun(ctx context.Context, s *streams, console *client.Client, action approvals.Action) ([]approvals.Request, error) {
	if len(c.IDs) > 0 {
		return nil, usagef("give ids or --run, not both")
	}
	pending, _, err := collect(math.MaxInt, func(limit int, cursor string) ([]approvals.Request, string, error) {
		page, err := console.Requests(ctx, approvals.Filter{Status: approvals.StatusPending, RunID: c.Run, Limit: limit, Cursor: cursor})
		return page.Items, page.NextCursor, err
	})
	if err != nil {
		return nil, err
	}
	var requests []approvals.Request
	for i := range slices.Backward(pending) { // the oldest first
		request, err := console.Request(ctx, pending[i].ID) // the list may have it abridged
		if err != nil {
			return nil, err
		}
		if why := decidedAlone(&request); why != "" && action.Approves() {
			fmt.Fprintf(s.err, "Left out: %s %s, %s; decide it by itself.\n", request.ID, sanitize.Line(request.ToolName), why)
			continue
		}
		requests = append(requests, request)
		if !c.json() {
			fmt.Fprintln(s.out, textview.Request(&request, time.Now()))
		}
	}
	if len(requests) == 0 {
		return nil, &unknownRequest{"no call of run " + sanitize.Line(c.Run) + " is pending that can be decided together with others; `heldcall requests --run " + textview.ShellWord(c.Run) + "` lists what is pending"}
	}
	if c.Yes {
		return requests, nil
	}
	var ids []string
	for i := range requests {
		ids = append(ids, requests[i].ID)
	}
	return requests, confirmCalls(ctx, s, ids)
}

// decidedAlone is why an approval of a request is no part of one decision on several, "" if it may be.
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
