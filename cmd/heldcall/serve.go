package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/telemetry"
)

type serveCommand struct {
	Config string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"The configuration file. Without one the defaults hold."`
}

// Run serves until a signal ends the context, then stops in order.
func (c *serveCommand) Run(ctx context.Context, s *streams) error {
	config, err := app.LoadConfig(c.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	log, err := newLog(s.err, config.Log)
	if err != nil {
		return err
	}
	heldcall, err := app.New(app.Options{Config: config, Log: log, Version: version()})
	if err != nil {
		return err
	}
	return heldcall.Run(ctx)
}

// newLog makes heldcall's own log as configured.
func newLog(w io.Writer, config app.LogConfig) (*slog.Logger, error) {
	level, err := telemetry.ParseLevel(config.Level)
	if err != nil {
		return nil, err
	}
	return telemetry.NewLogger(w, level, config.Format), nil
}
