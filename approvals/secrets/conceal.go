package secrets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/internal/mask"
)

// noSecretsOver are the channels that keep what people write.
var noSecretsOver = map[string]string{"slack": "Slack keeps messages: answer in the inbox"}

// Conceal replaces secrets by their handles in a valid decision: it is recorded, and the
// model reads it. It stores the values of secret fields for the principal of the request, or
// for its session, before the decision is recorded. Then settle must be called: of several
// answers at the same moment only the one that is the decision keeps its values. It fails
// with [*approvals.InvalidError] if a value is refused.
func (s *Secrets) Conceal(ctx context.Context, r *approvals.Request, d *approvals.Decision) (settle func(ctx context.Context, decided bool), err error) {
	a := answer{secrets: s}
	err = questions.ReplaceSecrets(r, d, func(at, name, value string) (string, error) {
		if why := noSecretsOver[d.Channel]; why != "" {
			return "", approvals.Invalid(at, "%s", why)
		}
		if known, ok := strings.CutPrefix(value, mask.Scheme); ok {
			if _, ok := s.Value(r.Principal, r.SessionID, known); !ok {
				return "", approvals.Invalid(at, "there is no secret %s for this agent", known)
			}
			return value, nil
		}
		if err := CheckValue(at, value); err != nil {
			return "", err
		}
		one := approvals.Secret{Name: name, Principal: r.Principal, SessionID: r.SessionID, CreatedBy: d.ReviewerID}
		if d.Save {
			one.SessionID = ""
		}
		return mask.Handle(name), a.store(ctx, one, value, r.ID)
	})
	if err == nil {
		err = s.concealTexts(ctx, r, d)
	}
	if err != nil {
		a.settle(context.WithoutCancel(ctx), false)
		a.written = nil
	}
	return a.settle, err
}

// concealTexts replaces secrets in the other texts of a decision.
func (s *Secrets) concealTexts(ctx context.Context, r *approvals.Request, d *approvals.Decision) error {
	if err := s.MaskWritten(ctx, &d.Note, &d.Patterns); err != nil {
		return err
	}
	m, err := s.Masker(r.Principal)
	if m == nil || err != nil {
		return err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("mask a decision: %w", err)
	}
	masked := m.JSON(text)
	if bytes.Equal(masked, text) {
		return nil
	}
	var without approvals.Decision
	if err := json.Unmarshal(masked, &without); err != nil {
		return fmt.Errorf("mask a decision: %w", err)
	}
	*d = without
	return nil
}

// MaskWritten replaces the secrets of all principals by their handles in what a person has written, before
// it is stored. Each field is a pointer to a value of JSON. It fails with [approvals.ErrStoreUnavailable], or
// while a stored secret cannot be read.
func (s *Secrets) MaskWritten(ctx context.Context, fields ...any) error {
	if err := s.Await(ctx); err != nil {
		return err
	}
	m, err := s.maskerOfAll()
	if m == nil || err != nil {
		return err
	}
	for _, field := range fields {
		text, err := json.Marshal(field)
		if err != nil {
			return fmt.Errorf("mask a text: %w", err)
		}
		masked := m.JSON(text)
		if bytes.Equal(masked, text) {
			continue
		}
		if err := json.Unmarshal(masked, field); err != nil {
			return fmt.Errorf("mask a text: %w", err)
		}
	}
	return nil
}
