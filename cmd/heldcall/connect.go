package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/privatefile"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

// connection identifies the running heldcall that a command talks to. Without --config and --console it is
// the `heldcall run` of the user or, if there is none, the heldcall at the default address.
type connection struct {
	Config  string `placeholder:"FILE" group:"connection" env:"HELDCALL_CONFIG" help:"Configuration file, which names the console's address. Without it and --console the command finds your 'heldcall run'."`
	Console string `placeholder:"URL" group:"connection" env:"HELDCALL_CONSOLE" help:"URL of the console, in place of --config."`
	Token   string `placeholder:"TOKEN" group:"connection" env:"HELDCALL_TOKEN" help:"Your reviewer token, if the console requires one. Other users of the machine can read command lines: prefer the variable."`

	TokenFile string `placeholder:"FILE" group:"connection" env:"HELDCALL_TOKEN_FILE" help:"File with your token, which only you can read, in place of --token."`
}

// dial makes a client of the console. It asks for a token on the terminal only if s has an input.
func (c connection) dial(ctx context.Context, s *streams) (*client.Client, error) {
	token := c.Token
	if token == "" && c.TokenFile != "" {
		var err error
		if token, err = readToken(c.TokenFile); err != nil {
			return nil, err
		}
	}
	if c.Console == "" && c.Config == "" {
		if running := listRuns(ctx); len(running) > 0 {
			return choose(ctx, running, token, s)
		}
	}
	console, err := c.address()
	if err != nil {
		return nil, err
	}
	named, err := client.New(console)
	if err != nil {
		return nil, &usageError{err}
	}
	if token != "" {
		return named.WithToken(token), nil
	}
	return askToken(ctx, named, console, s)
}

// address returns the URL of the console that the flags name, or of the defaults.
func (c connection) address() (string, error) {
	if c.Console != "" {
		return c.Console, nil
	}
	config, err := app.LoadConsoleConfig(c.Config, os.LookupEnv)
	if err != nil {
		return "", err
	}
	if _, port, _ := net.SplitHostPort(config.Listen); port == "0" {
		return "", usagef("%s: console.listen has port 0, so where the console is shows only in heldcall's log; name it with --console URL", c.Config)
	}
	return "http://" + app.Reachable(config.Listen), nil
}

// inbox returns the URL of the inbox.
func (c connection) inbox(ctx context.Context) (string, error) {
	if c.Console != "" || c.Config != "" {
		return c.address()
	}
	switch running := listRuns(ctx); len(running) {
	case 0:
		return c.address()
	case 1:
		return running[0].Inbox, nil
	default:
		return "", severalRun(running)
	}
}

func severalRun(running []discovery.Found) error {
	return usagef("several heldcalls run; name one with --console URL:\n%s", listed(running))
}

// listRuns returns the runs of the user.
func listRuns(ctx context.Context) []discovery.Found {
	return discovery.List(ctx, discovery.Folder(os.LookupEnv))
}

// choose makes a client of the run that proves that it knows the token. It asks for the token on the terminal if
// token is "". It sends the token to no other program.
func choose(ctx context.Context, running []discovery.Found, token string, s *streams) (*client.Client, error) {
	if token == "" && s.in != nil {
		if in := newSecretInput(s.in, s.err); in.onTerminal() {
			fmt.Fprintf(s.err, "heldcall runs at\n%s\n", listed(running))
			answer, err := in.ask(ctx, "Your token, which is after #token= in the link that `heldcall run` printed")
			if err != nil {
				return nil, err
			}
			token = strings.TrimSpace(answer)
		}
	}
	if token == "" {
		if len(running) > 1 {
			return nil, severalRun(running)
		}
		return client.New(running[0].Console)
	}
	i := slices.IndexFunc(running, func(f discovery.Found) bool { return f.Proves(ctx, token) })
	if i < 0 {
		return nil, fmt.Errorf("%w. Each `heldcall run` has a new token, and HELDCALL_TOKEN or --token-file has probably that of an earlier run: use the one after #token= in the link that the run printed, or name another heldcall with --console URL. These run:\n%s", errUnproved, listed(running))
	}
	named, err := client.New(running[i].Console)
	if err != nil {
		return nil, err
	}
	return named.WithToken(token), nil
}

// errUnproved is the reason why a token was not sent.
var errUnproved = errors.New("the token was not sent: no heldcall that runs proves that it knows it")

// listed returns a list of runs, one a line.
func listed(running []discovery.Found) string {
	var lines []string
	for _, f := range running {
		lines = append(lines, "  "+sanitize.Line(f.Console)+" ("+sanitize.Line(strings.Join(f.Agents, ", "))+")")
	}
	return strings.Join(lines, "\n")
}

// askToken asks for the token on the terminal if the console wants one. The token is kept
// by the client only.
func askToken(ctx context.Context, console *client.Client, url string, s *streams) (*client.Client, error) {
	if s.in == nil {
		return console, nil
	}
	in := newSecretInput(s.in, s.err)
	if !in.onTerminal() {
		return console, nil
	}
	_, err := console.Me(ctx)
	if p := (*problem.Problem)(nil); !errors.As(err, &p) || p.Code != problem.CodeUnauthenticated {
		return console, nil // it wants none, or the command reports why it does not answer
	}
	token, err := in.ask(ctx, "Your token for "+url)
	if err != nil {
		return nil, err
	}
	return console.WithToken(strings.TrimSpace(token)), nil
}

// readToken reads the token in a file that only its owner can read.
func readToken(file string) (string, error) {
	content, err := privatefile.Read(file)
	if err != nil {
		return "", &usageError{fmt.Errorf("read the token: %w", err)}
	}
	return strings.TrimSpace(string(content)), nil
}

// words returns the flags with which another command talks to the same heldcall, each
// after a space; those in the environment are left out.
func (c connection) words() string {
	flags := ""
	if c.Config != "" && c.Config != os.Getenv("HELDCALL_CONFIG") {
		flags += " --config " + textview.ShellWord(c.Config)
	}
	if c.Console != "" && c.Console != os.Getenv("HELDCALL_CONSOLE") {
		flags += " --console " + textview.ShellWord(c.Console)
	}
	if c.TokenFile != "" && c.TokenFile != os.Getenv("HELDCALL_TOKEN_FILE") {
		flags += " --token-file " + textview.ShellWord(c.TokenFile)
	}
	return flags
}
