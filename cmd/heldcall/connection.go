package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/launch"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

// idLength is that of a whole request id, a ULID.
const idLength = 26

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

const (
	// shortestID is the length from which a part of an id names a request: an empty
	// variable in a script must not decide a request.
	shortestID = 4
	// mostCandidates is how many requests the error of an ambiguous id lists.
	mostCandidates = 10
)

// resolve finds a request by its id, or by a prefix or suffix that is unique among the
// pending requests, else among all. Ids begin with the time, so suffixes differ sooner.
func resolve(ctx context.Context, c *client.Client, id string) (approvals.Request, error) {
	id = strings.ToUpper(id)
	if len(id) >= idLength {
		return c.Request(ctx, id)
	}
	if len(id) < shortestID {
		return approvals.Request{}, usagef("id %q is too short; give %d or more characters of its beginning or end", id, shortestID)
	}
	for _, status := range []approvals.Status{approvals.StatusPending, ""} {
		matches, err := alike(ctx, c, approvals.Filter{Status: status, Limit: pageSize}, id)
		if err != nil {
			return approvals.Request{}, err
		}
		switch len(matches) {
		case 0:
			continue
		case 1:
			return c.Request(ctx, matches[0].ID) // a list may have it abridged
		}
		return approvals.Request{}, &usageError{&ambiguousID{id, status, matches}}
	}
	return approvals.Request{}, &unknownID{id}
}

// alike lists the requests whose ids begin or end with a text, and no more than
// one beyond mostCandidates.
func alike(ctx context.Context, c *client.Client, filter approvals.Filter, part string) ([]approvals.Request, error) {
	var matches []approvals.Request
	for {
		page, err := c.Requests(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Items {
			if id := strings.ToUpper(r.ID); strings.HasPrefix(id, part) || strings.HasSuffix(id, part) {
				matches = append(matches, r)
			}
			if len(matches) > mostCandidates {
				return matches, nil
			}
		}
		if page.NextCursor == "" {
			return matches, nil
		}
		filter.Cursor = page.NextCursor
	}
}

// ambiguousID is the error of an id that several requests match.
type ambiguousID struct {
	id      string
	status  approvals.Status // of all of them, or ""
	matches []approvals.Request
}

func (e *ambiguousID) Error() string {
	var text strings.Builder
	what := "requests have ids that begin or end"
	if e.status == approvals.StatusPending {
		what = "pending requests have ids that begin or end"
	}
	fmt.Fprintf(&text, "several %s with %s:\n", what, e.id)
	for i, r := range e.matches {
		if i == mostCandidates {
			text.WriteString("  and more\n")
			break
		}
		fmt.Fprintf(&text, "  %s  %s  %s\n", r.ID, sanitize.Line(r.ToolName), textview.Shorten(sanitize.Line(r.ArgsPreview), textview.PreviewWidth))
	}
	text.WriteString("Give a full id, or a unique prefix or suffix.")
	return text.String()
}

// unknownID is the error of an id that no request has.
type unknownID struct{ id string }

func (e *unknownID) Error() string {
	return "no request " + e.id + "; `heldcall requests` lists pending requests, with --all also those that have ended"
}

func (e *unknownID) Unwrap() error { return approvals.ErrUnknownRequest }
