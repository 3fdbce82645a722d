package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type runsCommand struct {
	List      runsListCommand      `cmd:"" default:"withargs" help:"List runs, the most recently active first (the default)."`
	Show      runsShowCommand      `cmd:"" help:"Show one run."`
	Pause     runsPauseCommand     `cmd:"" help:"Pause a run, or all runs of an agent, a user or a tenant."`
	Resume    runsResumeCommand    `cmd:"" help:"Resume what was paused; or what was aborted, of an agent, a user or a tenant."`
	Abort     runsAbortCommand     `cmd:"" help:"Abort a run, which is final; or all runs of an agent, a user or a tenant, until they are resumed."`
	AddFolder runsAddFolderCommand `cmd:"" help:"Make a folder a part of the workspace of a run, for 24 hours; heldcall grants revoke ends it."`
}

type runsListCommand struct {
	connection
	outputFlag
	limitFlag
}

// Run lists the signals by principal that are in force, and runs.
func (c *runsListCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	signals, err := console.Runs().Signals(ctx)
	if err != nil {
		return err
	}
	runs, err := console.Runs().List(ctx)
	if err != nil {
		return err
	}
	more := ""
	if len(runs) > c.Limit {
		more, runs = runs[c.Limit-1].ID, runs[:c.Limit]
	}
	if c.json() {
		return textview.JSON(s.out, map[string]any{"items": runs, "signals": signals, "next_cursor": more})
	}
	now := time.Now()
	for i := range signals {
		fmt.Fprintf(s.out, "%s since %s\n", textview.Signal(&signals[i]), humanize.Ago(now.Sub(signals[i].Since)))
	}
	return textview.Runs(s.out, runs, more, now)
}

type runsShowCommand struct {
	connection
	outputFlag
	ID string `arg:"" help:"The run's id; heldcall runs lists them."`
}

// Run shows one run.
func (c *runsShowCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	run, err := console.Runs().Get(ctx, c.ID)
	if errors.Is(err, approvals.ErrUnknownRun) {
		return fmt.Errorf("%q: %w; `heldcall runs` lists runs", c.ID, err)
	}
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, run)
	}
	return textview.Run(s.out, &run)
}

// principalFlags name the runs of a principal.
type principalFlags struct {
	Agent  string `help:"All runs of this agent, present and future." placeholder:"AGENT"`
	User   string `help:"All runs for this user." placeholder:"USER"`
	Tenant string `help:"All runs of this tenant." placeholder:"TENANT"`
}

func (p principalFlags) principal() approvals.Principal {
	return approvals.Principal{Tenant: p.Tenant, User: p.User, Agent: p.Agent}
}

// signalTarget is what a command takes that sends a signal: one run or a principal.
type signalTarget struct {
	connection
	outputFlag
	principalFlags
	ID string `arg:"" optional:"" help:"The run's id, in place of the flags."`
}

// send sends a signal to the run or to the principal.
func (c *signalTarget) send(ctx context.Context, s *streams, action approvals.SignalAction) error {
	who := c.principal()
	if (c.ID == "") == (who == approvals.Principal{}) {
		return usagef("name either a run, or its --agent, --user or --tenant")
	}
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	if c.ID == "" {
		signal, err := console.Runs().SignalPrincipal(ctx, approvals.PrincipalSignalPayload{Principal: who, Action: action})
		if err != nil {
			return err
		}
		if c.json() {
			return textview.JSON(s.out, signal)
		}
		_, err = fmt.Fprintln(s.out, textview.Signal(&signal))
		return err
	}
	run, err := console.Runs().Signal(ctx, approvals.Signal{RunID: c.ID, Action: action})
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, run)
	}
	fmt.Fprintf(s.out, "%s %s\n", run.State, sanitize.Line(run.ID))
	for i := range run.Signals {
		fmt.Fprintln(s.out, textview.Signal(&run.Signals[i]))
	}
	if !run.Known {
		_, err = fmt.Fprintln(s.out, "No request of this run is recorded: check its id.")
	}
	return err
}

type runsPauseCommand struct{ signalTarget }

// Run pauses a run or the runs of a principal.
func (c *runsPauseCommand) Run(ctx context.Context, s *streams) error {
	return c.send(ctx, s, approvals.SignalPause)
}

type runsResumeCommand struct{ signalTarget }

// Run resumes a run or the runs of a principal.
func (c *runsResumeCommand) Run(ctx context.Context, s *streams) error {
	return c.send(ctx, s, approvals.SignalResume)
}

type runsAbortCommand struct{ signalTarget }

// Run aborts a run or the runs of a principal.
func (c *runsAbortCommand) Run(ctx context.Context, s *streams) error {
	return c.send(ctx, s, approvals.SignalAbort)
}

type runsAddFolderCommand struct {
	connection
	outputFlag
	ID     string `arg:"" help:"The run's id; heldcall runs lists them."`
	Folder string `arg:"" help:"The folder, absolute or relative to the current one." type:"path"`
}

// Run makes a folder a part of the workspace of a run.
func (c *runsAddFolderCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	g, err := console.Runs().AddFolder(ctx, c.ID, c.Folder)
	if errors.Is(err, approvals.ErrUnknownRun) {
		return fmt.Errorf("%q: %w; `heldcall runs` lists runs", c.ID, err)
	}
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, g)
	}
	_, err = fmt.Fprintf(s.out, "%s  %s\n", g.ID, textview.Grant(&g))
	return err
}

type stopCommand struct {
	connection
	outputFlag
	principalFlags
}

// Run aborts the runs of a principal.
func (c *stopCommand) Run(ctx context.Context, s *streams) error {
	target := signalTarget{connection: c.connection, outputFlag: c.outputFlag, principalFlags: c.principalFlags}
	if c.principal() == (approvals.Principal{}) {
		return usagef("name the --agent, --user or --tenant; `heldcall runs abort ID` aborts one run")
	}
	return target.send(ctx, s, approvals.SignalAbort)
}
