package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/runs"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

const channelName = "nats"

var errUnknownReviewer = errors.New("is not the name of a reviewer")

type handlers struct {
	gate      *gate.Gate
	signals   *runs.Signals
	grants    *grants.Grants
	reviewers *reviewers.Directory // nil: only "local" decides
	maxReply  func() int64         // bytes that the connection takes
}

type message struct {
	reviewer reviewers.Reviewer // whose token the subject has, if one
	id       string             // its last token then
	payload  []byte
}

// mayChangeOf refuses a change for a tenant that the reviewer does not see, and for all tenants.
func (m message) mayChangeOf(tenant string) error {
	if m.reviewer.Tenants.Has(tenant) {
		return nil
	}
	return approvals.Forbidden(m.reviewer.Name, "%q is not one of their tenants", tenant)
}

// target reads the reviewer, who must have the role, and the id, if there is one, from
// heldcall.v1.{verb}.{reviewer}.{id}.
func (h *handlers) target(subject string, needed reviewers.Role) (who reviewers.Reviewer, id string, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 4 || len(tokens) > 5 {
		return who, "", &approvals.InvalidError{Field: "subject", Reason: fmt.Sprintf("%q has %d tokens, not 4 or 5", subject, len(tokens))}
	}
	if who, err = h.reviewer(tokens[3]); err != nil {
		return who, "", err
	}
	if !who.Role.Includes(needed) {
		return who, "", &approvals.ForbiddenError{Reviewer: who.Name, Reason: fmt.Sprintf("it takes the role %s, and theirs is %s", needed, who.Role)}
	}
	if len(tokens) == 4 {
		return who, "", nil
	}
	if id, err = subjects.ParseToken(tokens[4]); err != nil {
		return who, "", &approvals.InvalidError{Field: "subject", Reason: err.Error()}
	}
	return who, id, nil
}

func (h *handlers) reviewer(token string) (reviewers.Reviewer, error) {
	if h.reviewers == nil {
		if token == reviewers.LocalName {
			return reviewers.Local(), nil
		}
		return reviewers.Reviewer{}, fmt.Errorf("%q %w; until reviewers are configured only %q decides", token, errUnknownReviewer, reviewers.LocalName)
	}
	name, err := subjects.ParseToken(token)
	if err != nil {
		return reviewers.Reviewer{}, &approvals.InvalidError{Field: "subject", Reason: err.Error()}
	}
	who, known := h.reviewers.ByName(name)
	if !known {
		return reviewers.Reviewer{}, fmt.Errorf("%q %w of console.reviewers", name, errUnknownReviewer)
	}
	return who, nil
}

type byID struct {
	ID string `json:"id"`
}

// byIDOf answers a message that names one record.
func byIDOf[T any](read func(h *handlers, ctx context.Context, m message, id string) (T, error)) func(*handlers, context.Context, message) (any, error) {
	return func(h *handlers, ctx context.Context, m message) (any, error) {
		var query byID
		if err := readQuery(m.payload, &query); err != nil {
			return nil, err
		}
		if query.ID == "" {
			return nil, &approvals.InvalidError{Field: "id", Reason: "it is missing"}
		}
		return read(h, ctx, m, query.ID)
	}
}

func readQuery(payload []byte, query any) error {
	if len(payload) == 0 {
		return nil
	}
	if err := json.Unmarshal(payload, query, json.RejectUnknownMembers(true)); err != nil {
		return &approvals.InvalidError{Field: "payload", Reason: err.Error()}
	}
	return nil
}
