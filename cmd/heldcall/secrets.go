package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type secretsCommand struct {
	List   secretsListCommand   `cmd:"" default:"withargs" help:"List secrets, without their values (the default)."`
	Set    secretsSetCommand    `cmd:"" help:"Store a secret, or replace its value. The value is read from the terminal, or a line of standard input."`
	Delete secretsDeleteCommand `cmd:"" help:"Delete secrets. Their values are no longer kept from models."`
}

type secretsListCommand struct {
	connection
	outputFlag
}

// Run lists secrets by name.
func (c *secretsListCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial()
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
	return textview.Secrets(s.out, list)
}

// secretOwner is whose agents may use a secret.
type secretOwner struct {
	Tenant    string `help:"Tenant of the agent." default:"default" placeholder:"TENANT"`
	User      string `help:"User for whom the agent acts; default: an agent without a known user." placeholder:"USER"`
	Agent     string `help:"Name of the agent; default: an agent without a name." placeholder:"AGENT"`
	SessionID string `name:"session" help:"Only this session." placeholder:"ID"`
}

func (o *secretOwner) principal() approvals.Principal {
	return approvals.Principal{Tenant: o.Tenant, User: o.User, Agent: o.Agent}
}

type secretsSetCommand struct {
	connection
	outputFlag
	secretOwner
	Expires time.Duration `help:"How long calls may use it. Default: 2160h, with --session 720h." placeholder:"DURATION"`
	Name    string        `arg:"" help:"Name, like that of an environment variable."`
}

// Run stores a secret.
func (c *secretsSetCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial()
	if err != nil {
		return err
	}
	value, err := readSecret(s, bufio.NewReader(s.in), c.Name)
	if err != nil {
		return err
	}
	p := approvals.SecretPayload{Name: c.Name, Value: value, Principal: c.principal(), SessionID: c.SessionID}
	if c.Expires != 0 {
		end := time.Now().Add(c.Expires).UTC()
		p.ExpiresAt = &end
	}
	one, err := console.Secrets().Set(ctx, p)
	if invalid := (*approvals.InvalidError)(nil); errors.As(err, &invalid) {
		return fmt.Errorf("nothing was stored: %w", invalid)
	}
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, one)
	}
	_, err = fmt.Fprintf(s.out, "stored %s\n", textview.Secret(&one))
	return err
}

// readSecret reads a value from the terminal, which does not show it, or a line of in, the
// buffered standard input.
func readSecret(s *streams, in *bufio.Reader, name string) (string, error) {
	if terminal, ok := s.in.(*os.File); ok && term.IsTerminal(terminal.Fd()) {
		fmt.Fprintf(s.err, "Value of %s: ", sanitize.Line(name))
		value, err := term.ReadPassword(terminal.Fd())
		fmt.Fprintln(s.err)
		if err != nil {
			return "", fmt.Errorf("read the value of %s: %w", name, err)
		}
		return string(value), nil
	}
	line, err := in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the value of %s: %w", name, err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

type secretsDeleteCommand struct {
	connection
	secretOwner
	Names []string `arg:"" name:"name" help:"Names of the secrets."`
}

// Run deletes each secret. One that fails does not stop the others.
func (c *secretsDeleteCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial()
	if err != nil {
		return err
	}
	var failures []error
	for _, name := range c.Names {
		_, err := console.Secrets().Delete(ctx, approvals.Secret{Name: name, Principal: c.principal(), SessionID: c.SessionID})
		switch {
		case errors.Is(err, approvals.ErrUnknownSecret):
			err = fmt.Errorf("no secret %s of this agent; `heldcall secrets` lists all: %w", name, err)
		case err == nil:
			_, err = fmt.Fprintf(s.out, "deleted %s\n", sanitize.Line(name))
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}
