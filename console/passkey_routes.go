package console

import (
	"fmt"
	"net/http"

	"github.com/heldcall/heldcall/console/passkeys"
	"github.com/heldcall/heldcall/console/problem"
)

type passkeyHandlers struct {
	passkeys *passkeys.Passkeys
	requests requestHandlers
}

func (h passkeyHandlers) list(w http.ResponseWriter, r *http.Request) error {
	list, err := h.passkeys.List(r.Context(), reviewerOf(r).Name)
	if err != nil {
		return fmt.Errorf("list passkeys: %w", err)
	}
	return answer(w, list)
}

// atPage refuses programs with a token: a person changes passkeys, in a browser.
func atPage(r *http.Request) error {
	if reviewerOf(r).Via == viaToken {
		return problem.New(http.StatusForbidden, problem.CodeForbidden, "passkeys are registered and revoked in the inbox, by a reviewer who is signed in there")
	}
	return nil
}

func (h passkeyHandlers) create(w http.ResponseWriter, r *http.Request) error {
	given, err := readJSON[passkeys.Named](w, r, "passkey", "")
	if err != nil {
		return err
	}
	return answerOptions(w)(h.passkeys.Creation(r.Context(), reviewerOf(r).Name, given.Name))
}

func (h passkeyHandlers) challenge(w http.ResponseWriter, r *http.Request) error {
	given, err := readJSON[passkeys.Change](w, r, "passkey", "")
	if err != nil {
		return err
	}
	return answerOptions(w)(h.passkeys.ChallengeToChange(r.Context(), reviewerOf(r).Name, given))
}

// challengeDecision answers what a passkey needs to confirm the decision in the body.
func (h passkeyHandlers) challengeDecision(w http.ResponseWriter, r *http.Request) error {
	request, err := requestIn(h.requests.gate, r)
	if err != nil {
		return err
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	decision, err := h.requests.parse(reviewerOf(r), channelREST, request.ID, body)
	if err != nil {
		return err
	}
	return answerOptions(w)(h.passkeys.ChallengeToApprove(r.Context(), &request, &decision))
}

func answerOptions(w http.ResponseWriter) func(passkeys.BrowserOptions, error) error {
	return func(options passkeys.BrowserOptions, err error) error {
		if err != nil {
			return fmt.Errorf("ask for a passkey: %w", err)
		}
		return answer(w, options)
	}
}

func (h passkeyHandlers) register(w http.ResponseWriter, r *http.Request) error {
	if err := atPage(r); err != nil {
		return err
	}
	given, err := readJSON[passkeys.Registration](w, r, "passkey", "")
	if err != nil {
		return err
	}
	registered, err := h.passkeys.Register(r.Context(), reviewerOf(r).Name, channelREST, given)
	if err != nil {
		return fmt.Errorf("register a passkey: %w", err)
	}
	return answer(w, registered)
}

func (h passkeyHandlers) revoke(w http.ResponseWriter, r *http.Request) error {
	if err := atPage(r); err != nil {
		return err
	}
	given, err := readJSON[passkeys.Revocation](w, r, "passkey", "")
	if err != nil {
		return err
	}
	if err := h.passkeys.Revoke(r.Context(), reviewerOf(r).Name, channelREST, r.PathValue("id"), given.Assertion); err != nil {
		return fmt.Errorf("revoke a passkey: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
