package secrets_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/approvals/store"
)

const value = "ghp_R4nd0mSecret-Value/42"

var alice = approvals.Principal{Tenant: "default", User: "alice"}

func openStore(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// run starts Secrets on a store.
func run(t *testing.T, o secrets.Options) *secrets.Secrets {
	t.Helper()
	s, err := secrets.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-s.Ready()
	return s
}

func set(t *testing.T, s *secrets.Secrets, one approvals.Secret, value string) {
	t.Helper()
	if _, err := s.Set(t.Context(), one, value); err != nil {
		t.Fatal(err)
	}
}

// wantValue compares what a call of alice may use.
func wantValue(t *testing.T, s *secrets.Secrets, session, name, want string) {
	t.Helper()
	if got, ok := s.Value(alice, session, name); got != want || ok != (want != "") {
		t.Errorf("the value of %s in session %q is %q, %v, want %q", name, session, got, ok, want)
	}
}

func TestSecretsOfPrincipalsAndSessions(t *testing.T) {
	s := run(t, secrets.Options{Store: openStore(t, t.TempDir()).Secrets, KeyFile: filepath.Join(t.TempDir(), "keys", "secrets.key")})
	if m, err := s.Masker(alice); m != nil || err != nil {
		t.Errorf("without secrets there is a masker %v, %v", m, err)
	}
	set(t, s, approvals.Secret{Name: "TOKEN", Principal: alice}, value)
	set(t, s, approvals.Secret{Name: "TOKEN", Principal: alice, SessionID: "one"}, "of-session-One-1!")
	wantValue(t, s, "one", "TOKEN", "of-session-One-1!")
	wantValue(t, s, "two", "TOKEN", value)
	wantValue(t, s, "two", "OTHER", "")
	if _, ok := s.Value(approvals.Principal{Tenant: "default", User: "bob"}, "one", "TOKEN"); ok {
		t.Error("another principal has the secret")
	}
	m, err := s.Masker(alice)
	if got := m.Text("a " + value + " b of-session-One-1!"); err != nil || got != "a secret://TOKEN b secret://TOKEN" {
		t.Errorf("masked: %q, %v", got, err)
	}
	if m, err := s.Masker(approvals.Principal{Tenant: "default", User: "bob"}); m != nil || err != nil {
		t.Errorf("the secrets of another principal are masked: %v, %v", m, err)
	}
	list := s.List()
	if len(list) != 2 || list[0].Name != "TOKEN" || list[0].ExpiresAt.IsZero() {
		t.Errorf("the list is %+v", list)
	}
	if _, err := s.Delete(t.Context(), approvals.Secret{Name: "TOKEN", Principal: alice}, "rita"); err != nil {
		t.Error(err)
	}
	wantValue(t, s, "two", "TOKEN", "")
	if _, err := s.Delete(t.Context(), approvals.Secret{Name: "TOKEN", Principal: alice}, "rita"); !errors.Is(err, approvals.ErrUnknownSecret) {
		t.Errorf("deleted twice: %v", err)
	}
	set(t, s, approvals.Secret{Name: "TOKEN", Principal: alice}, "again-A-Value-77")
	wantValue(t, s, "two", "TOKEN", "again-A-Value-77")
}

func TestRefusedSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets.key")
	s := run(t, secrets.Options{Store: openStore(t, t.TempDir()).Secrets, KeyFile: file})
	for field, one := range map[string]approvals.Secret{
		"name":       {Name: "a-b", Principal: alice},
		"principal":  {Name: "TOKEN"},
		"expires_at": {Name: "TOKEN", Principal: alice, ExpiresAt: time.Now().Add(-time.Hour)},
	} {
		_, err := s.Set(t.Context(), one, value)
		if invalid := (*approvals.InvalidError)(nil); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a key file before the first secret: %v", err)
	}
}

func TestAtRest(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "secrets.key")
	first := openStore(t, dir)
	set(t, run(t, secrets.Options{Store: first.Secrets, KeyFile: file}), approvals.Secret{Name: "TOKEN", Principal: alice}, value)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file is %v, %v", info, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{value, "TOKEN", "alice"} {
		if found := filesWith(t, dir, text); found != "" {
			t.Errorf("%s has %q", found, text)
		}
	}
	again := run(t, secrets.Options{Store: openStore(t, dir).Secrets, KeyFile: file})
	wantValue(t, again, "", "TOKEN", value)
}

// filesWith returns a file in a folder that has a text.
func filesWith(t *testing.T, dir, text string) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if bytes.Contains(content, []byte(text)) {
			found = name
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestReplicasNeedTheSameKey(t *testing.T) {
	shared, dir := openStore(t, t.TempDir()), t.TempDir()
	late := run(t, secrets.Options{Store: shared.Secrets, KeyFile: filepath.Join(dir, "late.key")})
	set(t, run(t, secrets.Options{Store: shared.Secrets, KeyFile: filepath.Join(dir, "a.key")}), approvals.Secret{Name: "TOKEN", Principal: alice}, value)
	other := run(t, secrets.Options{Store: shared.Secrets, KeyFile: filepath.Join(dir, "b.key")})
	if err := other.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "secrets.key_file") {
		t.Errorf("a replica without the key: %v", err)
	}
	if _, err := other.Masker(alice); err == nil {
		t.Error("a replica that cannot decrypt masks nothing and does not fail")
	}
	if _, err := other.Set(t.Context(), approvals.Secret{Name: "OTHER", Principal: alice}, value); err == nil || !strings.Contains(err.Error(), "secrets.key_file") {
		t.Errorf("it stores a secret: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it made a key: %v", err)
	}
	for deadline := time.Now().Add(time.Minute); late.Check(t.Context()) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a replica that ran before the first secret does not notice that it has no key")
		}
	}
	same := run(t, secrets.Options{Store: shared.Secrets, KeyFile: filepath.Join(dir, "a.key")})
	wantValue(t, same, "", "TOKEN", value)
}

func TestRotation(t *testing.T) {
	shared, file := openStore(t, t.TempDir()), filepath.Join(t.TempDir(), "secrets.key")
	set(t, run(t, secrets.Options{Store: shared.Secrets, KeyFile: file}), approvals.Secret{Name: "TOKEN", Principal: alice}, value)
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(fresh.String() + "\n" + string(old))
	wantValue(t, run(t, secrets.Options{Store: shared.Secrets, KeyFile: file}), "", "TOKEN", value)
	write(fresh.String() + "\n")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the records are encrypted again
		s := run(t, secrets.Options{Store: shared.Secrets, KeyFile: file})
		if s.Check(t.Context()) == nil {
			wantValue(t, s, "", "TOKEN", value)
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the records need the old key")
		}
	}
}

func TestExpiry(t *testing.T) {
	now := time.Now()
	s := run(t, secrets.Options{Store: openStore(t, t.TempDir()).Secrets, KeyFile: filepath.Join(t.TempDir(), "k"), Now: func() time.Time { return now }})
	set(t, s, approvals.Secret{Name: "TOKEN", Principal: alice, ExpiresAt: now.Add(time.Hour)}, value)
	now = now.Add(2 * time.Hour)
	wantValue(t, s, "", "TOKEN", "")
	if m, err := s.Masker(alice); err != nil || m.Text(value) != "secret://TOKEN" {
		t.Errorf("a secret that has ended is not masked (%v)", err)
	}
}

// The value that another one has replaced cannot be used, and is still masked.
func TestReplacedValuesAreMasked(t *testing.T) {
	s := run(t, secrets.Options{Store: openStore(t, t.TempDir()).Secrets, KeyFile: filepath.Join(t.TempDir(), "secrets.key")})
	values := []string{"first-Q7z-91", "second-Kw0-82", "third-Lp3-73"}
	for _, one := range append(values, values[1]) {
		set(t, s, approvals.Secret{Name: "TOKEN", Principal: alice}, one)
	}
	wantValue(t, s, "", "TOKEN", values[1])
	m, err := s.Masker(alice)
	if got := m.Text(strings.Join(values, " ")); err != nil || got != "secret://TOKEN secret://TOKEN secret://TOKEN" {
		t.Errorf("masked: %q, %v", got, err)
	}
}

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
	shared, keyFile := openStore(t, t.TempDir()).Secrets, filepath.Join(t.TempDir(), "secrets.key")
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
	late := &lateMarkers{openStore(t, t.TempDir()).Secrets, make(chan struct{}), make(chan struct{}), make(chan struct{})}
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
	shared, keyFile := openStore(t, t.TempDir()).Secrets, filepath.Join(t.TempDir(), "secrets.key")
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

// Replicas that make a shared key file at the same moment use the same key.
func TestKeyFileIsMadeOnce(t *testing.T) {
	shared, keyFile := openStore(t, t.TempDir()).Secrets, filepath.Join(t.TempDir(), "keys", "secrets.key")
	var replicas []*secrets.Secrets
	for range 8 {
		replicas = append(replicas, run(t, secrets.Options{Store: shared, KeyFile: keyFile}))
	}
	var all sync.WaitGroup
	for i, s := range replicas {
		all.Go(func() {
			if _, err := s.Set(t.Context(), approvals.Secret{Name: fmt.Sprint("TOKEN_", i), Principal: alice}, value); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if files, err := os.ReadDir(filepath.Dir(keyFile)); err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v", files, err)
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
	store := &stalled{openStore(t, t.TempDir()).Secrets, make(chan struct{}, 10), make(chan struct{})}
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
