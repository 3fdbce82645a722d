package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
)

// tokenSink is a program in the place of a console. It records the tokens that it gets.
type tokenSink struct {
	*httptest.Server
	mu   sync.Mutex
	sent []string
}

func newTokenSink(t *testing.T) *tokenSink {
	c := &tokenSink{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sent = append(c.sent, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *tokenSink) got() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.sent, ",")
}

// runAt starts a run that commands find, with a console and the hashes of the tokens that it knows.
func runAt(t *testing.T, folder, console string, hashes ...string) {
	t.Helper()
	claim, err := discovery.Take(discovery.FolderOf(discovery.Folder(os.LookupEnv), folder))
	if err != nil || claim == nil {
		t.Fatal(claim, err)
	}
	s, err := claim.Serve(discovery.Options{About: discovery.About{Console: console, Inbox: console + "/", Agents: []string{"codex " + folder}}, Tokens: hashes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); claim.Release() })
}

// A token is sent only to the run that proves that it knows the token.
func TestTokenGoesToItsRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	token, hash := reviewers.NewToken()
	_, other := reviewers.NewToken()
	mine, impostor := newTokenSink(t), newTokenSink(t)
	runAt(t, "/a-impostor", impostor.URL, other)
	dial := func() error {
		c, err := connection{Token: token}.dial(t.Context(), &streams{})
		if err == nil {
			_, err = c.Me(t.Context())
		}
		return err
	}
	if err := dial(); !errors.Is(err, errUnproved) || !strings.Contains(err.Error(), impostor.URL+" (codex /a-impostor)") {
		t.Errorf("with the impostor alone: %v", err)
	}
	runAt(t, "/b-mine", mine.URL, other, hash)
	if err := dial(); err != nil {
		t.Error(err)
	}
	if impostor.got() != "" || mine.got() != "Bearer "+token {
		t.Errorf("the impostor got %q, the run %q", impostor.got(), mine.got())
	}
	if _, err := (connection{}).dial(t.Context(), &streams{}); !errors.As(err, new(*usageError)) || !strings.Contains(err.Error(), "several heldcalls run") {
		t.Errorf("without a token: %v", err)
	}
	if _, err := (connection{}).inbox(t.Context()); !errors.As(err, new(*usageError)) {
		t.Errorf("the inbox of several: %v", err)
	}
	c, err := connection{Console: impostor.URL, Token: "named"}.dial(t.Context(), &streams{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _ = c.Me(t.Context()); impostor.got() != "Bearer named" {
		t.Errorf("a console that is named got %q", impostor.got())
	}
}

func TestInbox(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, tt := range []struct {
		flags connection
		run   bool
		want  string
	}{
		{connection{}, false, "http://127.0.0.1:4142"},
		{connection{Console: "https://inbox.example"}, false, "https://inbox.example"},
		{connection{}, true, "http://127.0.0.1:5555/"},
		{connection{Console: "https://inbox.example"}, true, "https://inbox.example"},
	} {
		if tt.run && len(listRuns(t.Context())) == 0 {
			runAt(t, "/a", "http://127.0.0.1:5555")
		}
		if got, err := tt.flags.inbox(t.Context()); got != tt.want || err != nil {
			t.Errorf("%+v: %q %v, want %q", tt.flags, got, err, tt.want)
		}
	}
}
