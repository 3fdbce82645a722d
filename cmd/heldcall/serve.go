package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/telemetry"
)

type serveCommand struct {
	Config string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"Configuration file. Uses built-in defaults if omitted."`
	repairs
}

// repairs are the flags of commands that open the state, each for one start.
type repairs struct {
	AcceptLoss     bool   `help:"Start although the state is damaged, and record in the audit log what is lost."`
	RevokePasskeys string `placeholder:"REVIEWER" help:"Revoke all passkeys of a reviewer, who has lost them. Without reviewers it is local."`
}

// Run serves until a signal ends the context, then stops in order. With SIGHUP it
// reads the configuration and the policies again.
func (c *serveCommand) Run(ctx context.Context, s *streams, hup *hangups) error {
	config, err := app.LoadConfig(c.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	log, err := newLog(s.err, config.Log)
	if err != nil {
		return err
	}
	if err = c.serve(ctx, config, log, hup); err != nil && config.Log.Format == telemetry.FormatJSON {
		log.Error("heldcall ends", "error", err)
		return &loggedError{err}
	}
	return err
}

// loggedError is an error that is in the log already.
type loggedError struct{ error }

// Unwrap returns the error.
func (e *loggedError) Unwrap() error { return e.error }

func (c *serveCommand) serve(ctx context.Context, config app.Config, log *slog.Logger, hup *hangups) error {
	warnOfUnread(log, c.Config)
	sockets, err := inheritedSockets()
	if err != nil {
		return err
	}
	heldcall, err := app.New(app.Options{Config: config, ConfigFile: c.Config, Log: log, Version: version(), Sockets: sockets, AcceptLoss: c.AcceptLoss, RevokePasskeys: c.RevokePasskeys})
	if err != nil {
		return err
	}
	ran := make(chan error, 1)
	go func() { ran <- heldcall.Run(ctx) }()
	for asked := hup.take(); ; {
		select {
		case err := <-ran:
			if errors.Is(err, syscall.EADDRINUSE) {
				err = fmt.Errorf("%w; perhaps another heldcall runs: stop it, or set proxy.listen, console.listen and nats.listen to ports that are free", err)
			}
			return err
		case <-asked:
			heldcall.Reload()
		}
	}
}

// usualConfig is the name that a configuration file has in the documentation.
const usualConfig = "heldcall.yaml"

// warnOfUnread warns of a file that is not read although its name suggests it.
func warnOfUnread(log *slog.Logger, given string) {
	if given != "" {
		return
	}
	if _, err := os.Stat(usualConfig); err == nil {
		log.Warn(usualConfig + " in this folder is not read: no configuration was named; give --config " + usualConfig + ", or set HELDCALL_CONFIG")
	}
}

// newLog makes heldcall's own log as configured.
func newLog(w io.Writer, config app.LogConfig) (*slog.Logger, error) {
	level, err := telemetry.ParseLevel(config.Level)
	if err != nil {
		return nil, err
	}
	return telemetry.NewLogger(w, level, config.Format), nil
}
