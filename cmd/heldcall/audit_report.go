package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// lastEvents returns the last events that wanted selects, at most limit, oldest first, and whether
// there are more before them.
func lastEvents(entries iter.Seq2[audit.Entry, error], limit int, wanted func(*approvals.Event) bool) (last []approvals.Event, more bool, err error) {
	last = []approvals.Event{}
	for entry, err := range entries {
		if err != nil {
			return nil, false, err
		}
		if !wanted(&entry.Event) {
			continue
		}
		if last = append(last, entry.Event); len(last) > limit {
			last, more = last[1:], true
		}
	}
	return last, more, nil
}

// writeEvents writes events as a table. more reports that there are more before them.
func writeEvents(w io.Writer, events []approvals.Event, more bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SEQ\tTIME\tTYPE\tTOOL\tBY\tRUN\tRULE")
	for i := range events {
		e := &events[i]
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Seq, e.Time.UTC().Format(time.RFC3339), sanitize.Line(string(e.Type)),
			sanitize.Line(e.ToolName), sanitize.Line(e.ReviewerID), sanitize.Line(e.RunID), sanitize.Line(e.Rule))
	}
	err := table.Flush()
	if err == nil && more {
		_, err = fmt.Fprintln(w, "There are earlier ones; list them with --limit.")
	}
	return err
}

// exportTo writes entries to a file that only its owner can read: see [export].
func exportTo(name string, entries iter.Seq2[audit.Entry, error], checkpoints bool) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(export(file, entries, checkpoints), file.Close())
}

// export writes entries byte for byte, one a line; with checkpoints only those.
func export(w io.Writer, entries iter.Seq2[audit.Entry, error], checkpoints bool) error {
	out := bufio.NewWriter(w)
	for entry, err := range entries {
		if err != nil {
			return err
		}
		if checkpoints && entry.Event.Type != approvals.EventCheckpoint {
			continue
		}
		if _, err := out.Write(append(slices.Clip(entry.Data), '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// readCheckpoints returns the checkpoints in files.
func readCheckpoints(files []string) ([]approvals.Checkpoint, error) {
	var all []approvals.Checkpoint
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		checkpoints, err := audit.ReadCheckpoints(file)
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, checkpoints...)
	}
	return all, nil
}

// writeVerification verifies a log, and writes the result.
func writeVerification(w io.Writer, entries iter.Seq2[audit.Entry, error], v audit.Verifier) error {
	r, err := v.Verify(entries)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if r.Count == 0 {
		fmt.Fprintln(out, "The log has no entries.")
		return out.Flush()
	}
	fmt.Fprintf(out, "Entries %d to %d are whole.\n", r.First.Seq, r.Last.Seq)
	for i := range r.Losses {
		e := &r.Losses[i]
		fmt.Fprintf(out, "Entry %d: a loss was accepted at %s: %s\n", e.Seq, e.Time.UTC().Format(time.RFC3339), sanitize.Line(e.Note))
	}
	switch {
	case r.Checkpoints == 0:
		fmt.Fprintln(out, "There is no checkpoint: no entry is signed yet.")
	case r.Signed+1 < r.Last.Seq:
		fmt.Fprintf(out, "Checkpoints: %d. Entries from %d on are not signed yet.\n", r.Checkpoints, r.Signed+1)
	default:
		fmt.Fprintf(out, "Checkpoints: %d, the last of entry %d.\n", r.Checkpoints, r.Signed)
	}
	for _, key := range r.Signers {
		note := ""
		if !slices.Contains(v.Keys, key) {
			note = " (not compared: give --key)"
		}
		fmt.Fprintf(out, "signed by %s%s\n", key, note)
	}
	return out.Flush()
}

// writeRun writes the events of a run, one a line. It fails if there is none.
func writeRun(w io.Writer, entries iter.Seq2[audit.Entry, error], run string) error {
	written := false
	for entry, err := range entries {
		if err != nil {
			return err
		}
		if entry.Event.RunID != run {
			continue
		}
		written = true
		if _, err := fmt.Fprintln(w, eventLine(&entry.Event)); err != nil {
			return err
		}
	}
	if !written {
		return fmt.Errorf("the audit log has no entry of run %s", run)
	}
	return nil
}

// eventDescriptions describes types of event. The name of another type is its description.
var eventDescriptions = map[approvals.EventType]string{
	approvals.EventApprovalRequired:  "people are asked",
	approvals.EventApprovalEscalated: "more groups are asked",
	approvals.EventApprovalExpired:   "no decision in time",
	approvals.EventApprovalCancelled: "the request is cancelled",
	approvals.EventCallAllowed:       "policy allows the call",
	approvals.EventCallDenied:        "the call is denied",
	approvals.EventCallModified:      "the arguments are changed",
	approvals.EventCallReleased:      "the call is released to the agent",
	approvals.EventCallNotReleased:   "the approved call is not released",
	approvals.EventDenialTold:        "the model gets the denial",
	approvals.EventRunPaused:         "the run is paused",
	approvals.EventRunResumed:        "the run is resumed",
	approvals.EventRunAborted:        "the run is ended",
}

// eventLine returns an event as one line.
func eventLine(e *approvals.Event) string {
	what, ok := eventDescriptions[e.Type]
	if !ok {
		what = strings.ReplaceAll(string(e.Type), "_", " ")
	}
	if e.Again {
		what += " again"
	}
	if e.Type == approvals.EventApprovalDecision {
		what = "decision: " + string(e.Action)
	}
	text := fmt.Sprintf("%6d  %s  %s", e.Seq, e.Time.UTC().Format(time.DateTime), what)
	for _, part := range []struct{ before, text string }{
		{"", strings.TrimSpace(e.ToolName + " " + string(e.Before))},
		{"to ", string(e.After)},
		{"by ", e.ReviewerID},
		{"for ", e.OnBehalfOf},
		{"rule ", e.Rule},
		{"outcome ", e.Outcome},
		{"request ", e.RequestID},
		{"note: ", e.Note},
	} {
		if part.text != "" {
			text += " | " + part.before + part.text
		}
	}
	return sanitize.Line(text)
}
