package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type grantsCommand struct {
	List    grantsListCommand    `cmd:"" default:"withargs" help:"List grants (the default)."`
	Add     grantsAddCommand     `cmd:"" help:"Create a grant."`
	Preview grantsPreviewCommand `cmd:"" help:"Show which recorded calls a grant would have decided; writes nothing."`
	Revoke  grantsRevokeCommand  `cmd:"" help:"End grants."`
}

type grantsListCommand struct {
	connection
	outputFlag
	Tenant    string `help:"Only those in this tenant." placeholder:"TENANT"`
	User      string `help:"Only those for this user." placeholder:"USER"`
	Agent     string `help:"Only those for this agent." placeholder:"AGENT"`
	SessionID string `name:"session" help:"Only those for this session." placeholder:"ID"`
	Tool      string `help:"Only those with a pattern for this tool." placeholder:"TOOL"`
	Expired   bool   `help:"Also list grants that ended in the last day."`
	limitFlag
}

// Run lists grants, newest first.
func (c *grantsListCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	list, err := listGrants(ctx, console, approvals.GrantFilter{
		Tenant: c.Tenant, User: c.User, Agent: c.Agent, SessionID: c.SessionID, Tool: c.Tool, Expired: c.Expired,
	}, c.Limit)
	if err != nil {
		return err
	}
	if c.json() {
		return textview.JSON(s.out, list)
	}
	return textview.Grants(s.out, list)
}

// listGrants lists at most limit grants.
func listGrants(ctx context.Context, console *client.Client, filter approvals.GrantFilter, limit int) (list approvals.GrantPage, err error) {
	list.Items, list.NextCursor, err = collect(limit, func(limit int, cursor string) ([]approvals.Grant, string, error) {
		filter.Limit, filter.Cursor = limit, cursor
		page, err := console.Grants(ctx, filter)
		return page.Items, page.NextCursor, err
	})
	return list, err
}

// newGrant is what a command takes that is about a grant not there yet.
type newGrant struct {
	connection
	outputFlag
	Deny      bool   `help:"Deny the calls instead of allowing them."`
	Tenant    string `help:"Tenant of the agents. For every agent of a tenant add --scope tenant." default:"default" placeholder:"TENANT"`
	User      string `help:"User for whom the agents act; default: agents without a known user." placeholder:"USER"`
	Agent     string `help:"The agent, with --scope agent or session." placeholder:"AGENT"`
	SessionID string `name:"session" help:"The session, with --scope session." placeholder:"ID"`
	grantFlags
	Note     string   `help:"Note stored with the decision." placeholder:"TEXT"`
	Patterns []string `arg:"" optional:"" sep:"none" help:"Patterns of the calls, such as 'bash(npm run *)'."`
}

// grant is the grant that the flags describe.
func (c *newGrant) grant() (approvals.Grant, error) {
	expires, err := c.expires(time.Now())
	if err != nil {
		return approvals.Grant{}, err
	}
	g := approvals.Grant{
		Scope: approvals.GrantScope(c.Scope), Principal: approvals.Principal{Tenant: c.Tenant, User: c.User, Agent: c.Agent}, SessionID: c.SessionID,
		Patterns: c.Patterns, Template: c.Template, Note: c.Note, ExpiresAt: expires,
	}
	switch {
	case c.Deny:
		g.Effect = approvals.GrantDeny
	case c.Template == "":
		g.Effect = approvals.GrantAllow
	}
	return g, nil
}

// open is the grant, and the console that is to know of it.
func (c *newGrant) open(ctx context.Context, s *streams) (g approvals.Grant, console *client.Client, err error) {
	if g, err = c.grant(); err == nil {
		console, err = c.dial(ctx, s)
	}
	return g, console, err
}

type grantsAddCommand struct{ newGrant }

// Run writes a grant.
func (c *grantsAddCommand) Run(ctx context.Context, s *streams) error {
	g, console, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	if g, err = console.AddGrant(ctx, g); err != nil {
		return notGranted(err)
	}
	if c.json() {
		return textview.JSON(s.out, g)
	}
	_, err = fmt.Fprintf(s.out, "granted %s: %s\n", sanitize.Line(g.ID), textview.Grant(&g))
	return err
}

// notGranted is the error of a grant that is not valid.
func notGranted(err error) error {
	if invalid := (*approvals.InvalidError)(nil); errors.As(err, &invalid) {
		return fmt.Errorf("nothing was granted: the grant is not valid: %w", invalid)
	}
	return err
}

type grantsPreviewCommand struct{ newGrant }

// Run prints what a grant would have decided.
func (c *grantsPreviewCommand) Run(ctx context.Context, s *streams) error {
	g, console, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	preview, err := console.PreviewGrant(ctx, g)
	if err != nil {
		return notGranted(err)
	}
	if c.json() {
		return textview.JSON(s.out, preview)
	}
	return textview.Preview(s.out, &preview)
}

type grantsRevokeCommand struct {
	connection
	outputFlag
	IDs []string `arg:"" name:"id" help:"Grants, each as its ${id}."`
}

// Run ends each grant. None is ended if an id is not known; after that one that
// fails does not stop the others.
func (c *grantsRevokeCommand) Run(ctx context.Context, s *streams) error {
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	ids := make([]string, len(c.IDs))
	for i, id := range c.IDs {
		if ids[i], err = resolveGrant(ctx, console, id); err != nil {
			return err
		}
	}
	var failures []error
	for _, id := range ids {
		g, err := console.RevokeGrant(ctx, id)
		switch {
		case errors.Is(err, approvals.ErrUnknownGrant):
			err = &unknownGrant{id}
		case err != nil:
		case c.json():
			err = textview.JSON(s.out, g)
		default:
			_, err = fmt.Fprintf(s.out, "revoked %s: %s\n", sanitize.Line(g.ID), textview.Grant(&g))
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// resolveGrant finds the id of a grant by it, or by a unique prefix or suffix.
func resolveGrant(ctx context.Context, console *client.Client, id string) (string, error) {
	id = strings.ToUpper(id)
	if len(id) >= idLength {
		return id, nil
	}
	if len(id) < shortestID {
		return "", usagef("id %q is too short; give %d characters or more of its beginning or end", id, shortestID)
	}
	list, err := listGrants(ctx, console, approvals.GrantFilter{Expired: true}, mostGrants)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, g := range list.Items {
		if strings.HasPrefix(g.ID, id) || strings.HasSuffix(g.ID, id) {
			ids = append(ids, g.ID)
		}
	}
	switch len(ids) {
	case 0:
		return "", &unknownGrant{id}
	case 1:
		return ids[0], nil
	}
	return "", usagef("%d grants have ids that begin or end with %s: give the whole id", len(ids), id)
}

// mostGrants bounds how many grants a short id is looked for among.
const mostGrants = 100_000

// unknownGrant is the error of an id that no grant has.
type unknownGrant struct{ id string }

func (e *unknownGrant) Error() string {
	return "no grant " + e.id + ", or it was revoked; `heldcall grants` lists those in force"
}

func (e *unknownGrant) Unwrap() error { return approvals.ErrUnknownGrant }
