package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type doctorCommand struct {
	Config string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"Configuration file. Checks the upstreams of 'heldcall run' without a file if omitted."`
	outputFlag
}

// Run connects to each upstream, as a heldcall that is started in this environment would, and fails if a step does.
func (c *doctorCommand) Run(ctx context.Context, s *streams) error {
	config, err := app.LoadConfig(c.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	notes := ""
	if c.Config == "" {
		if notes, err = launch.Adopt(ctx, &config.Proxy, nil, os.LookupEnv); err != nil {
			return err
		}
	}
	fmt.Fprint(s.err, notes)
	all := config.Proxy.Diagnose(ctx)
	write := writeDiagnoses
	if c.json() {
		write = func(w io.Writer, all []app.Diagnosis) error { return textview.JSON(w, all) }
	}
	if err := write(s.out, all); err != nil {
		return err
	}
	failed := 0
	for i := range all {
		if !all[i].OK() {
			failed++
		}
	}
	switch {
	case failed == 0:
		return nil
	case len(all) == 1:
		return errors.New("the upstream cannot be used as it is configured")
	}
	return fmt.Errorf("%d of %d upstreams cannot be used as they are configured", failed, len(all))
}

// writeDiagnoses writes a table, and below it what to do about each step that failed.
func writeDiagnoses(w io.Writer, all []app.Diagnosis) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "UPSTREAM\tSTEP\tRESULT")
	remedies := ""
	for _, d := range all {
		name := sanitize.Line(d.Prefix + " " + d.URL)
		for _, f := range d.Findings {
			mark := "ok"
			if !f.OK {
				mark = "FAILED"
				remedies += fmt.Sprintf("\nWhat to do about %s of %s: %s\n", f.Step, sanitize.Line(d.Prefix), sanitize.Line(f.Remedy))
			}
			fmt.Fprintf(table, "%s\t%s\t%s: %s\n", name, f.Step, mark, sanitize.Line(f.Result))
			name = ""
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, remedies)
	return err
}
