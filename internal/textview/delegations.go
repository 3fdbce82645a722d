package textview

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Delegations writes a list for people.
func Delegations(w io.Writer, list []approvals.Delegation) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No delegations.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tFROM\tTO\tUNTIL\tNOTE")
	for _, d := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", sanitize.Line(d.ID), sanitize.Line(d.From), sanitize.Line(d.To), d.Until.UTC().Format(time.RFC3339), sanitize.Line(d.Note))
	}
	return table.Flush()
}
