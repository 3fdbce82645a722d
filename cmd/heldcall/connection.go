package main

import (
	"context"
	"net"
	"os"
	"strings"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
)

// idLength is that of a whole request id, a ULID.
const idLength = 26

// connection says which running heldcall a command talks to.
type connection struct {
	Config  string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"Configuration file; it says where the console is."`
	Console string `placeholder:"URL" env:"HELDCALL_CONSOLE" help:"URL of the console, in place of --config."`
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
		console = "http://" + config.Listen
	}
	found, err := client.New(console)
	if err != nil {
		return nil, &usageError{err}
	}
	return found, nil
}

// resolve finds the request that an id, or the beginning of one, means: among
// those that wait for an answer, else among all.
func resolve(ctx context.Context, c *client.Client, id string) (approvals.Request, error) {
	id = strings.ToUpper(id)
	if len(id) >= idLength {
		return c.Request(ctx, id)
	}
	if len(id) < shortestID {
		return approvals.Request{}, usagef("id %q is too short; give its first %d characters or more", id, shortestID)
	}
	for _, status := range []approvals.Status{approvals.StatusPending, ""} {
		matches, err := withPrefix(ctx, c, approvals.Filter{Status: status, Limit: pageSize}, id)
		if err != nil {
			return approvals.Request{}, err
		}
		switch len(matches) {
		case 0:
			continue
		case 1:
			return matches[0], nil
		}
		return approvals.Request{}, usagef("%s is the beginning of several requests, %s and %s among them; give more of the id", id, matches[0].ID, matches[1].ID)
	}
	return approvals.Request{}, &unknownID{id}
}

// shortestID is how much of an id names a request: an empty variable in a script
// must not decide about whatever waits.
const shortestID = 4

// withPrefix lists the requests whose ids begin alike, two at most.
func withPrefix(ctx context.Context, c *client.Client, filter approvals.Filter, prefix string) ([]approvals.Request, error) {
	var matches []approvals.Request
	for {
		page, err := c.Requests(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Items {
			if strings.HasPrefix(strings.ToUpper(r.ID), prefix) {
				matches = append(matches, r)
			}
		}
		if len(matches) > 1 || page.NextCursor == "" {
			return matches, nil
		}
		filter.Cursor = page.NextCursor
	}
}

// unknownID says which id is not that of a request.
type unknownID struct{ id string }

func (e *unknownID) Error() string {
	return "no request " + e.id + "; `heldcall requests` lists those that wait, with --all the others too"
}

func (e *unknownID) Unwrap() error { return approvals.ErrUnknownRequest }
