package textview

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Grants writes a list for people.
func Grants(w io.Writer, list approvals.GrantPage) error {
	if len(list.Items) == 0 {
		_, err := fmt.Fprintln(w, "No grants.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tEFFECT\tFOR\tPATTERNS\tENDS\tUSES\tLAST USED\tBY")
	for i := range list.Items {
		g := &list.Items[i]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", sanitize.Line(g.ID), sanitize.Line(string(g.Effect)), describeScope(g),
			Shorten(sanitize.Line(strings.Join(g.Describe(), " ")), PreviewWidth), timeOr(g.ExpiresAt, "never"), g.Uses, timeOr(g.LastUsedAt, "never"), sanitize.Line(g.GrantedBy))
	}
	return endTable(w, table, list.NextCursor)
}

// Grant describes a grant on one line.
func Grant(g *approvals.Grant) string {
	text := fmt.Sprintf("%s %s for %s", sanitize.Line(string(g.Effect)), sanitize.Line(strings.Join(g.Describe(), " ")), describeScope(g))
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
		approvals.GrantAgent:   {whole(p)},
		approvals.GrantSession: {whole(p), g.SessionID},
	}[g.Scope]
	if g.Scope == approvals.GrantUser && p.User == "" {
		return sanitize.Line("agents of " + p.Tenant + " without a user")
	}
	if g.Window || g.Folder != "" {
		return sanitize.Line("run " + g.RunID + " of " + strings.Join(whose, "/"))
	}
	return sanitize.Line(string(g.Scope) + " " + strings.Join(whose, "/"))
}

func timeOr(at *time.Time, never string) string {
	if at == nil {
		return never
	}
	return at.UTC().Format(time.RFC3339)
}

// Preview writes what a grant would have decided.
func Preview(w io.Writer, p *approvals.GrantPreview) error {
	var page strings.Builder
	fmt.Fprintf(&page, "%s\n", Grant(&p.Grant))
	fmt.Fprintf(&page, "%d of the %d calls recorded since %s.\n", p.Covered, p.Calls, timeOr(p.Since, "the beginning"))
	for _, c := range p.Items {
		fmt.Fprintf(&page, "%s  %-7s  %s %s\n", c.Time.UTC().Format(time.RFC3339), sanitize.Line(c.Then), sanitize.Line(c.ToolName),
			Shorten(sanitize.Blanks(sanitize.JSON(CompactJSON(c.Arguments))), 2*PreviewWidth))
	}
	if left := p.Covered - len(p.Items); left > 0 {
		fmt.Fprintf(&page, "and %d more\n", left)
	}
	_, err := io.WriteString(w, page.String())
	return err
}
