package console

import (
	"context"
	"fmt"
	"net/http"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

// Secrets is what the console needs of [secrets.Secrets].
type Secrets interface {
	List() []approvals.Secret
	Set(ctx context.Context, one approvals.Secret, value string) (approvals.Secret, error)
	Delete(ctx context.Context, one approvals.Secret, reviewer string) (approvals.Secret, error)
}

type secretHandlers struct{ secrets Secrets }

func (h secretHandlers) list(w http.ResponseWriter, r *http.Request) error {
	return answerAll(w, r, h.secrets.List())
}

func (h secretHandlers) set(w http.ResponseWriter, r *http.Request) error {
	p, err := readJSON[approvals.SecretPayload](w, r, "secret", "")
	if err != nil {
		return err
	}
	one, err := h.secrets.Set(r.Context(), p.By(reviewerOf(r).Name), p.Value)
	if err != nil {
		return fmt.Errorf("store a secret: %w", err)
	}
	return answer(w, one)
}

// delete deletes the secret of a name, a principal and a session.
func (h secretHandlers) delete(w http.ResponseWriter, r *http.Request) error {
	one, err := parseSecretQuery(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	if one, err = h.secrets.Delete(r.Context(), one, reviewerOf(r).Name); err != nil {
		return fmt.Errorf("delete a secret: %w", err)
	}
	return answer(w, one)
}

func parseSecretQuery(raw string) (one approvals.Secret, err error) {
	err = readQuery(raw, "parameter", []parameter{
		queryValue("name", &one.Name, anyText),
		queryValue("tenant", &one.Principal.Tenant, anyText),
		queryValue("user", &one.Principal.User, anyText),
		queryValue("agent", &one.Principal.Agent, anyText),
		queryValue("session_id", &one.SessionID, anyText),
	})
	return one, err
}
