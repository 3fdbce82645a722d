package secrets

import (
	"context"
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/approvals"
)

// answer has the values of one answer to a request that are stored before it is known
// whether it is the decision: another replica may record another answer at the same moment.
type answer struct {
	secrets *Secrets
	written []stored
}

// store stores a value.
func (a *answer) store(ctx context.Context, one approvals.Secret, value, request string) error {
	checked, err := a.secrets.check(one, value)
	if err != nil {
		return err
	}
	written, err := a.secrets.write(ctx, stored{Secret: checked, Value: value, Request: request})
	if err == nil {
		a.written = append(a.written, written)
	}
	return err
}

// settle makes the values of the decision those of the secrets, and restores what the
// values of another answer have replaced. They are still masked.
func (a *answer) settle(ctx context.Context, decided bool) {
	ctx, cancel := context.WithTimeout(ctx, approvals.WriteTimeout)
	defer cancel()
	settle := a.secrets.withdraw
	if decided {
		settle = a.secrets.confirm
	}
	for _, one := range a.written {
		if err := settle(ctx, one); err != nil {
			a.secrets.log.Error("cannot make sure that a secret has the value of the decision; set it again", "name", one.Name, "request", one.Request, "error", err)
		}
	}
}

// confirm makes a value that of the secret, unless a reviewer has set another one since.
func (s *Secrets) confirm(ctx context.Context, one stored) error {
	now, known, err := s.read(ctx, idOf(one.Secret))
	if err != nil || !known || now.Request != one.Request {
		return err
	}
	_, err = s.write(ctx, stored{Secret: one.Secret, Value: one.Value})
	return err
}

// withdraw restores the record before the answers to the request, unless another value has
// replaced this one.
func (s *Secrets) withdraw(ctx context.Context, one stored) error {
	if err := begin(ctx, s.writing); err != nil {
		return err
	}
	defer s.writing.Release(1)
	restored := one
	if restored.ExpiresAt = s.now().UTC(); one.Before != nil { // else it ends
		restored.Secret, restored.Value = one.Before.Secret, one.Before.Value
	}
	restored.Former = nil
	restored.replaces(append([]string{one.Value}, one.Former...)...)
	_, err := s.put(ctx, idOf(one.Secret), restored, s.over(one.revision))
	if err != nil && !errors.Is(err, approvals.ErrConflict) {
		return fmt.Errorf("restore the secret %s: %w", one.Name, err)
	}
	return nil
}
