package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

const (
	// idLength is that of a whole id, a ULID.
	idLength = 26
	// shortestID is the length from which a part of an id names a request or a grant: an
	// empty variable in a script must not decide a request.
	shortestID = 4
	// mostCandidates is how many requests the error of an ambiguous id lists.
	mostCandidates = 10
)

// oneRequest is what a command takes that is about one request.
type oneRequest struct {
	connection
	outputFlag
	ID *string `arg:"" optional:"" help:"Request ${id}. Without it: the only pending request."`
}

// find returns the request, and the console that has it.
func (o oneRequest) find(ctx context.Context, s *streams) (*client.Client, approvals.Request, error) {
	console, err := o.dial(ctx, s)
	if err != nil {
		return nil, approvals.Request{}, err
	}
	request, err := resolve(ctx, console, o.ID)
	return console, request, err
}

// resolve finds a request by its id or a part of it or, without an id, the only pending one.
// An id that is empty, as of a variable in a script, is an error.
func resolve(ctx context.Context, c *client.Client, id *string) (approvals.Request, error) {
	if id == nil {
		return onlyPending(ctx, c)
	}
	return requestByID(ctx, c, *id)
}

// requestByID finds a request by its id, or by a prefix or suffix that is unique among the
// pending requests, else among all. Ids begin with the time, so suffixes differ sooner.
func requestByID(ctx context.Context, c *client.Client, id string) (approvals.Request, error) {
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
		return approvals.Request{}, usagef("%s", ambiguous(id, status, matches))
	}
	return approvals.Request{}, &unknownRequest{"no request " + id + "; `heldcall requests` lists pending requests, with --all also those that have ended"}
}

// onlyPending returns the only pending request. It fails with a [*usageError] if several are pending, and
// with [approvals.ErrUnknownRequest] if none is.
func onlyPending(ctx context.Context, c *client.Client) (approvals.Request, error) {
	page, err := c.Requests(ctx, approvals.Filter{Status: approvals.StatusPending, Limit: mostCandidates + 1})
	switch {
	case err != nil:
		return approvals.Request{}, err
	case len(page.Items) == 0:
		return approvals.Request{}, &unknownRequest{"no request is pending; `heldcall requests --all` lists those that have ended"}
	case len(page.Items) > 1 || page.NextCursor != "":
		return approvals.Request{}, usagef("%s", candidates("several requests are pending", page.Items, "Give the id of one."))
	}
	return c.Request(ctx, page.Items[0].ID) // a list may have it abridged
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

// ambiguous lists the requests of a status, or of any, that match an id.
func ambiguous(id string, status approvals.Status, matches []approvals.Request) string {
	what := "several requests have ids that begin or end with "
	if status == approvals.StatusPending {
		what = "several pending requests have ids that begin or end with "
	}
	return candidates(what+id, matches, "Give a full id, or a unique prefix or suffix.")
}

// candidates lists requests with their whole ids, between the error and what to do.
func candidates(wrong string, requests []approvals.Request, do string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:\n", wrong)
	for i, r := range requests {
		if i == mostCandidates {
			text.WriteString("  and more\n")
			break
		}
		fmt.Fprintf(&text, "  %s  %s  %s\n", r.ID, sanitize.Line(r.ToolName), textview.Shorten(sanitize.Line(r.ArgsPreview), textview.PreviewWidth))
	}
	text.WriteString(do)
	return text.String()
}

// unknownRequest is the error of an id that no request has, or of none where none is pending.
type unknownRequest struct{ text string }

func (e *unknownRequest) Error() string { return e.text }

func (e *unknownRequest) Unwrap() error { return approvals.ErrUnknownRequest }
