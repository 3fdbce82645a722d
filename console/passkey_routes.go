package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/access"
	"github.com/heldcall/heldcall/console/passkeys"
	"github.com/heldcall/heldcall/console/problem"
)

// Passkeys is what the console needs of [passkeys.Passkeys].
type Passkeys interface {
	Origin() (origin string, refusal error)
	List(ctx context.Context, reviewer string) ([]reviewers.Passkey, error)
	Creation(ctx context.Context, reviewer, name string) (json.RawMessage, error)
	ChallengeToAdd(ctx context.Context, reviewer string, one passkeys.Registration) (json.RawMessage, error)
	ChallengeToRevoke(ctx context.Context, reviewer, id string) (json.RawMessage, error)
	ChallengeToApprove(ctx context.Context, r *approvals.Request, d *approvals.Decision) (json.RawMessage, error)
	Register(ctx context.Context, reviewer, channel string, one passkeys.Registration) (reviewers.Passkey, error)
	Revoke(ctx context.Context, reviewer, channel, id string, assertion json.RawMessage) error
}

// passkeysReply is where passkeys can be used, and those of the sender.
type passkeysReply struct {
	Origin   string        `json:"origin"`             // only pages of it can use passkeys
	Unusable string        `json:"unusable,omitempty"` // why none can be used there
	Items    []passkeyItem `json:"items"`              // the oldest first
}

// passkeyItem is a passkey without its key.
type passkeyItem struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
}

// browserOptions are the options of navigator.credentials, in JSON.
type browserOptions struct {
	PublicKey json.RawMessage `json:"publicKey"`
}

type passkeyName struct {
	Name string `json:"name"`
}

// passkeyChallenge has what a passkey is to confirm, one of both.
type passkeyChallenge struct {
	Add    *passkeys.Registration `json:"add,omitempty"`
	Revoke string                 `json:"revoke,omitempty"`
}

type passkeyRevocation struct {
	Assertion json.RawMessage `json:"assertion"`
}

type passkeyHandlers struct {
	passkeys Passkeys
	requests requestHandlers
}

func (h passkeyHandlers) list(w http.ResponseWriter, r *http.Request) error {
	reply := passkeysReply{Items: []passkeyItem{}}
	var refusal error
	if reply.Origin, refusal = h.passkeys.Origin(); refusal != nil {
		reply.Unusable = refusal.Error()
	}
	all, err := h.passkeys.List(r.Context(), access.ReviewerOf(r).Name)
	if err != nil {
		return fmt.Errorf("list passkeys: %w", err)
	}
	for _, k := range all {
		reply.Items = append(reply.Items, passkeyItem{k.ID, k.Name, k.CreatedAt, k.LastUsedAt})
	}
	return answer(w, reply)
}

// atPage refuses programs with a token: a person changes passkeys, in a browser.
func atPage(r *http.Request) error {
	if access.ReviewerOf(r).Via == access.ViaToken {
		return problem.New(http.StatusForbidden, problem.CodeForbidden, "passkeys are registered and revoked in the inbox, by a reviewer who is signed in there")
	}
	return nil
}

func (h passkeyHandlers) create(w http.ResponseWriter, r *http.Request) error {
	given, err := readJSON[passkeyName](w, r, "passkey", "")
	if err != nil {
		return err
	}
	return answerOptions(w)(h.passkeys.Creation(r.Context(), access.ReviewerOf(r).Name, given.Name))
}

func (h passkeyHandlers) challenge(w http.ResponseWriter, r *http.Request) error {
	given, err := readJSON[passkeyChallenge](w, r, "passkey", "")
	if err != nil {
		return err
	}
	who := access.ReviewerOf(r).Name
	if given.Add != nil {
		return answerOptions(w)(h.passkeys.ChallengeToAdd(r.Context(), who, *given.Add))
	}
	return answerOptions(w)(h.passkeys.ChallengeToRevoke(r.Context(), who, given.Revoke))
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
	decision, err := h.requests.parse(access.ReviewerOf(r), channelREST, request.ID, body)
	if err != nil {
		return err
	}
	return answerOptions(w)(h.passkeys.ChallengeToApprove(r.Context(), &request, &decision))
}

func answerOptions(w http.ResponseWriter) func(json.RawMessage, error) error {
	return func(options json.RawMessage, err error) error {
		if err != nil {
			return fmt.Errorf("ask for a passkey: %w", err)
		}
		return answer(w, browserOptions{options})
	}
}

func (h passkeyHandlers) register(w http.ResponseWriter, r *http.Request) error {
	given, err := readJSON[passkeys.Registration](w, r, "passkey", "")
	if err == nil {
		err = atPage(r)
	}
	if err != nil {
		return err
	}
	k, err := h.passkeys.Register(r.Context(), access.ReviewerOf(r).Name, channelREST, given)
	if err != nil {
		return fmt.Errorf("register a passkey: %w", err)
	}
	return answer(w, passkeyItem{k.ID, k.Name, k.CreatedAt, k.LastUsedAt})
}

func (h passkeyHandlers) revoke(w http.ResponseWriter, r *http.Request) error {
	given, err := readJSON[passkeyRevocation](w, r, "passkey", "")
	if err == nil {
		err = atPage(r)
	}
	if err != nil {
		return err
	}
	if err := h.passkeys.Revoke(r.Context(), access.ReviewerOf(r).Name, channelREST, r.PathValue("id"), given.Assertion); err != nil {
		return fmt.Errorf("revoke a passkey: %w", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
