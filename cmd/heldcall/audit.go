package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
)

type auditCommand struct {
	List   auditListCommand   `cmd:"" default:"withargs" help:"List the latest entries (the default)."`
	Show   auditShowCommand   `cmd:"" help:"Show an entry in full."`
	Verify auditVerifyCommand `cmd:"" help:"Verify the chain of all entries and its checkpoints."`
	Export auditExportCommand `cmd:"" help:"Write the log to a file, one entry a line, as it was hashed."`
	Replay auditReplayCommand `cmd:"" help:"Show what happened in a run."`
	Key    auditKeyCommand    `cmd:"" help:"Print the public key of the checkpoints of this heldcall."`
}

// auditSource is a log: that of a running heldcall, or an exported one.
type auditSource struct {
	connection
	File string `placeholder:"FILE" help:"Exported log, in place of a running heldcall."`
}

// entries yields the entries after a sequence that are not before a time.
func (a auditSource) entries(ctx context.Context, after uint64, since time.Time) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		entries, end, err := a.open(ctx, after, since)
		if err != nil {
			yield(audit.Entry{}, err)
			return
		}
		defer end()
		for entry, err := range entries {
			old := a.File != "" && (entry.Seq <= after || entry.Event.Time.Before(since))
			if (err != nil || !old) && !yield(entry, err) {
				return
			}
		}
	}
}

// open returns the entries of the log; those of a file from its beginning.
func (a auditSource) open(ctx context.Context, after uint64, since time.Time) (entries iter.Seq2[audit.Entry, error], end func() error, err error) {
	if a.File != "" {
		file, err := os.Open(a.File)
		if err != nil {
			return nil, nil, &usageError{err}
		}
		return audit.ReadExport(file), file.Close, nil
	}
	console, err := a.dial()
	if err != nil {
		return nil, nil, err
	}
	return console.AuditEntries(ctx, after, since), func() error { return nil }, nil
}

type auditListCommand struct {
	auditSource
	outputFlag
	Since string `placeholder:"TIME" help:"Age of the oldest entries to list, such as 12h (default: 24h; of a file: all)."`
	Type  string `placeholder:"TYPE" help:"Only entries of this type, such as call_released."`
	RunID string `name:"run" placeholder:"ID" help:"Only entries of this run."`
	limitFlag
}

// Run lists the last entries, oldest first.
func (c *auditListCommand) Run(ctx context.Context, s *streams) error {
	since, err := c.since()
	if err != nil {
		return err
	}
	last, more := []approvals.Event{}, false
	for entry, err := range c.entries(ctx, 0, since) {
		if err != nil {
			return err
		}
		e := entry.Event
		if (c.Type != "" && string(e.Type) != c.Type) || (c.RunID != "" && e.RunID != c.RunID) {
			continue
		}
		if last = append(last, e); len(last) > c.Limit {
			last, more = last[1:], true
		}
	}
	if c.json() {
		return printJSON(s.out, last)
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SEQ\tTIME\tTYPE\tTOOL\tBY\tRUN\tRULE")
	for i := range last {
		e := &last[i]
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Seq, e.Time.UTC().Format(time.RFC3339), printable(string(e.Type)),
			printable(e.ToolName), printable(e.ReviewerID), printable(e.RunID), shorten(printable(e.Rule), previewWidth))
	}
	next := ""
	if more {
		next = "more"
	}
	return endTable(s.out, table, next)
}

func (c *auditListCommand) since() (time.Time, error) {
	age := c.Since
	if age == "" {
		if c.File != "" {
			return time.Time{}, nil
		}
		age = "24h"
	}
	d, err := app.ParseDuration(age)
	if err != nil {
		return time.Time{}, usagef("--since: %w", err)
	}
	return time.Now().Add(-d), nil
}

type auditShowCommand struct {
	auditSource
	outputFlag
	Seq uint64 `arg:"" help:"Number of the entry."`
}

// Run shows one entry.
func (c *auditShowCommand) Run(ctx context.Context, s *streams) error {
	if c.Seq == 0 {
		return usagef("entries are numbered from 1")
	}
	for entry, err := range c.entries(ctx, c.Seq-1, time.Time{}) {
		if err != nil {
			return err
		}
		if entry.Seq != c.Seq {
			break
		}
		text := escapeJSON(entry.Data)
		if !c.json() {
			text = shownJSON(entry.Data)
		}
		_, err := fmt.Fprintln(s.out, text)
		return err
	}
	return fmt.Errorf("the audit log has no entry %d", c.Seq)
}

type auditVerifyCommand struct {
	auditSource
	Keys    []string `name:"key" sep:"none" placeholder:"KEY" help:"Public key that may sign checkpoints, as heldcall audit key prints it; repeat it for each replica. Without it any key may."`
	Against []string `sep:"none" placeholder:"FILE" help:"Exported log or checkpoints, kept elsewhere, with which the log must agree."`
}

// Help explains what is verified.
func (c *auditVerifyCommand) Help() string {
	return "Exit code 0 if the log is whole as far as can be known, 1 if it is not: the error names the first bad entry. Whether the newest entries were removed can only be known with --against."
}

// Run verifies the log.
func (c *auditVerifyCommand) Run(ctx context.Context, s *streams) error {
	verifier := audit.Verifier{Keys: c.Keys}
	for _, name := range c.Against {
		file, err := os.Open(name)
		if err != nil {
			return &usageError{err}
		}
		found, err := audit.ReadCheckpoints(file)
		file.Close()
		if err != nil {
			return usagef("--against %s: %w", name, err)
		}
		verifier.Against = append(verifier.Against, found...)
	}
	report, err := verifier.Verify(c.entries(ctx, 0, time.Time{}))
	if err != nil {
		return err
	}
	return printReport(s.out, &report, c.Keys)
}

func printReport(w io.Writer, r *audit.Report, keys []string) error {
	out := bufio.NewWriter(w)
	if r.Count == 0 {
		fmt.Fprintln(out, "The log has no entries.")
		return out.Flush()
	}
	fmt.Fprintf(out, "Entries %d to %d are whole.\n", r.First.Seq, r.Last.Seq)
	for i := range r.Losses {
		e := &r.Losses[i]
		fmt.Fprintf(out, "Entry %d: a loss was accepted at %s: %s\n", e.Seq, e.Time.UTC().Format(time.RFC3339), printable(e.Note))
	}
	switch {
	case r.Checkpoints == 0:
		fmt.Fprintln(out, "There is no checkpoint.")
		return out.Flush()
	case r.Signed < r.Last.Seq-1:
		fmt.Fprintf(out, "Checkpoints: %d. Entries from %d on are not signed yet.\n", r.Checkpoints, r.Signed+1)
	default:
		fmt.Fprintf(out, "Checkpoints: %d, the last of entry %d.\n", r.Checkpoints, r.Signed)
	}
	for _, key := range r.Signers {
		note := ""
		if !slices.Contains(keys, key) {
			note = " (not compared: give --key)"
		}
		fmt.Fprintf(out, "signed by %s%s\n", key, note)
	}
	return out.Flush()
}

type auditExportCommand struct {
	auditSource
	Checkpoints bool   `help:"Only the checkpoints, for --against of heldcall audit verify."`
	To          string `arg:"" name:"to" help:"File to write, or - for standard output."`
}

// Run writes the entries byte for byte.
func (c *auditExportCommand) Run(ctx context.Context, s *streams) (err error) {
	w := s.out
	if c.To != "-" {
		file, err := os.OpenFile(c.To, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return &usageError{err}
		}
		defer file.Close() // for errors; a second close does nothing
		if err := c.write(ctx, file); err != nil {
			return err
		}
		return file.Close()
	}
	return c.write(ctx, w)
}

func (c *auditExportCommand) write(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriter(w)
	for entry, err := range c.entries(ctx, 0, time.Time{}) {
		if err != nil {
			return err
		}
		if c.Checkpoints && entry.Event.Type != approvals.EventCheckpoint {
			continue
		}
		if _, err := out.Write(append(entry.Data, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

type auditKeyCommand struct {
	Config string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"Configuration file, which names the folder of the key."`
	Dir    string `placeholder:"DIR" help:"Folder of the key, in place of --config."`
}

// Run prints the public key of this machine's heldcall.
func (c *auditKeyCommand) Run(s *streams) error {
	dir := c.Dir
	if dir == "" {
		var err error
		if dir, err = app.LoadAuditDir(c.Config, os.LookupEnv); err != nil {
			return err
		}
	}
	key, err := audit.OpenKey(dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, key.Public())
	return err
}
