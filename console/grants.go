package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/problem"
)

// Grants is what the console needs of [grants.Grants]; tests of the console script them.
type Grants interface {
	Grant(id string) (approvals.Grant, error)
	Grants(f approvals.GrantFilter) approvals.GrantPage
	Add(ctx context.Context, g approvals.Grant) (approvals.Grant, error)
	Revoke(ctx context.Context, id, reviewer, channel string) (approvals.Grant, error)
	Preview(ctx context.Context, g approvals.Grant) (approvals.GrantPreview, error)
	Suggestions(ctx context.Context, r *approvals.Request) ([]approvals.Suggestion, error)
}

type grantHandlers struct {
	gate      scopedGate
	grants    scopedGrants
	templates []approvals.GrantTemplate
}

func (h grantHandlers) list(w http.ResponseWriter, r *http.Request) error {
	filter, err := parseGrantFilter(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	return answer(w, h.grants.Grants(r.Context(), filter))
}

func parseGrantFilter(raw string) (f approvals.GrantFilter, err error) {
	err = readQuery(raw, "filter", []parameter{
		queryValue("tenant", &f.Tenant, anyText),
		queryValue("user", &f.User, anyText),
		queryValue("agent", &f.Agent, anyText),
		queryValue("session_id", &f.SessionID, anyText),
		queryValue("tool", &f.Tool, anyText),
		queryValue("expired", &f.Expired, func(value string) (bool, error) {
			expired, err := strconv.ParseBool(value)
			if err != nil {
				return false, fmt.Errorf("%q is neither true nor false", value)
			}
			return expired, nil
		}),
		queryValue("cursor", &f.Cursor, recordID),
		queryValue("limit", &f.Limit, pageLimit),
	})
	return f, err
}

func (h grantHandlers) show(w http.ResponseWriter, r *http.Request) error {
	g, err := h.grants.Grant(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return answer(w, g)
}

func (h grantHandlers) listTemplates(w http.ResponseWriter, r *http.Request) error {
	return answerAll(w, r, h.templates)
}

func readGrant(w http.ResponseWriter, r *http.Request) (approvals.Grant, error) {
	p, err := readJSON[approvals.GrantPayload](w, r, "grant", "")
	if err != nil {
		return approvals.Grant{}, err
	}
	who := reviewerOf(r)
	return p.By(who.Name, who.User, channelREST), nil
}

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

// suggestions answers the suggested patterns of a request with what each would have decided.
func (h grantHandlers) suggestions(w http.ResponseWriter, r *http.Request) error {
	request, err := requestIn(h.gate, r)
	if err != nil {
		return err
	}
	all, err := h.grants.Suggestions(r.Context(), &request)
	if err != nil {
		return fmt.Errorf("compare the suggestions of request %s: %w", request.ID, err)
	}
	return answer(w, listOf[approvals.Suggestion]{Items: all})
}

func (h grantHandlers) revoke(w http.ResponseWriter, r *http.Request) error {
	who, id := reviewerOf(r), r.PathValue("id")
	if who.Role != reviewers.RoleAdmin { // who trusts less needs no rights
		if g, err := h.grants.Grant(r.Context(), id); err == nil && !g.Window && g.Folder == "" {
			return approvals.Forbidden(who.Name, "revoking a grant needs the role admin; reviewers can close trust windows and take folders away")
		}
	}
	g, err := h.grants.Revoke(r.Context(), id, who.Name, channelREST)
	if err != nil {
		return fmt.Errorf("revoke a grant: %w", err)
	}
	return answer(w, g)
}
