package console

import (
	"fmt"
	"net/http"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/console/problem"
)

type secretHandlers struct{ secrets *secrets.Secrets }

func (h secretHandlers) list(w http.ResponseWriter, r *http.Request) error {
	return answerAll(w, r, h.secrets.List())
}

func (h secretHandlers) set(w http.ResponseWriter, r *http.Request) error {
	p, err := readJSON[approvals.SecretPayload](w, r, "secret", "")
	if err != nil {
		return err
	}
	secret, err := h.secrets.Set(r.Context(), p.By(reviewerOf(r).Name), p.Value)
	if err != nil {
		return fmt.Errorf("store a secret: %w", err)
	}
	return answer(w, secret)
}

// delete deletes the secret of a name, a principal and a session.
func (h secretHandlers) delete(w http.ResponseWriter, r *http.Request) error {
	secret, err := parseSecretQuery(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, problem.CodeBadRequest, err.Error())
	}
	if secret, err = h.secrets.Delete(r.Context(), secret, reviewerOf(r).Name); err != nil {
		return fmt.Errorf("delete a secret: %w", err)
	}
	return answer(w, secret)
}

func parseSecretQuery(raw string) (secret approvals.Secret, err error) {
	err = readQuery(raw, "parameter", []parameter{
		queryValue("name", &secret.Name, anyText),
		queryValue("tenant", &secret.Principal.Tenant, anyText),
		queryValue("user", &secret.Principal.User, anyText),
		queryValue("agent", &secret.Principal.Agent, anyText),
		queryValue("session_id", &secret.SessionID, anyText),
	})
	return secret, err
}
