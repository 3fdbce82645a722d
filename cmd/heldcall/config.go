package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/internal/sanitize"
)

type configCommand struct {
	Check configCheckCommand `cmd:"" help:"Check a configuration file and the policies that it names."`
}

type configCheckCommand struct {
	Config string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"Configuration file. Checks the built-in defaults if omitted."`
	File   string `arg:"" optional:"" help:"The configuration file, in place of --config."`
}

// Run checks a configuration and its policies.
func (c *configCheckCommand) Run(s *streams) error {
	file := cmp.Or(c.File, c.Config)
	config, err := app.LoadConfig(file, os.LookupEnv)
	if err != nil {
		return err
	}
	var vacant []string
	ofClients := ""
	var policies []*policy.Policy
	for _, file := range config.PolicyFiles() {
		rules, err := policy.Load(file)
		if err != nil {
			return err
		}
		vacant = append(vacant, config.Console.Vacant(rules)...)
		policies = append(policies, rules)
		if file != config.Policy.File {
			ofClients += fmt.Sprintf("policy of clients: %s\n", sanitize.Line(file))
		}
	}
	vacant = append(vacant, config.VacantRoutes(policies...)...)
	if _, err = fmt.Fprintf(s.out, "%s: ok\npolicy: %s\n%s", sanitize.Line(cmp.Or(file, "defaults")), sanitize.Line(config.Policy.String()), ofClients); err != nil {
		return err
	}
	for _, text := range slices.Concat(config.Warnings(), vacant) {
		if _, err := fmt.Fprintf(s.out, "warning: %s\n", sanitize.Line(text)); err != nil {
			return err
		}
	}
	return nil
}
