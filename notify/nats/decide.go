package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	natsgo "github.com/nats-io/nats.go"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store"
)

// errUnknownReviewer refuses a reviewer token that may not decide.
var errUnknownReviewer = errors.New("is not a reviewer; until reviewers are configured only \"local\" decides")

// decide takes a decision.
func (s *Service) decide(ctx context.Context, msg *natsgo.Msg) (any, error) {
	reviewer, id, err := target(msg.Subject)
	if err != nil {
		return nil, err
	}
	d, err := approvals.ParseDecision(msg.Data)
	if err != nil {
		return nil, err
	}
	if d.RequestID != "" && d.RequestID != id {
		return nil, &approvals.InvalidError{Field: "request_id", Reason: fmt.Sprintf("%q is not the request of the subject, %q", d.RequestID, id)}
	}
	d.RequestID = id
	d.ReviewerID = reviewer
	d.Channel = "nats"
	return s.gate.Decide(ctx, d)
}

// signal takes a signal.
func (s *Service) signal(ctx context.Context, msg *natsgo.Msg) (any, error) {
	reviewer, run, err := target(msg.Subject)
	if err != nil {
		return nil, err
	}
	var payload struct {
		RunID   string         `json:"run_id"`
		Action  string         `json:"action"`
		Payload jsontext.Value `json:"payload"`
	}
	if err := json.Unmarshal(msg.Data, &payload); err != nil {
		return nil, &approvals.InvalidError{Field: "payload", Reason: "not strict JSON of a signal: " + err.Error()}
	}
	if payload.RunID != "" && payload.RunID != run {
		return nil, &approvals.InvalidError{Field: "run_id", Reason: fmt.Sprintf("%q is not the run of the subject, %q", payload.RunID, run)}
	}
	return s.gate.Signal(ctx, approvals.Signal{
		RunID:      run,
		Action:     approvals.SignalAction(payload.Action),
		Payload:    []byte(payload.Payload),
		ReviewerID: reviewer,
	})
}

// target reads the reviewer and the id from heldcall.v1.{verb}.{reviewer}.{id}.
func target(subject string) (reviewer, id string, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 5 {
		return "", "", &approvals.InvalidError{Field: "subject", Reason: fmt.Sprintf("%q has %d tokens, not 5", subject, len(tokens))}
	}
	if tokens[3] != localReviewer {
		return "", "", fmt.Errorf("%q %w", tokens[3], errUnknownReviewer)
	}
	id, err = store.ParseToken(tokens[4])
	if err != nil {
		return "", "", &approvals.InvalidError{Field: "subject", Reason: err.Error()}
	}
	return tokens[3], id, nil
}
