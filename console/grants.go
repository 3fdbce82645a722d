package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/oklog/ulid/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// Grants is what the console needs of [approvals.GrantBook].
type Grants interface {
	Grant(id string) (approvals.Grant, error)
	Grants(f approvals.GrantFilter) approvals.GrantPage
	Add(ctx context.Context, g approvals.Grant) (approvals.Grant, error)
	Revoke(ctx context.Context, id, reviewer, channel string) (approvals.Grant, error)
	Preview(ctx context.Context, g approvals.Grant) (approvals.GrantPreview, error)
}

// listGrants answers a page of the grants in force, newest first.
func (c *Console) listGrants(w http.ResponseWriter, r *http.Request) error {
	filter, err := parseGrantFilter(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	return answer(w, c.grants.Grants(filter))
}

// parseGrantFilter reads the query of the list, as strictly as parseFilter.
func parseGrantFilter(query string) (approvals.GrantFilter, error) {
	var f approvals.GrantFilter
	values, err := url.ParseQuery(query)
	if err != nil {
		return f, errors.New("the query is not well formed; encode it as name=value&name=value")
	}
	texts := map[string]*string{"tenant": &f.Tenant, "user": &f.User, "agent": &f.Agent, "session_id": &f.SessionID, "tool": &f.Tool}
	for name, given := range values {
		if len(given) > 1 {
			return f, fmt.Errorf("%s: is given more than once; give one value", name)
		}
		value := given[0]
		switch name {
		case "expired":
			if f.Expired, err = strconv.ParseBool(value); err != nil {
				return f, fmt.Errorf("expired: %q is neither true nor false", value)
			}
		case "cursor":
			f.Cursor = value
			if _, err := ulid.ParseStrict(value); value != "" && err != nil {
				return f, errors.New("cursor: is not a next_cursor of this list; leave it out to begin again")
			}
		case "limit":
			if f.Limit, err = strconv.Atoi(value); err != nil || f.Limit < 1 || f.Limit > maxLimit {
				return f, fmt.Errorf("limit: %q is not a number from 1 to %d", value, maxLimit)
			}
		default:
			to := texts[name]
			if to == nil {
				return f, fmt.Errorf("%s: is not a filter; use tenant, user, agent, session_id, tool, expired, cursor or limit", name)
			}
			*to = value
		}
	}
	return f, nil
}

// showGrant answers one grant.
func (c *Console) showGrant(w http.ResponseWriter, r *http.Request) error {
	g, err := c.grants.Grant(r.PathValue("id"))
	if err != nil {
		return err
	}
	return answer(w, g)
}

// listTemplates answers the grants that the configuration keeps ready.
func (c *Console) listTemplates(w http.ResponseWriter, r *http.Request) error {
	if r.URL.RawQuery != "" {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, "this list takes no filter; remove the query")
	}
	return answer(w, listOf[approvals.GrantTemplate]{Items: c.templates})
}

// readGrant reads the body of a grant.
func readGrant(w http.ResponseWriter, r *http.Request) (approvals.Grant, error) {
	body, err := readBody(w, r)
	if err != nil {
		return approvals.Grant{}, err
	}
	var p approvals.GrantPayload
	if err := json.Unmarshal(body, &p, json.RejectUnknownMembers(true)); err != nil {
		return approvals.Grant{}, &approvals.InvalidError{Field: "grant", Reason: err.Error()}
	}
	who := reviewerOf(r)
	return p.By(who.Name, who.User, channelREST), nil
}

// addGrant writes a grant by hand and answers it.
func (c *Console) addGrant(w http.ResponseWriter, r *http.Request) error {
	g, err := readGrant(w, r)
	if err != nil {
		return err
	}
	if g, err = c.grants.Add(r.Context(), g); err != nil {
		return fmt.Errorf("add a grant: %w", err)
	}
	return answer(w, g)
}

// previewGrant answers which recorded calls a grant would have decided.
func (c *Console) previewGrant(w http.ResponseWriter, r *http.Request) error {
	g, err := readGrant(w, r)
	if err != nil {
		return err
	}
	preview, err := c.grants.Preview(r.Context(), g)
	if err != nil {
		return fmt.Errorf("preview a grant: %w", err)
	}
	return answer(w, preview)
}

// revokeGrant ends a grant and answers it as it was.
func (c *Console) revokeGrant(w http.ResponseWriter, r *http.Request) error {
	g, err := c.grants.Revoke(r.Context(), r.PathValue("id"), reviewerOf(r).Name, channelREST)
	if err != nil {
		return fmt.Errorf("revoke a grant: %w", err)
	}
	return answer(w, g)
}
