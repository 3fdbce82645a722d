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
	"github.com/heldcall/heldcall/internal/testing/memstore"
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
	s := run(t, secrets.Options{Store: memstore.New(memstore.Options{}).Secrets, KeyFile: filepath.Join(t.TempDir(), "keys", "secrets.key")})
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
	s := run(t, secrets.Options{Store: memstore.New(memstore.Options{}).Secrets, KeyFile: file})
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
	shared, dir := memstore.New(memstore.Options{}), t.TempDir()
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
	shared, file := memstore.New(memstore.Options{}), filepath.Join(t.TempDir(), "secrets.key")
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
	s := run(t, secrets.Options{Store: memstore.New(memstore.Options{}).Secrets, KeyFile: filepath.Join(t.TempDir(), "k"), Now: func() time.Time { return now }})
	set(t, s, approvals.Secret{Name: "TOKEN", Principal: alice, ExpiresAt: now.Add(time.Hour)}, value)
	now = now.Add(2 * time.Hour)
	wantValue(t, s, "", "TOKEN", "")
	if m, err := s.Masker(alice); err != nil || m.Text(value) != "secret://TOKEN" {
		t.Errorf("a secret that has ended is not masked (%v)", err)
	}
}

// The value that another one has replaced cannot be used, and is still masked.
func TestReplacedValuesAreMasked(t *testing.T) {
	s := run(t, secrets.Options{Store: memstore.New(memstore.Options{}).Secrets, KeyFile: filepath.Join(t.TempDir(), "secrets.key")})
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

// Replicas that make a shared key file at the same moment use the same key.
func TestKeyFileIsMadeOnce(t *testing.T) {
	shared, keyFile := memstore.New(memstore.Options{}).Secrets, filepath.Join(t.TempDir(), "keys", "secrets.key")
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

// A key file that others can use is refused, with the file, its mode and what to do.
func TestKeyFileOfOthers(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "secrets.key")
	s := run(t, secrets.Options{Store: memstore.New(memstore.Options{}).Secrets, KeyFile: keyFile})
	set(t, s, approvals.Secret{Name: "TOKEN", Principal: alice}, value)
	if err := os.Chmod(keyFile, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := secrets.New(secrets.Options{Store: memstore.New(memstore.Options{}).Secrets, KeyFile: keyFile})
	for _, part := range []string{keyFile, "0644", "chmod 600"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
}

// A part of a principal that is * matches all names: the value is masked for all whom it is for, and for no others.
func TestSecretOfEverybody(t *testing.T) {
	s := run(t, secrets.Options{Store: memstore.New(memstore.Options{}).Secrets, KeyFile: filepath.Join(t.TempDir(), "secrets.key")})
	set(t, s, approvals.Secret{Name: "TOKEN", Principal: approvals.Principal{Tenant: "globex", User: "*", Agent: "*"}}, value)
	for who, has := range map[approvals.Principal]bool{
		{Tenant: "globex"}:                              true,
		{Tenant: "globex", User: "bob"}:                 true,
		{Tenant: "globex", User: "bob", Agent: "coder"}: true,
		{Tenant: "globex", Agent: "coder"}:              true,
		{Tenant: "other", User: "bob"}:                  false,
		{Tenant: "default"}:                             false,
	} {
		m, err := s.Masker(who)
		if err != nil || (m != nil) != has {
			t.Errorf("%v is masked: %t, %v", who, m != nil, err)
		}
		if got, ok := s.Value(who, "s", "TOKEN"); ok != has || (has && got != value) {
			t.Errorf("%v gets %q", who, got)
		}
	}
	own := "gho_0f-Bob-alone-7!"
	set(t, s, approvals.Secret{Name: "TOKEN", Principal: approvals.Principal{Tenant: "globex", User: "bob", Agent: "*"}}, own)
	if got, _ := s.Value(approvals.Principal{Tenant: "globex", User: "bob", Agent: "coder"}, "", "TOKEN"); got != own {
		t.Errorf("the narrower one does not count: %q", got)
	}
	m, err := s.Masker(approvals.Principal{Tenant: "globex", User: "bob", Agent: "coder"})
	if err != nil {
		t.Fatal(err)
	}
	if masked := string(m.JSON([]byte(`{"a":"` + own + " " + value + `"}`))); strings.Contains(masked, own) || strings.Contains(masked, value) {
		t.Errorf("one of both is not masked: %s", masked)
	}
}
