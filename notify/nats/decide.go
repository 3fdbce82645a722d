package nats

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heldcall/heldcall/approvals"
)

func (h *handlers) decide(ctx context.Context, m message) (any, error) {
	d, err := approvals.ParseDecision(m.payload)
	if err != nil {
		return nil, err
	}
	if d.RequestID != "" && d.RequestID != m.id {
		return nil, &approvals.InvalidError{Field: "request_id", Reason: fmt.Sprintf("%q is not the request of the subject, %q", d.RequestID, m.id)}
	}
	d.RequestID = m.id
	m.reviewer.Sign(&d)
	d.Channel = channelName
	return h.gate.Decide(ctx, d)
}

type signal struct {
	RunID   string                 `json:"run_id"` // optional: that of the subject
	Action  approvals.SignalAction `json:"action"`
	Payload jsontext.Value         `json:"payload"`
}

func (h *handlers) signalPrincipal(ctx context.Context, m message) (any, error) {
	var payload approvals.PrincipalSignalPayload
	if err := json.Unmarshal(m.payload, &payload, json.RejectUnknownMembers(true)); err != nil {
		return nil, &approvals.InvalidError{Field: "payload", Reason: "not strict JSON of a signal: " + err.Error()}
	}
	signal := payload.From(m.reviewer.Name)
	if err := m.mayChangeOf(signal.Principal.Tenant); err != nil {
		return nil, err
	}
	return h.signals.Send(ctx, signal)
}

func (h *handlers) signal(ctx context.Context, m message) (any, error) {
	var payload signal
	if err := json.Unmarshal(m.payload, &payload); err != nil {
		return nil, &approvals.InvalidError{Field: "payload", Reason: "not strict JSON of a signal: " + err.Error()}
	}
	if payload.RunID != "" && payload.RunID != m.id {
		return nil, &approvals.InvalidError{Field: "run_id", Reason: fmt.Sprintf("%q is not the run of the subject, %q", payload.RunID, m.id)}
	}
	if m.reviewer.Tenants.Limited() {
		run, err := h.gate.RunByID(ctx, m.id)
		if err == nil && !m.reviewer.Tenants.Has(run.Principal.Tenant) {
			err = approvals.ErrUnknownRun
		}
		if err != nil {
			return nil, err
		}
	}
	return h.gate.Signal(ctx, approvals.Signal{
		RunID:      m.id,
		Action:     payload.Action,
		Payload:    []byte(payload.Payload),
		ReviewerID: m.reviewer.Name,
	})
}
