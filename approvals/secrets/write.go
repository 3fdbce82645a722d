package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

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

// Set stores a value for a principal, or for a session of it. It replaces a value of the
// same name. Without an end, the secret ends after 90 days, or 30 days for one session. It
// fails with [*approvals.InvalidError] if the secret or its value is refused.
func (s *Secrets) Set(ctx context.Context, one approvals.Secret, value string) (approvals.Secret, error) {
	one, err := s.check(one, value)
	if err == nil {
		_, err = s.write(ctx, stored{Secret: one, Value: value})
	}
	return one, err
}

// check completes a secret that is to be stored. It refuses some, as Set does.
func (s *Secrets) check(one approvals.Secret, value string) (approvals.Secret, error) {
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
		return one, approvals.Invalid("principal", "has no tenant; that of agents without a configured one is default; * is all")
	case !now.Before(one.ExpiresAt):
		return one, approvals.Invalid("expires_at", "is in the past")
	}
	return one, CheckValue("value", value)
}

// maxFormer bounds the values of a secret that are still masked after others have replaced
// them.
const maxFormer = 20

// begin waits until no other write is in progress. The caller releases writing after its own.
func begin(ctx context.Context, writing *semaphore.Weighted) error {
	if err := writing.Acquire(ctx, 1); err != nil {
		return approvals.Unavailable("wait for another write of secrets", err)
	}
	return nil
}

// write stores a secret in place of another one with its id. The values that it replaces stay
// masked. Replicas may write at the same moment.
func (s *Secrets) write(ctx context.Context, one stored) (written stored, err error) {
	if err := begin(ctx, s.writing); err != nil {
		return one, err
	}
	defer s.writing.Release(1)
	if err := s.prepareKeys(ctx); err != nil {
		return one, err
	}
	for attempt := 0; ; attempt++ {
		before, known, err := s.read(ctx, idOf(one.Secret))
		if err != nil {
			return one, err
		}
		one.Former, one.Before = nil, nil
		if known {
			one.replaces(append([]string{before.Value}, before.Former...)...)
		}
		switch {
		case one.Request == "" || !known:
		case before.Request == one.Request:
			one.Before = before.Before
		default:
			one.Before = &stored{Secret: before.Secret, Value: before.Value}
		}
		written, err = s.put(ctx, idOf(one.Secret), one, s.over(before.revision))
		if errors.Is(err, approvals.ErrConflict) {
			err = approvals.Pause(ctx, attempt)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return one, fmt.Errorf("store the secret %s: %w", one.Name, err)
		}
		if one.Request != "" { // it is not known whether it stays
			return written, nil
		}
		s.log.Info("secret stored", "name", one.Name, "principal", one.Principal, "session", one.SessionID, "by", one.CreatedBy, "until", one.ExpiresAt)
		return written, nil
	}
}

// over writes a record in place of the one at a revision, 0: of none.
func (s *Secrets) over(revision uint64) func(context.Context, string, []byte) (uint64, error) {
	if revision == 0 {
		return s.store.CreateSecret
	}
	return func(ctx context.Context, id string, sealed []byte) (uint64, error) {
		return s.store.UpdateSecret(ctx, id, sealed, revision)
	}
}

// replaces adds former values, the last first.
func (one *stored) replaces(values ...string) {
	for _, value := range values {
		if value != one.Value && !slices.Contains(one.Former, value) && len(one.Former) < maxFormer {
			one.Former = append(one.Former, value)
		}
	}
}

// read reads a record from the store.
func (s *Secrets) read(ctx context.Context, id string) (one stored, known bool, err error) {
	sealed, revision, err := s.store.GetSecret(ctx, id)
	switch {
	case errors.Is(err, approvals.ErrUnknownSecret):
		return one, false, nil
	case err != nil:
		return one, false, fmt.Errorf("read the secret that is replaced: %w", err)
	}
	s.mu.RLock()
	one, err = s.decode(id, sealed)
	s.mu.RUnlock()
	one.revision = revision
	return one, err == nil, err
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
	switch _, err := s.put(ctx, checkID, stored{}, s.store.CreateSecret); {
	case errors.Is(err, approvals.ErrConflict): // another replica was faster
		return s.prepareKeys(ctx)
	case err != nil:
		return fmt.Errorf("store the check of the key for secrets: %w", err)
	}
	return nil
}

// put encrypts and writes a record, and applies it here at once.
func (s *Secrets) put(ctx context.Context, id string, one stored, write func(context.Context, string, []byte) (uint64, error)) (written stored, err error) {
	text, err := json.Marshal(one)
	if err != nil {
		return one, err
	}
	s.mu.RLock()
	k := s.keys
	s.mu.RUnlock()
	sealed, err := k.seal(text)
	if err != nil {
		return one, err
	}
	if one.revision, err = write(ctx, id, sealed); err != nil {
		return one, err
	}
	one.old = false
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id].revision < one.revision {
		s.byID[id] = one
		clear(s.maskers)
	}
	return one, nil
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
	if err := begin(ctx, s.writing); err != nil {
		return one, err
	}
	defer s.writing.Release(1)
	if err := s.store.DeleteSecret(ctx, id, 0); err != nil {
		return one, fmt.Errorf("delete the secret %s: %w", one.Name, err)
	}
	s.remove(id, known.revision)
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
		_, err := s.put(ctx, id, one, s.over(one.revision))
		if errors.Is(err, approvals.ErrConflict) {
			return nil // it was replaced
		}
		return err
	})
	for tick := time.NewTicker(sweepEvery); ; {
		if err := s.store.EraseSecrets(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("failed to erase older records of secrets; trying again in an hour", "error", err)
		}
		s.each(ctx, func(one stored) bool {
			return !one.ExpiresAt.IsZero() && s.now().After(one.ExpiresAt.Add(keptAfter))
		}, func(ctx context.Context, id string, one stored) error {
			err := s.store.DeleteSecret(ctx, id, one.revision)
			switch {
			case err == nil:
				s.remove(id, one.revision)
			case errors.Is(err, approvals.ErrConflict):
				return nil // it was stored again
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
		if begin(ctx, s.writing) != nil {
			return // the context has ended
		}
		err := change(ctx, id, one)
		s.writing.Release(1)
		if err != nil && ctx.Err() == nil {
			s.log.Error("failed to encrypt a secret again, or to remove one that has ended", "name", one.Name, "error", err)
		}
	}
}
