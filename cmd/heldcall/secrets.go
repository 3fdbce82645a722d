package main

import (
	"context"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type secretsCommand struct {
	List   secretsListCommand   `cmd:"" default:"withargs" help:"List secrets, without their values (the default)."`
	Set    secretsSetCommand    `cmd:"" help:"Store a secret, or replace its value. The value is read from the terminal, or a line of standard input."`
	Delete secretsDeleteCommand `cmd:"" help:"Delete a secret. Its value is no longer kept from models."`
}

type secretsListCommand struct {
	connection
	outputFlag
}

// Run lists secrets by name.
func (c *secretsListCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	list, err := console.Secrets().List(ctx)
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, list)
	}
	return textview.Secrets(s.out, list, time.Now())
}

// oneSecret names a secret, and whose agents may use it.
type oneSecret struct {
	connection
	Tenant    string `help:"Tenant of the agent, * for all." default:"default" placeholder:"TENANT"`
	User      string `help:"User for whom the agent acts, * for all; default: an agent without a known user." placeholder:"USER"`
	Agent     string `help:"Name of the agent, * for all; default: an agent without a name." placeholder:"AGENT"`
	SessionID string `name:"session" help:"Only this session." placeholder:"ID"`
	Name      string `arg:"" help:"Name, like that of an environment variable."`
}

func (c *oneSecret) principal() approvals.Principal {
	return approvals.Principal{Tenant: c.Tenant, User: c.User, Agent: c.Agent}
}

type secretsSetCommand struct {
	oneSecret
	Expires time.Duration `help:"How long calls may use it. Default: 2160h, with --session 720h." placeholder:"DURATION"`
}

// Run stores a secret.
func (c *secretsSetCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	p := approvals.SecretPayload{Name: c.Name, Principal: c.principal(), SessionID: c.SessionID}
	if p.Value, err = newSecretInput(s.in, s.err).value(ctx, c.Name); err != nil {
		return err
	}
	if c.Expires != 0 {
		p.ExpiresAt = new(time.Now().Add(c.Expires).UTC())
	}
	secret, err := console.Secrets().Set(ctx, p)
	if err != nil {
		return fmt.Errorf("nothing was stored: %w", err)
	}
	_, err = fmt.Fprintf(s.out, "stored %s\n", textview.Secret(&secret))
	return err
}

type secretsDeleteCommand struct{ oneSecret }

// Run deletes a secret.
func (c *secretsDeleteCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	if _, err = console.Secrets().Delete(ctx, approvals.Secret{Name: c.Name, Principal: c.principal(), SessionID: c.SessionID}); err != nil {
		return fmt.Errorf("delete the secret %s of this agent: %w", c.Name, err)
	}
	_, err = fmt.Fprintf(s.out, "deleted %s\n", sanitize.Line(c.Name))
	return err
}
