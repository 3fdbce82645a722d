package policylearn

import (
	"fmt"
	"io"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Print shows proposals with their evidence and effect, and on request why other patterns are none.
func Print(w io.Writer, all *approvals.Proposals, verbose bool) error {
	var text strings.Builder
	for i := range all.Items {
		printOne(&text, &all.Items[i], all.Of)
	}
	for _, narrow := range all.Narrow {
		fmt.Fprintf(&text, "%s asks, and people approved each of its %d requests in %s: %s\n", sanitize.Line(narrow.Rule), narrow.Approved, humanize.Count(narrow.Sessions, "session"), byHand(narrow.Rule))
		for _, line := range narrow.Lines {
			fmt.Fprintf(&text, "  %s\n", sanitize.Line(line))
		}
	}
	if verbose && len(all.LeftOut) > 0 {
		text.WriteString("Not proposed:\n")
		for _, leftOut := range all.LeftOut {
			fmt.Fprintf(&text, "  %s: %s\n", sanitize.Line(leftOut.Pattern), sanitize.Line(leftOut.Reason))
		}
	}
	if len(all.Items) == 0 {
		fmt.Fprintf(&text, "No rule is proposed, from %d requests.\n", all.Of)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// byHand returns what people can do about a rule that asks too often.
func byHand(rule string) string {
	if strings.HasPrefix(rule, "starter/") {
		return "leave out its patterns (`without`), and write them into a rule of your own that is narrower"
	}
	return "narrow it by hand"
}

// printOne shows one proposal.
func printOne(text *strings.Builder, p *approvals.Proposal, of int) {
	fmt.Fprintf(text, "%s\n  approved %s in %s, never denied; %s fewer, of %d", sanitize.Line(p.Pattern), times(p.Approved), humanize.Count(p.Sessions, "session"), humanize.Count(p.Fewer, "prompt"), of)
	if p.Alone != p.Fewer {
		fmt.Fprintf(text, " (%d without the other proposals)", p.Alone)
	}
	fmt.Fprintf(text, "\n  allows %s\n", sanitize.Line(p.Allows))
	for _, c := range p.Calls {
		fmt.Fprintf(text, "  %4dx %s %s\n", c.Calls, sanitize.Line(c.ToolName), sanitize.Line(c.Preview))
	}
}
