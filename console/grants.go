package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// Grants is what the console needs of [grants.Grants].
type Grants interface {
	Grant(id string) (approvals.Grant, error)
	Grants(f approvals.GrantFilter) approvals.GrantPage
	Add(ctx context.Context, g approvals.Grant) (approvals.Grant, error)
	Revoke(ctx context.Context, id, reviewer, channel string) (approvals.Grant, error)
	Preview(ctx context.Context, g approvals.Grant) (approvals.GrantPreview, error)
}

// grantHandlers serve grants.
type grantHandlers struct {
	grants    Grants
	templates []approvals.GrantTemplate
}

// list answers a page of the grants in force, newest first.
func (h grantHandlers) list(w http.ResponseWriter, r *http.Request) error {
	filter, err := parseGrantFilter(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	return answer(w, h.grants.Grants(filter))
}

// parseGrantFilter reads the query of the list.
func parseGrantFilter(query string) (f approvals.GrantFilter, err error) {
	err = readQuery(query, "filter", []parameter{
		parameterOf("tenant", &f.Tenant, anyText),
		parameterOf("user", &f.User, anyText),
		parameterOf("agent", &f.Agent, anyText),
		parameterOf("session_id", &f.SessionID, anyText),
		parameterOf("tool", &f.Tool, anyText),
		parameterOf("expired", &f.Expired, func(value string) (bool, error) {
			expired, err := strconv.ParseBool(value)
			if err != nil {
				return false, fmt.Errorf("%q is neither true nor false", value)
			}
			return expired, nil
		}),
		parameterOf("cursor", &f.Cursor, recordID),
		parameterOf("limit", &f.Limit, pageLimit),
	})
	return f, err
}

// show answers one grant.
func (h grantHandlers) show(w http.ResponseWriter, r *http.Request) error {
	g, err := h.grants.Grant(r.PathValue("id"))
	if err != nil {
		return err
	}
	return answer(w, g)
}

// listTemplates answers the grants that the configuration keeps ready.
func (h grantHandlers) listTemplates(w http.ResponseWriter, r *http.Request) error {
	if err := takesNoQuery(r); err != nil {
		return err
	}
	return answer(w, listOf[approvals.GrantTemplate]{Items: h.templates})
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

// add writes a grant by hand and answers it.
func (h grantHandlers) add(w http.ResponseWriter, r *http.Request) error {
	g, err := readGrant(w, r)
	if err != nil {
		return err
	}
	if g, err = h.grants.Add(r.Context(), g); err != nil {
		return fmt.Errorf("add a grant: %w", err)
	}
	return answer(w, g)
}

// preview answers which recorded calls a grant would have decided.
func (h grantHandlers) preview(w http.ResponseWriter, r *http.Request) error {
	g, err := readGrant(w, r)
	if err != nil {
		return err
	}
	preview, err := h.grants.Preview(r.Context(), g)
	if err != nil {
		return fmt.Errorf("preview a grant: %w", err)
	}
	return answer(w, preview)
}

// revoke ends a grant and answers it as it was.
func (h grantHandlers) revoke(w http.ResponseWriter, r *http.Request) error {
	g, err := h.grants.Revoke(r.Context(), r.PathValue("id"), reviewerOf(r).Name, channelREST)
	if err != nil {
		return fmt.Errorf("revoke a grant: %w", err)
	}
	return answer(w, g)
}
