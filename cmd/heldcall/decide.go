package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
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
}

// decide takes the same decision on each request. It decides none if an id is unknown.
// Without ids it decides the request that was the only pending one when it was read.
// A failed decision does not stop the others.
func (c severalRequests) decide(ctx context.Context, s *streams, decision approvals.Decision) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	var ids []*string
	for i := range c.IDs {
		ids = append(ids, &c.IDs[i])
	}
	if len(ids) == 0 {
		ids = []*string{nil}
	}
	requests := make([]approvals.Request, len(ids))
	for i, id := range ids {
		if requests[i], err = resolve(ctx, console, id); err != nil {
			return err
		}
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
