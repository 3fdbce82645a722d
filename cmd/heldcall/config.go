package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals/policy"
)

type configCommand struct {
	Check configCheckCommand `cmd:"" help:"Say whether a configuration file, and the policy it names, are valid."`
}

type configCheckCommand struct {
	Config string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"The configuration file. Without one the defaults are checked."`
	File   string `arg:"" optional:"" help:"The configuration file, in place of --config."`
}

// Run checks a configuration and its policy.
func (c *configCheckCommand) Run(s *streams) error {
	file := cmp.Or(c.File, c.Config)
	config, err := app.LoadConfig(file, os.LookupEnv)
	if err != nil {
		return err
	}
	rules := config.Policy.File
	switch _, err := policy.Load(rules); {
	case errors.Is(err, fs.ErrNotExist) && !config.Policy.FileNamed:
		rules = "none, so every call is asked about"
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s: ok\npolicy: %s\n", printable(cmp.Or(file, "defaults")), printable(rules))
	return err
}
