package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// channel is how what comes over NATS came.
const channel = "nats"

// errUnknownReviewer refuses a reviewer token that is nobody's.
var errUnknownReviewer = errors.New("is not the name of a reviewer")

// decide takes a decision.
func (s *Service) decide(ctx context.Context, m message) (any, error) {
	d, err := approvals.ParseDecision(m.payload)
	if err != nil {
		return nil, err
	}
	if d.RequestID != "" && d.RequestID != m.id {
		return nil, &approvals.InvalidError{Field: "request_id", Reason: fmt.Sprintf("%q is not the request of the subject, %q", d.RequestID, m.id)}
	}
	d.RequestID = m.id
	m.reviewer.Sign(&d)
	d.Channel = channel
	return s.gate.Decide(ctx, d)
}

// signal is one as reviewers write it.
type signal struct {
	RunID   string                 `json:"run_id"` // optional: that of the subject
	Action  approvals.SignalAction `json:"action"`
	Payload jsontext.Value         `json:"payload"`
}

// signal takes a signal.
func (s *Service) signal(ctx context.Context, m message) (any, error) {
	var payload signal
	if err := json.Unmarshal(m.payload, &payload); err != nil {
		return nil, &approvals.InvalidError{Field: "payload", Reason: "not strict JSON of a signal: " + err.Error()}
	}
	if payload.RunID != "" && payload.RunID != m.id {
		return nil, &approvals.InvalidError{Field: "run_id", Reason: fmt.Sprintf("%q is not the run of the subject, %q", payload.RunID, m.id)}
	}
	return s.gate.Signal(ctx, approvals.Signal{
		RunID:      m.id,
		Action:     payload.Action,
		Payload:    []byte(payload.Payload),
		ReviewerID: m.reviewer.Name,
	})
}

// target reads the reviewer and the id from heldcall.v1.{verb}.{reviewer}.{id}.
// The reviewer must have the role.
func (s *Service) target(subject string, needed reviewers.Role) (who reviewers.Reviewer, id string, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 5 {
		return who, "", &approvals.InvalidError{Field: "subject", Reason: fmt.Sprintf("%q has %d tokens, not 5", subject, len(tokens))}
	}
	if who, err = s.reviewer(tokens[3]); err != nil {
		return who, "", err
	}
	if !who.Role.Includes(needed) {
		return who, "", &approvals.ForbiddenError{Reviewer: who.Name, Reason: fmt.Sprintf("it takes the role %s, and theirs is %s", needed, who.Role)}
	}
	if id, err = subjects.ParseToken(tokens[4]); err != nil {
		return who, "", &approvals.InvalidError{Field: "subject", Reason: err.Error()}
	}
	return who, id, nil
}

// reviewer is whom a token of a subject names.
func (s *Service) reviewer(token string) (reviewers.Reviewer, error) {
	if s.reviewers == nil {
		if token == reviewers.LocalName {
			return reviewers.Local(), nil
		}
		return reviewers.Reviewer{}, fmt.Errorf("%q %w; until reviewers are configured only %q decides", token, errUnknownReviewer, reviewers.LocalName)
	}
	name, err := subjects.ParseToken(token)
	if err != nil {
		return reviewers.Reviewer{}, &approvals.InvalidError{Field: "subject", Reason: err.Error()}
	}
	who, known := s.reviewers.ByName(name)
	if !known {
		return reviewers.Reviewer{}, fmt.Errorf("%q %w of console.reviewers", name, errUnknownReviewer)
	}
	return who, nil
}
