package main

import (
	"context"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type delegationsCommand struct {
	List   delegationListCommand   `cmd:"" default:"withargs" help:"List who decides for whom (the default)."`
	Create delegationCreateCommand `cmd:"" help:"Let another reviewer decide in your place."`
	Revoke delegationRevokeCommand `cmd:"" help:"End a delegation before its time."`
}

type delegationListCommand struct {
	connection
	outputFlag
}

// Run lists the delegations in force.
func (c *delegationListCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	list, err := console.Delegations(ctx)
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, map[string]any{"items": list, "next_cursor": ""})
	}
	return textview.Delegations(s.out, list)
}

type delegationCreateCommand struct {
	connection
	outputFlag
	To    string `arg:"" help:"Reviewer who decides in your place."`
	Until string `required:"" placeholder:"TIME" help:"2026-12-24 (to the end of that day here), 2026-12-24T18:00:00Z, or a duration such as 48h."`
	From  string `placeholder:"NAME" help:"The reviewer to replace, for admins; default: you."`
	Note  string `placeholder:"TEXT" help:"Note stored with the delegation."`
}

// Run makes a delegation.
func (c *delegationCreateCommand) Run(ctx context.Context, s *streams) error {
	until, err := parseUntil(c.Until, time.Now())
	if err != nil {
		return &usageError{err}
	}
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	d, err := console.Delegate(ctx, approvals.Delegation{From: c.From, To: c.To, Until: until, Note: c.Note})
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, d)
	}
	return textview.Delegations(s.out, []approvals.Delegation{d})
}

// parseUntil reads a time to come: a day, of which it takes the end, a moment, or
// a duration from now on.
func parseUntil(text string, now time.Time) (time.Time, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	if moment, err := time.Parse(time.RFC3339, text); err == nil {
		return moment, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	return time.Time{}, fmt.Errorf("--until: %q is no time: write 2026-12-24, 2026-12-24T18:00:00Z or 48h", text)
}

type delegationRevokeCommand struct {
	connection
	outputFlag
	ID string `arg:"" help:"The delegation's id; heldcall delegations lists them."`
}

// Run ends a delegation.
func (c *delegationRevokeCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	d, err := console.RevokeDelegation(ctx, c.ID)
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, d)
	}
	_, err = fmt.Fprintf(s.out, "%s no longer decides for %s\n", sanitize.Line(d.To), sanitize.Line(d.From))
	return err
}
