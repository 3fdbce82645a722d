package passkeys

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/internal/testing/authenticator"
)

// records is a store in memory, which several replicas share.
type records struct {
	mu       sync.Mutex
	key      []byte
	of       map[string][]byte
	revision map[string]uint64
	before   func() // a write; nil: nothing
}

func (s *records) ChallengeKey(_ context.Context, fresh []byte) ([]byte, error) {
	if s.key == nil {
		s.key, s.of, s.revision = fresh, map[string][]byte{}, map[string]uint64{}
	}
	return s.key, nil
}

func (s *records) ReadPasskeys(_ context.Context, reviewer string) (all reviewers.Passkeys, revision uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all.Reviewer = reviewer
	if s.revision[reviewer] > 0 {
		err = json.Unmarshal(s.of[reviewer], &all)
	}
	return all, s.revision[reviewer], err
}

func (s *records) WritePasskeys(_ context.Context, all reviewers.Passkeys, revision uint64) error {
	if do := s.before; do != nil {
		s.before = nil
		do()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision[all.Reviewer] != revision {
		return approvals.ErrConflict
	}
	value, err := json.Marshal(all)
	s.of[all.Reviewer] = value
	s.revision[all.Reviewer]++
	return err
}

// replica is heldcall with a clock that a test sets.
type replica struct {
	*Passkeys
	t     *testing.T
	clock time.Time
	log   []approvals.Event
}

func newReplica(t *testing.T, s *records, url string) *replica {
	t.Helper()
	r := &replica{t: t, clock: time.Now()}
	var err error
	r.Passkeys, err = Open(t.Context(), Options{
		Store: s, URL: url, Now: func() time.Time { return r.clock },
		Record: func(_ context.Context, events ...approvals.Event) error { r.log = append(r.log, events...); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const inbox = "https://inbox.example"

func newBrowser(t *testing.T) *authenticator.Authenticator {
	t.Helper()
	a, err := authenticator.New(inbox, "inbox.example")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func asked(t *testing.T, options BrowserOptions) []byte {
	t.Helper()
	text, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// created is a passkey that a browser creates for a reviewer.
func (r *replica) created(a *authenticator.Authenticator, name string) Registration {
	r.t.Helper()
	options, err := r.Creation(r.t.Context(), "ann", name)
	if err != nil {
		r.t.Fatal(err)
	}
	credential, err := a.Create(asked(r.t, options))
	if err != nil {
		r.t.Fatal(err)
	}
	return Registration{Name: name, Credential: credential}
}

func (r *replica) register(a *authenticator.Authenticator, name string) error {
	_, err := r.Register(r.t.Context(), "ann", "rest", r.created(a, name))
	return err
}

// confirmed is an approval with an assertion for it.
func (r *replica) confirmed(a *authenticator.Authenticator, q *approvals.Request) approvals.Decision {
	r.t.Helper()
	d := approvals.Decision{RequestID: q.ID, Action: approvals.ActionApprove, ReviewerID: "ann"}
	options, err := r.ChallengeToApprove(r.t.Context(), q, &d)
	if err != nil {
		r.t.Fatal(err)
	}
	if d.Assertion, err = a.Get(asked(r.t, options)); err != nil {
		r.t.Fatal(err)
	}
	return d
}

func wantRefusal(t *testing.T, err error, words string) {
	t.Helper()
	var invalid *approvals.InvalidError
	if !errors.As(err, &invalid) || !strings.Contains(err.Error(), words) {
		t.Errorf("the error is %v, want a refusal with %q", err, words)
	}
}

func protected(arguments string) *approvals.Request {
	q := &approvals.Request{ID: "01R", Arguments: json.RawMessage(arguments)}
	q.Details.Passkey = true
	return q
}

func TestChallengesExpire(t *testing.T) {
	r, a := newReplica(t, &records{}, inbox), newBrowser(t)
	late := r.created(a, "laptop")
	r.clock = r.clock.Add(AnswerWithin)
	_, err := r.Register(t.Context(), "ann", "rest", late)
	wantRefusal(t, err, "more than 2m0s after")
	if err := r.register(a, "laptop"); err != nil {
		t.Fatal(err)
	}
	q := protected(`{}`)
	d := r.confirmed(a, q)
	r.clock = r.clock.Add(AnswerWithin)
	_, err = r.Prove(t.Context(), q, &d)
	wantRefusal(t, err, "more than 2m0s after")
	d = r.confirmed(a, q)
	r.clock = r.clock.Add(AnswerWithin - time.Second)
	if id, err := r.Prove(t.Context(), q, &d); err != nil || id != a.ID() {
		t.Errorf("an answer in time: %q, %v", id, err)
	}
}

// Reviewers confirm the arguments that they were shown.
func TestChallengesAreForArguments(t *testing.T) {
	r, a := newReplica(t, &records{}, inbox), newBrowser(t)
	if err := r.register(a, "laptop"); err != nil {
		t.Fatal(err)
	}
	d := r.confirmed(a, protected(`{"path":"a"}`))
	_, err := r.Prove(t.Context(), protected(`{"path":"b"}`), &d)
	wantRefusal(t, err, "something else")
}

// Replicas that get the same assertion at the same moment take it once.
func TestReplicasTakeAnAssertionOnce(t *testing.T) {
	s := &records{}
	one, other, a := newReplica(t, s, inbox), newReplica(t, s, inbox), newBrowser(t)
	if err := one.register(a, "laptop"); err != nil {
		t.Fatal(err)
	}
	q := protected(`{}`)
	d := one.confirmed(a, q)
	var first error
	s.before = func() { _, first = other.Prove(t.Context(), q, &d) }
	_, err := one.Prove(t.Context(), q, &d)
	if first != nil {
		t.Errorf("the faster replica: %v", first)
	}
	wantRefusal(t, err, "used for this already")
}

// Two first passkeys at the same moment: the slower one has to be confirmed.
func TestOnlyOnePasskeyIsTheFirst(t *testing.T) {
	s := &records{}
	r, a, other := newReplica(t, s, inbox), newBrowser(t), newBrowser(t)
	s.before = func() {
		if err := r.register(other, "faster"); err != nil {
			t.Error(err)
		}
	}
	wantRefusal(t, r.register(a, "slower"), "registered just now")
	all, err := r.List(t.Context(), "ann")
	if err != nil || len(all.Items) != 1 || all.Items[0].Name != "faster" || len(r.log) != 1 {
		t.Errorf("the passkeys are %+v, %v; %d events", all, err, len(r.log))
	}
}

func TestNamesOfPasskeys(t *testing.T) {
	r := newReplica(t, &records{}, inbox)
	for _, name := range []string{"", "  ", strings.Repeat("x", 65), "a\nb", "a\u202eb"} {
		_, err := r.Creation(t.Context(), "ann", name)
		wantRefusal(t, err, "1 to 64 printable characters")
	}
}

// TestOrigins: where browsers have passkeys.
func TestOrigins(t *testing.T) {
	for _, tt := range []struct{ url, listen, origin, refusal string }{
		{"", "127.0.0.1:4142", "http://localhost:4142", ""},
		{"", "0.0.0.0:80", "http://localhost", ""},
		{"", "", "", "has not started"},
		{"https://Inbox.example:443/path", "127.0.0.1:4142", "https://inbox.example", ""},
		{"http://localhost:8080", "127.0.0.1:4142", "http://localhost:8080", ""},
		{"http://inbox.example", "127.0.0.1:4142", "http://inbox.example", "over HTTPS only"},
		{"https://10.0.0.1", "127.0.0.1:4142", "https://10.0.0.1", "for addresses such as 10.0.0.1"},
	} {
		r := newReplica(t, &records{}, tt.url)
		r.Listen(tt.listen)
		origin, refusal := r.Origin()
		if origin != tt.origin || (refusal != nil) != (tt.refusal != "") || (refusal != nil && !strings.Contains(refusal.Error(), tt.refusal)) {
			t.Errorf("%+v: %s, %v", tt, origin, refusal)
		}
		if refusal == nil {
			continue
		}
		_, err := r.Creation(t.Context(), "ann", "laptop")
		wantRefusal(t, err, tt.refusal)
		_, err = r.Prove(t.Context(), protected(`{}`), &approvals.Decision{Action: approvals.ActionApprove, ReviewerID: "ann"})
		wantRefusal(t, err, tt.refusal)
	}
}
