package secrets_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/internal/testing/memstore"
)

// slowReader lets another replica write after a record is read for the first time.
type slowReader struct {
	secrets.Store
	read func()
}

func (s *slowReader) GetSecret(ctx context.Context, id string) ([]byte, uint64, error) {
	sealed, revision, err := s.Store.GetSecret(ctx, id)
	if read := s.read; read != nil {
		s.read = nil
		read()
	}
	return sealed, revision, err
}

func TestSecretThatAnotherReplicaStores(t *testing.T) {
	shared, keyFile := memstore.New(memstore.Options{}).Secrets, filepath.Join(t.TempDir(), "secrets.key")
	other := run(t, secrets.Options{Store: shared, KeyFile: keyFile})
	set(t, other, approvals.Secret{Name: "USED", Principal: alice}, value) // makes the key
	slow := &slowReader{Store: shared}
	s := run(t, secrets.Options{Store: slow, KeyFile: keyFile})

	token := approvals.Secret{Name: "TOKEN", Principal: alice}
	slow.read = func() { set(t, other, token, "of-the-Other-Replica-1!") }
	set(t, s, token, "of-this-Replica-2!")
	wantValue(t, s, "", "TOKEN", "of-this-Replica-2!")
	m, err := s.Masker(alice)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"of-the-Other-Replica-1!", "of-this-Replica-2!"} {
		if text := m.Text(value); strings.Contains(text, value) {
			t.Errorf("the value %s is not masked", value)
		}
	}
}

// lateMarkers reports deleted records when the test lets it, and nothing after the first.
type lateMarkers struct {
	secrets.Store
	came, report, reported chan struct{}
}

func (l *lateMarkers) WatchSecrets(ctx context.Context, changed func(string, []byte, uint64), gone func(string, uint64), loaded func()) error {
	return l.Store.WatchSecrets(ctx, changed, func(id string, revision uint64) {
		close(l.came)
		<-l.report
		gone(id, revision)
		close(l.reported)
		<-ctx.Done()
	}, loaded)
}

// A secret that is stored again stays known when the watch reports that the one before it was deleted.
func TestPromise8_SecretsStay_StoredAgainAfterItWasDeleted(t *testing.T) {
	late := &lateMarkers{memstore.New(memstore.Options{}).Secrets, make(chan struct{}), make(chan struct{}), make(chan struct{})}
	s := run(t, secrets.Options{Store: late, KeyFile: filepath.Join(t.TempDir(), "secrets.key")})
	token := approvals.Secret{Name: "TOKEN", Principal: alice}
	set(t, s, token, "the-First-Value-1!")
	if _, err := s.Delete(t.Context(), token, "rita"); err != nil {
		t.Fatal(err)
	}
	<-late.came
	set(t, s, token, value)
	close(late.report)
	<-late.reported
	wantValue(t, s, "", "TOKEN", value)
	if m, err := s.Masker(alice); err != nil || m.Text(value) != "secret://TOKEN" {
		t.Errorf("the value is not masked (%v)", err)
	}
}

// replacing lets another replica store the secrets that are left when the first one is deleted.
type replacing struct {
	secrets.Store
	replace func(deleted string)
	deletes chan struct{}
}

func (r *replacing) DeleteSecret(ctx context.Context, id string, at uint64) error {
	if replace := r.replace; replace != nil {
		r.replace = nil
		replace(id)
	}
	defer func() { r.deletes <- struct{}{} }()
	return r.Store.DeleteSecret(ctx, id, at)
}

// A replica that removes secrets that have ended keeps one that another replica has just stored again.
func TestPromise8_SecretsStay_StoredAgainWhileItIsSwept(t *testing.T) {
	shared, keyFile := memstore.New(memstore.Options{}).Secrets, filepath.Join(t.TempDir(), "secrets.key")
	now, later := time.Now(), time.Now().Add(60*24*time.Hour)
	other := run(t, secrets.Options{Store: shared, KeyFile: keyFile, Now: func() time.Time { return now }})
	names := []string{"ONE", "TWO"}
	for _, name := range names {
		set(t, other, approvals.Secret{Name: name, Principal: alice, ExpiresAt: now.Add(time.Hour)}, value+name)
	}
	store := &replacing{Store: shared, deletes: make(chan struct{}, len(names))}
	store.replace = func(string) {
		for _, name := range names {
			set(t, other, approvals.Secret{Name: name, Principal: alice, ExpiresAt: later.Add(time.Hour)}, "again-"+value+name)
		}
	}
	run(t, secrets.Options{Store: store, KeyFile: keyFile, Now: func() time.Time { return later }})
	for range names {
		<-store.deletes
	}
	for _, name := range names {
		wantValue(t, run(t, secrets.Options{Store: shared, KeyFile: keyFile}), "", name, "again-"+value+name)
	}
}

// stalled is a store that does not take a second secret before it is released.
type stalled struct {
	secrets.Store
	asked, release chan struct{}
}

func (s *stalled) CreateSecret(ctx context.Context, id string, sealed []byte) (uint64, error) {
	s.asked <- struct{}{}
	<-s.release
	return s.Store.CreateSecret(ctx, id, sealed)
}

// A write does not wait for another one that the store does not take, after its caller has given up.
func TestPromise7_NothingHangs_SecretBehindAnother(t *testing.T) {
	store := &stalled{memstore.New(memstore.Options{}).Secrets, make(chan struct{}, 10), make(chan struct{})}
	s := run(t, secrets.Options{Store: store, KeyFile: filepath.Join(t.TempDir(), "secrets.key")})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Set(t.Context(), approvals.Secret{Name: "ONE", Principal: alice}, value)
		first <- err
	}()
	<-store.asked
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	go func() {
		_, err := s.Set(short, approvals.Secret{Name: "TWO", Principal: alice}, value)
		second <- err
	}()
	select {
	case err := <-second:
		if !errors.Is(err, approvals.ErrStoreUnavailable) {
			t.Errorf("the second secret: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the second secret waits for the first one")
	}
	close(store.release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
