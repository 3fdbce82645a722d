package textview

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// maxCell is the most characters of a pattern or call in a table.
const maxCell = 48

// Patterns writes a table of what allow patterns cover, and nothing if there are none.
func Patterns(w io.Writer, checks []policy.PatternCheck) error {
	if len(checks) == 0 {
		return nil
	}
	var page strings.Builder
	table := tabwriter.NewWriter(&page, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ALLOW PATTERN\tPASSES\tDOES NOT PASS\tCOVERS")
	for _, c := range checks {
		covers := c.Covers
		if c.Nothing != "" {
			covers = "nothing"
		}
		for i := range max(len(c.Passes), len(c.Stays), 1) {
			pattern, about := "", ""
			if i == 0 {
				pattern, about = cell(c.Pattern), covers
			}
			if i == 0 && c.Alike > 0 {
				pattern = fmt.Sprintf("%s and %d more", pattern, c.Alike)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", pattern, cellOf(c.Passes, i), cellOf(c.Stays, i), sanitize.Line(about))
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the table of patterns: %w", err)
	}
	for line := range strings.Lines(page.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return fmt.Errorf("write the table of patterns: %w", err)
		}
	}
	return nil
}

func cellOf(calls []string, i int) string {
	if i >= len(calls) {
		return ""
	}
	return cell(calls[i])
}

func cell(text string) string { return match.Shorten(sanitize.Line(text), maxCell) }
