package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

const pageSize = 500 // requests a page, the most that the console gives

type requestsCommand struct {
	List listCommand `cmd:"" default:"withargs" help:"List pending requests (default)."`
	Show showCommand `cmd:"" help:"Show a request in full."`
}

type listCommand struct {
	connection
	outputFlag
	All       bool   `help:"List those that have ended too." xor:"status"`
	Status    string `help:"Only this status: pending, approved, denied, answered, expired or cancelled." xor:"status" placeholder:"STATUS"`
	Kind      string `help:"Only this kind of request." placeholder:"KIND"`
	Risk      string `help:"Only this risk: low, medium, high or critical." placeholder:"RISK"`
	SessionID string `name:"session" help:"Only this session." placeholder:"ID"`
	RunID     string `name:"run" help:"Only this run." placeholder:"ID"`
	Search    string `help:"Only requests containing all these words, in tool, arguments, names, notes or ids; with --all also requests that have ended." placeholder:"WORDS"`
	limitFlag
}

// Run lists requests, newest first.
func (c *listCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	filter := approvals.Filter{
		Status: approvals.Status(c.Status), Kind: approvals.Kind(c.Kind), Risk: approvals.Risk(c.Risk),
		SessionID: c.SessionID, RunID: c.RunID, Text: c.Search,
	}
	if !c.All && c.Status == "" {
		filter.Status = approvals.StatusPending
	}
	var list approvals.Page
	list.Items, list.NextCursor, err = collect(c.Limit, func(limit int, cursor string) ([]approvals.Request, string, error) {
		filter.Limit, filter.Cursor = limit, cursor
		page, err := console.Requests(ctx, filter)
		return page.Items, page.NextCursor, err
	})
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, list)
	}
	if len(list.Items) == 0 && c.Search != "" && filter.Status == approvals.StatusPending {
		_, err := fmt.Fprintln(s.out, "No pending request has these words; --all searches requests that have ended too.")
		return err
	}
	return textview.Requests(s.out, list, filter.Status, time.Now())
}

type showCommand struct{ oneRequest }

// Run shows one request, and how to decide it.
func (c *showCommand) Run(ctx context.Context, s *streams) error {
	console, request, err := c.find(ctx, s)
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, request)
	}
	suggestions, err := console.Suggestions(ctx, request.ID)
	if err != nil {
		return err
	}
	page := textview.Request(&request, time.Now()) + textview.Suggestions(suggestions)
	switch id, flags := sanitize.Line(request.ID), sanitize.Line(c.words()); {
	case request.Status.Final():
	case request.Asks():
		page += fmt.Sprintf("\nheldcall answer %[1]s%[3]s%[2]s\nheldcall deny %[1]s --note WHY%[2]s\n", id, flags, answerFlags(&request))
	default:
		page += textview.DecisionCommands(&request, id, flags)
	}
	_, err = io.WriteString(s.out, page)
	return err
}
