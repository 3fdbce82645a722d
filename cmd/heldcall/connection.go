package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/launch"
	"github.com/heldcall/heldcall/internal/lookup"
)

// connection identifies the running heldcall that a command talks to.
type connection struct {
	Config  string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"Configuration file, which names the console's address."`
	Console string `placeholder:"URL" env:"HELDCALL_CONSOLE" help:"URL of the console, in place of --config."`
	Token   string `placeholder:"TOKEN" env:"HELDCALL_TOKEN" help:"Your reviewer token, if the console requires one. Other users of the machine can read command lines: prefer the variable."`

	TokenFile string `placeholder:"FILE" env:"HELDCALL_TOKEN_FILE" help:"File with your token, which only you can read, in place of --token."`
}

// dial makes a client of the console.
func (c connection) dial() (*client.Client, error) {
	console := c.Console
	if console == "" {
		config, err := app.LoadConsoleConfig(c.Config, os.LookupEnv)
		if err != nil {
			return nil, err
		}
		if _, port, _ := net.SplitHostPort(config.Listen); port == "0" {
			return nil, usagef("%s: console.listen has port 0, so where the console is shows only in heldcall's log; name it with --console URL", c.Config)
		}
		console = "http://" + launch.Reachable(config.Listen)
	}
	found, err := client.New(console)
	if err != nil {
		return nil, &usageError{err}
	}
	token := c.Token
	if token == "" && c.TokenFile != "" {
		if token, err = readToken(c.TokenFile); err != nil {
			return nil, err
		}
	}
	return found.WithToken(token), nil
}

// readToken reads the token in a file that only its owner can read.
func readToken(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", &usageError{fmt.Errorf("read the token: %w", err)}
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", usagef("the token in %s can be read by others: make it 0600", file)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", &usageError{fmt.Errorf("read the token: %w", err)}
	}
	return strings.TrimSpace(string(content)), nil
}

// flags returns the flags with which another command talks to the same heldcall, each
// after a space; those in the environment are left out.
func (c connection) flags() string {
	flags := ""
	if c.Config != "" && c.Config != os.Getenv("HELDCALL_CONFIG") {
		flags += " --config " + quoted(c.Config)
	}
	if c.Console != "" && c.Console != os.Getenv("HELDCALL_CONSOLE") {
		flags += " --console " + quoted(c.Console)
	}
	if c.TokenFile != "" && c.TokenFile != os.Getenv("HELDCALL_TOKEN_FILE") {
		flags += " --token-file " + quoted(c.TokenFile)
	}
	return flags
}

// oneRequest is what a command takes that is about one request.
type oneRequest struct {
	connection
	outputFlag
	ID string `arg:"" help:"Request ${id}."`
}

// find returns the request, and the console that has it.
func (o oneRequest) find(ctx context.Context) (*client.Client, approvals.Request, error) {
	console, err := o.dial()
	if err != nil {
		return nil, approvals.Request{}, err
	}
	request, err := resolve(ctx, console, o.ID)
	return console, request, err
}

// resolve finds a request by its id or a part of it: see [lookup.Request].
func resolve(ctx context.Context, c *client.Client, id string) (approvals.Request, error) {
	r, err := lookup.Request(ctx, c, id)
	if errors.Is(err, lookup.ErrVague) {
		err = &usageError{err}
	}
	return r, err
}
