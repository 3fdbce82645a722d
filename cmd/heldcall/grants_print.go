package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// printGrants writes a list for people.
func printGrants(w io.Writer, list approvals.GrantPage) error {
	if len(list.Items) == 0 {
		_, err := fmt.Fprintln(w, "No grants.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tEFFECT\tFOR\tPATTERNS\tENDS\tUSES\tLAST USED\tBY")
	for i := range list.Items {
		g := &list.Items[i]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", printable(g.ID), printable(string(g.Effect)), describeScope(g),
			shorten(printable(strings.Join(g.Patterns, " ")), previewWidth), timeOr(g.ExpiresAt, "never"), g.Uses, timeOr(g.LastUsedAt, "never"), printable(g.GrantedBy))
	}
	return endTable(w, table, list.NextCursor)
}

// describeGrant describes a grant on one line.
func describeGrant(g *approvals.Grant) string {
	text := fmt.Sprintf("%s %s for %s", printable(string(g.Effect)), printable(strings.Join(g.Patterns, " ")), describeScope(g))
	if g.ExpiresAt != nil {
		text += " until " + timeOr(g.ExpiresAt, "")
	}
	return text
}

// describeScope names those whose calls a grant covers.
func describeScope(g *approvals.Grant) string {
	p := g.Principal
	whose := map[approvals.GrantScope][]string{
		approvals.GrantTenant:  {p.Tenant},
		approvals.GrantUser:    {p.Tenant, p.User},
		approvals.GrantAgent:   {p.Tenant, p.User, p.Agent},
		approvals.GrantSession: {p.Tenant, p.User, p.Agent, g.SessionID},
	}[g.Scope]
	if g.Scope == approvals.GrantUser && p.User == "" {
		return printable("agents of " + p.Tenant + " without a user")
	}
	return printable(string(g.Scope) + " " + strings.Join(whose, "/"))
}

func timeOr(at *time.Time, never string) string {
	if at == nil {
		return never
	}
	return at.UTC().Format(time.RFC3339)
}

// printPreview writes what a grant would have decided.
func printPreview(w io.Writer, p *approvals.GrantPreview) error {
	var page strings.Builder
	fmt.Fprintf(&page, "%s\n", describeGrant(&p.Grant))
	fmt.Fprintf(&page, "%d of the %d calls recorded since %s.\n", p.Covered, p.Calls, timeOr(p.Since, "the beginning"))
	for _, c := range p.Items {
		fmt.Fprintf(&page, "%s  %-7s  %s %s\n", c.Time.UTC().Format(time.RFC3339), printable(c.Then), printable(c.ToolName),
			shorten(sanitize.Blanks(escapeJSON(compactJSON(c.Arguments))), 2*previewWidth))
	}
	if left := p.Covered - len(p.Items); left > 0 {
		fmt.Fprintf(&page, "and %d more\n", left)
	}
	_, err := io.WriteString(w, page.String())
	return err
}
