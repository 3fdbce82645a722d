package textview

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// Runs writes a list of runs for people.
func Runs(w io.Writer, runs []approvals.Run, more string, now time.Time) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(w, "No runs.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tPRINCIPAL\tSTATE\tSINCE\tLAST OUTCOME")
	for i := range runs {
		run := &runs[i]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", sanitize.Line(run.ID), sanitize.Line(whole(run.Principal)), stateOf(run, now), humanize.Ago(now.Sub(run.UpdatedAt)), outcomeOf(run))
	}
	return endTable(w, table, more)
}

// stateOf returns the state of a run, or that it is idle.
func stateOf(run *approvals.Run, now time.Time) string {
	if run.IsIdle(now) {
		return "idle"
	}
	return string(run.State)
}

// whole returns the fields of a principal, "-" for empty ones.
func whole(p approvals.Principal) string {
	fields := []string{p.Tenant, p.User, p.Agent}
	for i := range fields {
		if fields[i] == "" {
			fields[i] = "-"
		}
	}
	return strings.Join(fields, "/")
}

func outcomeOf(run *approvals.Run) string {
	if run.LastOutcome == "" {
		return "-"
	}
	return sanitize.Line(string(run.LastOutcome))
}

// Signal describes what a signal by principal has done.
func Signal(s *approvals.PrincipalSignal) string {
	var of []string
	for _, field := range []struct{ name, value string }{{"agent", s.Principal.Agent}, {"user", s.Principal.User}, {"tenant", s.Principal.Tenant}} {
		if field.value != "" {
			of = append(of, field.name+" "+field.value)
		}
	}
	did := map[approvals.SignalAction]string{
		approvals.SignalPause: "paused", approvals.SignalResume: "resumed", approvals.SignalAbort: "aborted",
	}[s.Action]
	return sanitize.Line(fmt.Sprintf("%s: all runs of %s, by %s", did, strings.Join(of, ", "), s.ReviewerID))
}

// Run writes one run.
func Run(w io.Writer, run *approvals.Run) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range []struct{ name, value string }{
		{"Run", run.ID},
		{"Session", run.SessionID},
		{"Tenant", run.Principal.Tenant},
		{"User", run.Principal.User},
		{"Agent", run.Principal.Agent},
		{"State", string(run.State)},
		{"Since", timeOf(run.UpdatedAt)},
		{"Last active", timeOf(run.ActiveAt)},
		{"Last outcome", string(run.LastOutcome)},
		{"Last signal by", run.ReviewerID},
	} {
		if row.value != "" {
			fmt.Fprintf(table, "%s\t%s\n", row.name, sanitize.Line(row.value))
		}
	}
	for i := range run.Signals {
		fmt.Fprintf(table, "Signal\t%s\n", Signal(&run.Signals[i]))
	}
	return table.Flush()
}

func timeOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
