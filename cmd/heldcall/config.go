package main

import (
	"cmp"
	"fmt"
	"os"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals/policy"
)

type configCommand struct {
	Check configCheckCommand `cmd:"" help:"Say whether a configuration file, and the policies it names, are valid."`
}

type configCheckCommand struct {
	Config string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"The configuration file. Without one the defaults are checked."`
	File   string `arg:"" optional:"" help:"The configuration file, in place of --config."`
}

// Run checks a configuration and its policies.
func (c *configCheckCommand) Run(s *streams) error {
	file := cmp.Or(c.File, c.Config)
	config, err := app.LoadConfig(file, os.LookupEnv)
	if err != nil {
		return err
	}
	for _, file := range config.PolicyFiles() {
		if _, err := policy.Load(file); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(s.out, "%s: ok\npolicy: %s\n", printable(cmp.Or(file, "defaults")), printable(config.Policy.String()))
	return err
}
