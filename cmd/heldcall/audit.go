package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/internal/textview"
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

// entries yields the entries after a sequence (0: all) that are not before a time (zero: all).
// If the file cannot be opened, the error is an [*os.PathError].
func (a auditSource) entries(ctx context.Context, s *streams, after uint64, since time.Time) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		if a.File != "" {
			a.readFile(after, since, yield)
			return
		}
		console, err := a.dial(ctx, s)
		if err != nil {
			yield(audit.Entry{}, err)
			return
		}
		console.AuditEntries(ctx, after, since)(yield)
	}
}

// checkWhole returns an error if the reviewer sees some tenants only: the chain of their entries has gaps.
func (a auditSource) checkWhole(ctx context.Context, s *streams) error {
	if a.File != "" {
		return nil
	}
	console, err := a.dial(ctx, s)
	if err != nil {
		return err
	}
	self, err := console.Me(ctx)
	if err != nil {
		return err
	}
	if self.Tenants.Limited() {
		return fmt.Errorf("%s sees the entries of some tenants only, and this needs the whole log: ask a reviewer without tenants in the configuration", self.Name)
	}
	return nil
}

func (a auditSource) readFile(after uint64, since time.Time, yield func(audit.Entry, error) bool) {
	file, err := os.Open(a.File)
	if err != nil {
		yield(audit.Entry{}, err)
		return
	}
	defer file.Close()
	for entry, err := range audit.ReadExport(file) {
		old := err == nil && (entry.Seq <= after || entry.Event.Time.Before(since))
		if !old && !yield(entry, err) {
			return
		}
	}
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
	var since time.Time
	if c.Since != "" || c.File == "" {
		age, err := strictyaml.ParseDuration(cmp.Or(c.Since, "24h"))
		if err != nil {
			return usagef("--since: %w", err)
		}
		since = time.Now().Add(-age)
	}
	last, more, err := lastEvents(c.entries(ctx, s, 0, since), c.Limit, func(e *approvals.Event) bool {
		return (c.Type == "" || string(e.Type) == c.Type) && (c.RunID == "" || e.RunID == c.RunID)
	})
	switch {
	case err != nil:
		return misnamed(err)
	case c.json():
		return textview.JSON(s.out, last)
	}
	return writeEvents(s.out, last, more)
}

// misnamed makes the error of a file that cannot be opened one of usage.
func misnamed(err error) error {
	if errors.As(err, new(*os.PathError)) {
		return &usageError{err}
	}
	return err
}

type auditShowCommand struct {
	auditSource
	outputFlag
	Seq uint64 `arg:"" help:"Number of the entry."`
}

// Run shows one entry.
func (c *auditShowCommand) Run(ctx context.Context, s *streams) error {
	for entry, err := range c.entries(ctx, s, max(c.Seq, 1)-1, time.Time{}) {
		if err != nil {
			return misnamed(err)
		}
		if entry.Seq != c.Seq {
			break
		}
		text := sanitize.JSON(entry.Data)
		if !c.json() {
			text = textview.SpacedJSON(entry.Data)
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

// Help explains the exit codes.
func (c *auditVerifyCommand) Help() string {
	return "Exit code 0 if the log is whole as far as can be known, 1 if it is not: the error names the first bad entry. The state of a running heldcall is compared with the log too: requests, runs, grants and signals. Whether the newest entries were removed can only be known with --against."
}

// Run verifies the log.
func (c *auditVerifyCommand) Run(ctx context.Context, s *streams) error {
	against, err := readCheckpoints(c.Against)
	if err != nil {
		return usagef("--against: %w", err)
	}
	if err := c.checkWhole(ctx, s); err != nil {
		return err
	}
	if err := writeVerification(s.out, c.entries(ctx, s, 0, time.Time{}), audit.Verifier{Keys: c.Keys, Against: against}); err != nil || c.File != "" {
		return misnamed(err)
	}
	return c.compareState(ctx, s)
}

// compareState has a running heldcall compare its state with the log.
func (c *auditVerifyCommand) compareState(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	differences, err := console.StateDifferences(ctx)
	if err != nil {
		return err
	}
	if len(differences) > 0 {
		return &audit.StateError{Differences: differences}
	}
	_, err = fmt.Fprintln(s.out, "The state is as the log says.")
	return err
}

type auditExportCommand struct {
	auditSource
	Checkpoints bool   `help:"Only the checkpoints, for --against of heldcall audit verify."`
	To          string `arg:"" name:"to" help:"File to write, or - for standard output."`
}

// Run writes the entries byte for byte.
func (c *auditExportCommand) Run(ctx context.Context, s *streams) error {
	if err := c.checkWhole(ctx, s); err != nil {
		return err
	}
	entries := c.entries(ctx, s, 0, time.Time{})
	if c.To == "-" {
		return misnamed(export(s.out, entries, c.Checkpoints))
	}
	return misnamed(exportTo(c.To, entries, c.Checkpoints))
}

type auditReplayCommand struct {
	auditSource
	RunID string `arg:"" name:"run" help:"The run, as the X-Heldcall-Run header, requests and entries name it."`
}

// Run prints the entries of a run in order, one a line.
func (c *auditReplayCommand) Run(ctx context.Context, s *streams) error {
	return misnamed(writeRun(s.out, c.entries(ctx, s, 0, time.Time{}), c.RunID))
}

type auditKeyCommand struct {
	Config string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"Configuration file, which names the folder of the key."`
	Dir    string `placeholder:"DIR" help:"Folder of the key, in place of --config."`
}

// Run prints the public key of this machine's heldcall.
func (c *auditKeyCommand) Run(s *streams) (err error) {
	if c.Dir == "" {
		if c.Dir, err = app.LoadAuditDir(c.Config, os.LookupEnv); err != nil {
			return err
		}
	}
	key, err := audit.OpenKey(c.Dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, key.Public())
	return err
}
