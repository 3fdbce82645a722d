// Package connect finds the console of a running heldcall for the commands that talk to
// one, and the token for it.
package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/secretinput"
	"github.com/heldcall/heldcall/internal/textview"
)

// Flags identify the running heldcall that a command talks to. Without --config and --console it is
// the `heldcall run` of the user or, if there is none, the heldcall at the default address.
type Flags struct {
	Config  string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"Configuration file, which names the console's address. Without it and --console the command finds your 'heldcall run'."`
	Console string `placeholder:"URL" env:"HELDCALL_CONSOLE" help:"URL of the console, in place of --config."`
	Token   string `placeholder:"TOKEN" env:"HELDCALL_TOKEN" help:"Your reviewer token, if the console requires one. Other users of the machine can read command lines: prefer the variable."`

	TokenFile string `placeholder:"FILE" env:"HELDCALL_TOKEN_FILE" help:"File with your token, which only you can read, in place of --token."`
}

// Dial makes a client of the console.
func (f Flags) Dial(ctx context.Context, t Terminal) (*client.Client, error) {
	token := f.Token
	if token == "" && f.TokenFile != "" {
		var err error
		if token, err = readToken(f.TokenFile); err != nil {
			return nil, err
		}
	}
	if f.Console == "" && f.Config == "" {
		if found := runs(ctx); len(found) > 0 {
			return choose(ctx, found, token, t)
		}
	}
	console, err := f.address()
	if err != nil {
		return nil, err
	}
	named, err := client.New(console)
	if err != nil {
		return nil, &UsageError{err}
	}
	if token != "" {
		return named.WithToken(token), nil
	}
	return askToken(ctx, named, console, t)
}

// address returns the URL of the console that the flags name, or of the defaults.
func (f Flags) address() (string, error) {
	if f.Console != "" {
		return f.Console, nil
	}
	config, err := app.LoadConsoleConfig(f.Config, os.LookupEnv)
	if err != nil {
		return "", err
	}
	if _, port, _ := net.SplitHostPort(config.Listen); port == "0" {
		return "", usagef("%s: console.listen has port 0, so where the console is shows only in heldcall's log; name it with --console URL", f.Config)
	}
	return "http://" + app.Reachable(config.Listen), nil
}

// Inbox returns the URL of the inbox.
func (f Flags) Inbox(ctx context.Context) (string, error) {
	if f.Console != "" || f.Config != "" {
		return f.address()
	}
	switch found := runs(ctx); len(found) {
	case 0:
		return f.address()
	case 1:
		return found[0].Inbox, nil
	default:
		return "", severalRun(found)
	}
}

func severalRun(found []discovery.Found) error {
	return usagef("several heldcalls run; name one with --console URL:\n%s", listed(found))
}

// runs returns the runs of the user.
func runs(ctx context.Context) []discovery.Found {
	return discovery.List(ctx, discovery.Folder(os.LookupEnv))
}

// choose makes a client of the run that proves that it knows the token. It asks for the token on the terminal if
// token is "". It sends the token to no other program.
func choose(ctx context.Context, found []discovery.Found, token string, t Terminal) (*client.Client, error) {
	if token == "" && t.In != nil {
		if in := secretinput.New(t.In, t.Out); in.OnTerminal() {
			fmt.Fprintf(t.Out, "heldcall runs at\n%s\n", listed(found))
			answer, err := in.Ask(ctx, "Your token, as `heldcall run` printed it")
			if err != nil {
				return nil, err
			}
			token = strings.TrimSpace(answer)
		}
	}
	if token == "" {
		if len(found) > 1 {
			return nil, severalRun(found)
		}
		return client.New(found[0].Console)
	}
	i := slices.IndexFunc(found, func(f discovery.Found) bool { return f.Proves(ctx, token) })
	if i < 0 {
		return nil, fmt.Errorf("%w. Use the token that `heldcall run` printed, or name another heldcall with --console URL. These run:\n%s", errUnproved, listed(found))
	}
	named, err := client.New(found[i].Console)
	if err != nil {
		return nil, err
	}
	return named.WithToken(token), nil
}

// errUnproved is the reason why a token was not sent.
var errUnproved = errors.New("the token was not sent: no heldcall that runs proves that it knows it")

// listed returns a list of runs, one a line.
func listed(found []discovery.Found) string {
	var all []string
	for _, f := range found {
		all = append(all, "  "+sanitize.Line(f.Console)+" ("+sanitize.Line(strings.Join(f.Agents, ", "))+")")
	}
	return strings.Join(all, "\n")
}

// Terminal is where a person is asked for a token. Without input no one is asked.
type Terminal struct {
	In  io.Reader
	Out io.Writer
}

// askToken asks for the token on the terminal if the console wants one. The token is kept
// by the client only.
func askToken(ctx context.Context, console *client.Client, url string, t Terminal) (*client.Client, error) {
	if t.In == nil {
		return console, nil
	}
	in := secretinput.New(t.In, t.Out)
	if !in.OnTerminal() {
		return console, nil
	}
	_, err := console.Me(ctx)
	if p := (*problem.Problem)(nil); !errors.As(err, &p) || p.Code != problem.CodeUnauthenticated {
		return console, nil // it wants none, or the command reports why it does not answer
	}
	token, err := in.Ask(ctx, "Your token for "+url)
	if err != nil {
		return nil, err
	}
	return console.WithToken(strings.TrimSpace(token)), nil
}

// readToken reads the token in a file that only its owner can read.
func readToken(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", &UsageError{fmt.Errorf("read the token: %w", err)}
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", usagef("the token in %s can be read by others: make it 0600", file)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", &UsageError{fmt.Errorf("read the token: %w", err)}
	}
	return strings.TrimSpace(string(content)), nil
}

// Words returns the flags with which another command talks to the same heldcall, each
// after a space; those in the environment are left out.
func (f Flags) Words() string {
	flags := ""
	if f.Config != "" && f.Config != os.Getenv("HELDCALL_CONFIG") {
		flags += " --config " + textview.ShellWord(f.Config)
	}
	if f.Console != "" && f.Console != os.Getenv("HELDCALL_CONSOLE") {
		flags += " --console " + textview.ShellWord(f.Console)
	}
	if f.TokenFile != "" && f.TokenFile != os.Getenv("HELDCALL_TOKEN_FILE") {
		flags += " --token-file " + textview.ShellWord(f.TokenFile)
	}
	return flags
}

// UsageError is the error of flags that name no heldcall.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }
func (e *UsageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }
