package console

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/problem"
)

type secretHandlers struct{ secrets scopedSecrets }

func (h secretHandlers) list(w http.ResponseWriter, r *http.Request) error {
	return answerAll(w, r, h.secrets.List(r.Context()))
}

func (h secretHandlers) set(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	p, err := decodeJSON[approvals.SecretPayload](body, "secret", "")
	if err == nil {
		err = checkStated(body)
	}
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

// checkStated checks that a secret states each part of its principal: one that is left out could be meant as
// any user, or as none, and the value would then not be masked where its owner believes.
func checkStated(body []byte) error {
	var stated struct {
		Principal map[string]any `json:"principal"`
	}
	if err := json.Unmarshal(body, &stated); err != nil {
		return fmt.Errorf("read a secret: %w", err)
	}
	for _, part := range []string{"tenant", "user", "agent"} {
		if _, ok := stated.Principal[part]; !ok {
			return approvals.Invalid("principal", `does not state %s: give a name, "*" for all, or "" for agents without one`, part)
		}
	}
	return nil
}
