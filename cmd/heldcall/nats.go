package main

import (
	"fmt"
	"os"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type natsCommand struct {
	Permissions natsPermissionsCommand `cmd:"" help:"Print what an external NATS server must let each reviewer do."`
}

type natsPermissionsCommand struct {
	Config string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"The configuration file, whose console.reviewers are asked for."`
	Format string `enum:"nats-server,json" default:"nats-server" placeholder:"nats-server|json" help:"nats-server: the accounts of a server's configuration; json: the subjects of each reviewer."`
}

// Run prints the accounts for the reviewers of the configuration.
func (c *natsPermissionsCommand) Run(s *streams) error {
	config, err := app.LoadConsoleConfig(c.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	accounts, err := config.NATSAccounts()
	if err != nil {
		return err
	}
	if c.Format == "json" {
		return textview.JSON(s.out, accounts)
	}
	_, err = fmt.Fprint(s.out, sanitize.Lines(accounts.String()))
	return err
}
