package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/mask"
)

const (
	// savedFor is how long a saved secret can be used, if nothing else is given.
	savedFor = 90 * 24 * time.Hour
	// sessionFor is how long a secret of a session can be used.
	sessionFor = 30 * 24 * time.Hour
)

// namePattern is the form of names, which are those of environment variables.
var namePattern = regexp.MustCompile("^" + mask.Name + "$")

// Keep stores a value for a principal and a session, and returns its handle: what a
// question of the kind env_var is answered with. The value replaces one of the same name.
// It fails with [*approvals.InvalidError] if the name or the value is refused.
func (s *Secrets) Keep(ctx context.Context, who approvals.Principal, session, name, value, reviewer string) (handle string, err error) {
	one := approvals.Secret{Name: name, Principal: who, SessionID: session, CreatedBy: reviewer}
	if _, err := s.Set(ctx, one, value); err != nil {
		return "", err
	}
	return mask.Handle(name), nil
}

// Set stores a value for a principal, or for a session of it. It replaces a value of the
// same name. Without an end, the secret ends after 90 days, or 30 days for one session. It
// fails with [*approvals.InvalidError] if the secret or its value is refused.
func (s *Secrets) Set(ctx context.Context, one approvals.Secret, value string) (approvals.Secret, error) {
	now := s.now().UTC()
	if one.CreatedAt = now; one.ExpiresAt.IsZero() {
		one.ExpiresAt = now.Add(savedFor)
		if one.SessionID != "" {
			one.ExpiresAt = now.Add(sessionFor)
		}
	}
	switch {
	case !namePattern.MatchString(one.Name):
		return one, approvals.Invalid("name", "is not a name of an environment variable of at most 64 characters, such as GITHUB_TOKEN")
	case one.Principal.Tenant == "":
		return one, approvals.Invalid("principal", "has no tenant; that of agents without a configured one is default")
	case !now.Before(one.ExpiresAt):
		return one, approvals.Invalid("expires_at", "is in the past")
	}
	if err := CheckValue("value", value); err != nil {
		return one, err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepareKeys(ctx); err != nil {
		return one, err
	}
	former, err := s.replaced(ctx, idOf(one), value)
	if err != nil {
		return one, err
	}
	if err := s.put(ctx, idOf(one), stored{Secret: one, Value: value, Former: former}, s.store.PutSecret); err != nil {
		return one, fmt.Errorf("store the secret %s: %w", one.Name, err)
	}
	s.log.Info("secret stored", "name", one.Name, "principal", one.Principal, "session", one.SessionID, "by", one.CreatedBy, "until", one.ExpiresAt)
	return one, nil
}

// maxFormer bounds the values of a secret that are still masked after others have replaced
// them.
const maxFormer = 20

// replaced returns the values that a new value of a secret replaces, the last first.
func (s *Secrets) replaced(ctx context.Context, id, value string) (former []string, err error) {
	sealed, _, err := s.store.GetSecret(ctx, id)
	switch {
	case errors.Is(err, approvals.ErrUnknownSecret):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the secret that is replaced: %w", err)
	}
	s.mu.RLock()
	before, err := s.decode(id, sealed)
	s.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	for _, one := range append([]string{before.Value}, before.Former...) {
		if one != value && len(former) < maxFormer {
			former = append(former, one)
		}
	}
	return former, nil
}

// prepareKeys makes the key file at the first use, and makes sure that all replicas have
// the same key.
func (s *Secrets) prepareKeys(ctx context.Context) error {
	s.mu.RLock()
	k := s.keys
	_, checked := s.byID[checkID]
	s.mu.RUnlock()
	if k != nil && checked {
		return nil
	}
	sealed, _, err := s.store.GetSecret(ctx, checkID)
	unused := errors.Is(err, approvals.ErrUnknownSecret)
	switch {
	case err != nil && !unused:
		return fmt.Errorf("read the check of the key for secrets: %w", err)
	case k == nil && unused:
		k, err = createKeys(s.keyFile)
	case k == nil:
		k, err = openKeys(s.keyFile)
	default:
		err = nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.keys = k
	s.mu.Unlock()
	if !unused {
		_, _, err := k.open(sealed)
		return err
	}
	switch err := s.put(ctx, checkID, stored{}, s.store.CreateSecret); {
	case errors.Is(err, approvals.ErrConflict): // another replica was faster
		return s.prepareKeys(ctx)
	case err != nil:
		return fmt.Errorf("store the check of the key for secrets: %w", err)
	}
	return nil
}

// put encrypts and writes a record, and applies it here at once.
func (s *Secrets) put(ctx context.Context, id string, one stored, write func(context.Context, string, []byte) (uint64, error)) error {
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	s.mu.RLock()
	k := s.keys
	s.mu.RUnlock()
	sealed, err := k.seal(text)
	if err != nil {
		return err
	}
	if one.revision, err = write(ctx, id, sealed); err != nil {
		return err
	}
	one.old = false
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id].revision < one.revision {
		s.byID[id] = one
		clear(s.maskers)
	}
	return nil
}

// Delete deletes a secret and returns it: calls cannot use it, and its value is no longer masked. It
// fails with [approvals.ErrUnknownSecret].
func (s *Secrets) Delete(ctx context.Context, one approvals.Secret, reviewer string) (approvals.Secret, error) {
	id := idOf(one)
	s.mu.RLock()
	known, exists := s.byID[id]
	s.mu.RUnlock()
	if !exists {
		return one, fmt.Errorf("secret %s: %w", one.Name, approvals.ErrUnknownSecret)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.store.DeleteSecret(ctx, id); err != nil {
		return one, fmt.Errorf("delete the secret %s: %w", one.Name, err)
	}
	s.remove(id)
	s.log.Info("secret deleted", "name", one.Name, "principal", one.Principal, "session", one.SessionID, "by", reviewer)
	return known.Secret, nil
}

// sweepEvery is the time between two looks for secrets that have ended long ago.
const sweepEvery = time.Hour

// sweep encrypts records again whose key is not the first of the key file, then removes
// secrets that have ended long ago, from time to time.
func (s *Secrets) sweep(ctx context.Context) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return
	}
	s.each(ctx, func(one stored) bool { return one.old }, func(ctx context.Context, id string, one stored) error {
		return s.put(ctx, id, one, s.store.PutSecret)
	})
	for tick := time.NewTicker(sweepEvery); ; {
		s.each(ctx, func(one stored) bool {
			return !one.ExpiresAt.IsZero() && s.now().After(one.ExpiresAt.Add(keptAfter))
		}, func(ctx context.Context, id string, _ stored) error {
			err := s.store.DeleteSecret(ctx, id)
			if err == nil {
				s.remove(id)
			}
			return err
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}

// each changes the records for which chosen is true.
func (s *Secrets) each(ctx context.Context, chosen func(stored) bool, change func(context.Context, string, stored) error) {
	s.mu.RLock()
	found := map[string]stored{}
	for id, one := range s.byID {
		if chosen(one) {
			found[id] = one
		}
	}
	s.mu.RUnlock()
	for id, one := range found {
		s.writing.Lock()
		err := change(ctx, id, one)
		s.writing.Unlock()
		if err != nil && ctx.Err() == nil {
			s.log.Error("failed to encrypt a secret again, or to remove one that has ended", "name", one.Name, "error", err)
		}
	}
}
