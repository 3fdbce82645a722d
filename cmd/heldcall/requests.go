package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/humanize"
)

const (
	pageSize     = 500 // requests a page, the most that the console gives
	previewWidth = 60  // of a list, in runes; `requests show` shows the whole
)

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
	console, err := c.dial()
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
		return printJSON(s.out, list)
	}
	if len(list.Items) == 0 && c.Search != "" && filter.Status == approvals.StatusPending {
		_, err := fmt.Fprintln(s.out, "No pending request has these words; --all searches requests that have ended too.")
		return err
	}
	return printTable(s.out, list, filter.Status, time.Now())
}

// printTable writes a list for people. The last column of a list of pending requests is the
// time left, of any other list the status.
func printTable(w io.Writer, list approvals.Page, status approvals.Status, now time.Time) error {
	last, nothing := "STATUS", "No requests."
	if status == approvals.StatusPending {
		last, nothing = "LEFT", "No pending requests."
	}
	if len(list.Items) == 0 {
		_, err := fmt.Fprintln(w, nothing)
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "ID\tAGE\tRISK\tTOOL\tPREVIEW\t%s\n", last)
	for i := range list.Items {
		r := &list.Items[i]
		stands := shortStatus(r, now)
		if status == approvals.StatusPending {
			stands = humanize.Left(r.ExpiresAt.Sub(now))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", printable(r.ID), humanize.Ago(now.Sub(r.CreatedAt)), printable(string(r.RiskLevel)),
			printable(r.ToolName), shorten(printable(previewOf(r)), previewWidth), printable(stands))
	}
	return endTable(w, table, list.NextCursor)
}

// previewOf is a request in a few words: the title that its rule gives it, then its
// arguments.
func previewOf(r *approvals.Request) string { return joinFilled(" · ", r.RuleTitle(), r.ArgsPreview) }

// endTable writes a table, and that there is more of it where a next page begins.
func endTable(w io.Writer, table *tabwriter.Writer, nextCursor string) error {
	if err := table.Flush(); err != nil {
		return err
	}
	if nextCursor == "" {
		return nil
	}
	_, err := fmt.Fprintln(w, "There are more; list them with --limit.")
	return err
}

type showCommand struct{ oneRequest }

// Run shows one request.
func (c *showCommand) Run(ctx context.Context, s *streams) error {
	_, request, err := c.find(ctx)
	if err != nil {
		return err
	}
	if c.json() {
		return printJSON(s.out, request)
	}
	return printRequest(s.out, &request, c.flags(), time.Now())
}
