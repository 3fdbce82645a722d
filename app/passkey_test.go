package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/authenticator"
)

const passkeyWrites = "default: ask\nworkspace: [/srv/app]\nrules:\n  - ask: [Write]\n    confirm: passkey\n"

// holder is a reviewer at the inbox, with a passkey.
type holder struct {
	w      *world
	header []string // that authenticates
	*authenticator.Authenticator
}

// holder is the local reviewer on the page where passkeys work.
func (w *world) holder(header ...string) *holder {
	w.t.Helper()
	a, err := authenticator.New(strings.Replace(w.app.ConsoleURL(), "127.0.0.1", "localhost", 1), "localhost")
	if err != nil {
		w.t.Fatal(err)
	}
	return &holder{w, header, a}
}

// ask sends a request to the console, and returns status and answer.
func (h *holder) ask(method, path string, body any) (int, []byte) {
	h.w.t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		h.w.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(h.w.t.Context(), method, h.w.app.ConsoleURL()+path, bytes.NewReader(sent))
	if err != nil {
		h.w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(h.header); i += 2 {
		r.Header.Set(h.header[i], h.header[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		h.w.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		h.w.t.Fatal(err)
	}
	return got.StatusCode, text
}

// must sends a request that succeeds.
func (h *holder) must(method, path string, body any) []byte {
	h.w.t.Helper()
	status, answer := h.ask(method, path, body)
	if status >= 300 {
		h.w.t.Fatalf("%s %s answers %d %s", method, path, status, answer)
	}
	return answer
}

// refused checks that a request is refused with a status and words.
func (h *holder) refused(method, path string, body any, status int, words string) {
	h.w.t.Helper()
	if got, answer := h.ask(method, path, body); got != status || !strings.Contains(string(answer), words) {
		h.w.t.Errorf("%s %s answers %d %s, want %d with %q", method, path, got, answer, status, words)
	}
}

type object map[string]any

// registration is the body that registers the passkey.
func (h *holder) registration(name string) object {
	h.w.t.Helper()
	credential, err := h.Create(h.must("POST", "/api/v1/passkeys/options", object{"name": name}))
	if err != nil {
		h.w.t.Fatal(err)
	}
	return object{"name": name, "credential": credential}
}

// assertion is the passkey's answer to the challenge of a route.
func (h *holder) assertion(path string, body any) json.RawMessage {
	h.w.t.Helper()
	answer, err := h.Get(h.must("POST", path, body))
	if err != nil {
		h.w.t.Fatal(err)
	}
	return answer
}

// with adds an assertion for a decision to it.
func (o object) with(assertion json.RawMessage) object {
	all := object{"assertion": assertion}
	for name, value := range o {
		all[name] = value
	}
	return all
}

func decisionPath(id string) string  { return "/api/v1/requests/" + id + "/decision" }
func challengePath(id string) string { return "/api/v1/requests/" + id + "/challenge" }

// TestPasskeyApproves: an approval has the assertion of a passkey for this request and this
// decision, once; nothing else approves, on no channel, and a denial needs none.
func TestPasskeyApproves(t *testing.T) {
	t.Parallel()
	w := build(t, passkeyWrites, writes, twoClients, embedded)
	answer := w.turn("ann-key")
	r := w.pending(1)[0]
	if !r.Details.Passkey || r.Details.Confirm != "" {
		t.Fatalf("the request asks for passkey %v, text %q", r.Details.Passkey, r.Details.Confirm)
	}
	h := w.holder()
	for _, without := range []approvals.Decision{
		{Action: approvals.ActionApprove},
		{Action: approvals.ActionApprove, Passkey: "made up", Confirm: "/srv/app/a.go"},
		{Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"file_path":"/srv/app/b.go","content":"x"}`)},
		{Action: approvals.ActionAllowAlways, Patterns: []string{"Write"}},
	} {
		without.RequestID = r.ID
		var invalid *approvals.InvalidError
		if _, err := w.console.Decide(t.Context(), without); !errors.As(err, &invalid) || !strings.Contains(err.Error(), h.Origin+"/#/requests/"+r.ID) {
			t.Errorf("%s without an assertion: %v", without.Action, err)
		}
	}
	overNATS := connect(t, "nats://"+w.app.NATSAddr()).ask("heldcall.v1.decide.local."+r.ID, `{"action":"approve"}`)
	if text, _ := overNATS["message"].(string); overNATS["code"] != "invalid" || !strings.Contains(text, h.Origin+"/#/requests/"+r.ID) {
		t.Errorf("an approval over NATS: %v", overNATS)
	}
	h.refused("POST", "/api/v1/decisions", object{"decisions": []object{{"request_id": r.ID, "action": "approve"}}}, 200, "needs your passkey")
	h.refused("POST", challengePath(r.ID), object{"action": "approve"}, 422, "register one in the inbox")
	h.refused("POST", challengePath(r.ID), object{"action": "deny"}, 422, "deny needs no passkey")
	h.must("POST", "/api/v1/passkeys", h.registration("laptop"))

	second := w.turn("bob-key")
	other := w.pending(2)[1]
	approve, edit := object{"action": "approve"}, object{"action": "modify_args", "modified_args": object{"file_path": "/srv/app/a.go", "content": "y"}}
	const somethingElse = "the passkey has confirmed something else"
	h.refused("POST", decisionPath(other.ID), approve.with(h.assertion(challengePath(r.ID), approve)), 422, somethingElse)
	h.refused("POST", decisionPath(r.ID), edit.with(h.assertion(challengePath(r.ID), approve)), 422, somethingElse)
	edited := object{"action": "modify_args", "modified_args": object{"file_path": "/srv/app/a.go", "content": "z"}}
	h.refused("POST", decisionPath(r.ID), edited.with(h.assertion(challengePath(r.ID), edit)), 422, somethingElse)
	windowed := object{"action": "approve", "window": "15m"}
	h.refused("POST", decisionPath(r.ID), windowed.with(h.assertion(challengePath(r.ID), approve)), 422, somethingElse)
	h.refused("POST", decisionPath(r.ID), approve.with(h.assertion("/api/v1/passkeys/challenge", object{"revoke": h.ID()})), 422, somethingElse)
	h.refused("POST", decisionPath(r.ID), approve.with(json.RawMessage(`{"id":"x"}`)), 422, "not what a browser returns")
	if len(w.pending(2)[0].Decisions) != 0 {
		t.Fatal("a refused decision was recorded")
	}
	h.must("POST", decisionPath(r.ID), approve.with(h.assertion(challengePath(r.ID), approve)))
	<-answer
	h.must("POST", decisionPath(other.ID), object{"action": "deny"})
	<-second
	decided := w.eventsOf(approvals.EventApprovalDecision)
	if len(decided) != 2 || decided[0].Passkey != h.ID() || decided[1].Passkey != "" {
		t.Errorf("the decisions in the audit log are %+v", decided)
	}
}

// An assertion is refused where its page, its person or its use are wrong.
func TestPasskeyAssertions(t *testing.T) {
	t.Parallel()
	w := build(t, passkeyWrites, writes, twoClients)
	h, stranger := w.holder(), w.holder()
	h.must("POST", "/api/v1/passkeys", h.registration("laptop"))
	good := *h.Authenticator
	answer := w.turn("ann-key")
	r := w.pending(1)[0]
	approve := object{"action": "approve"}
	for _, tt := range []struct {
		name   string
		change func(*authenticator.Authenticator)
		want   string
	}{
		{"page of another port", func(a *authenticator.Authenticator) { a.Origin = "http://localhost:1" }, "open the inbox at " + good.Origin},
		{"page of another site", func(a *authenticator.Authenticator) { a.Origin = "https://localhost.evil.example" }, "open the inbox at " + good.Origin},
		{"other relying party", func(a *authenticator.Authenticator) { a.Party = "evil.example" }, "is not valid"},
		{"person not verified", func(a *authenticator.Authenticator) { a.Unverified = true }, "has not verified who uses"},
		{"copy of the passkey", func(a *authenticator.Authenticator) { a.Frozen = true }, "may have been copied"},
		{"other passkey", func(a *authenticator.Authenticator) { *a = *stranger.Authenticator }, "has not registered"},
	} {
		*h.Authenticator = good
		tt.change(h.Authenticator)
		h.refused("POST", decisionPath(r.ID), approve.with(h.assertion(challengePath(r.ID), approve)), 422, tt.want)
	}
	*h.Authenticator = good
	h.must("POST", decisionPath(r.ID), approve.with(h.assertion(challengePath(r.ID), approve)))
	<-answer
}

// An assertion counts once, also where the decision that had it was not taken.
func TestPasskeyAssertionIsUsedOnce(t *testing.T) {
	t.Parallel()
	w := build(t, passkeyWrites+"  - deny: [\"Write(/srv/app/secret.go)\"]\n", writes, twoClients)
	h := w.holder()
	h.must("POST", "/api/v1/passkeys", h.registration("laptop"))
	answer := w.turn("ann-key")
	r := w.pending(1)[0]
	denied := object{"action": "modify_args", "modified_args": object{"file_path": "/srv/app/secret.go", "content": "x"}}
	denied = denied.with(h.assertion(challengePath(r.ID), denied))
	h.refused("POST", decisionPath(r.ID), denied, 422, "denies them")
	h.refused("POST", decisionPath(r.ID), denied, 422, "has been used for this already")
	h.must("POST", decisionPath(r.ID), object{"action": "deny"})
	<-answer
}

// An edit must not lead to a call that would have needed a passkey.
func TestEditsDoNotAvoidPasskeys(t *testing.T) {
	t.Parallel()
	w := build(t, "default: ask\nworkspace: [/srv/app]\nrules:\n  - ask: [\"Write(/srv/app/ci/**)\"]\n    confirm: passkey\n", writes, twoClients)
	answer := w.turn("ann-key")
	r := w.pending(1)[0]
	h := w.holder()
	h.refused("POST", decisionPath(r.ID), object{"action": "modify_args", "modified_args": object{"file_path": "/srv/app/ci/deploy.sh", "content": "x"}}, 422, "needs a passkey")
	h.must("POST", decisionPath(r.ID), object{"action": "modify_args", "modified_args": object{"file_path": "/srv/app/b.go", "content": "x"}})
	<-answer
}

// The first passkey of a reviewer is trusted; afterwards one of them confirms each change.
func TestPasskeysConfirmTheirChanges(t *testing.T) {
	t.Parallel()
	var config app.Config
	w := build(t, passkeyWrites, writes, twoClients, restarting(&config))
	h, agent := w.holder(), w.holder()
	first := h.registration("laptop")
	early := agent.registration("phone") // begun before there is a passkey
	h.must("POST", "/api/v1/passkeys", first)
	const change = "/api/v1/passkeys/challenge"
	h.refused("POST", "/api/v1/passkeys", first, 422, "there is a passkey of this name")
	agent.refused("POST", "/api/v1/passkeys", early, 422, "must confirm another one")
	mine := h.registration("key")
	added := h.assertion(change, object{"add": mine})
	agent.refused("POST", "/api/v1/passkeys", early.with(added), 422, "has confirmed something else")
	agent.refused("POST", "/api/v1/passkeys/"+h.ID()+"/revoke", object{"assertion": added}, 422, "has confirmed something else")
	agent.refused("POST", "/api/v1/passkeys/"+h.ID()+"/revoke", object{"assertion": object{}}, 422, "not what a browser returns")
	early = early.with(h.assertion(change, object{"add": early}))
	agent.must("POST", "/api/v1/passkeys", early)
	agent.refused("POST", "/api/v1/passkeys/unknown/revoke", object{"assertion": h.assertion(change, object{"revoke": "unknown"})}, 404, "no passkey with this id")
	h.must("POST", "/api/v1/passkeys/"+agent.ID()+"/revoke", object{"assertion": h.assertion(change, object{"revoke": agent.ID()})})

	w.restart(config)
	c := w.holder()
	list := string(c.must("GET", "/api/v1/passkeys", nil))
	if !strings.Contains(list, `"laptop"`) || strings.Contains(list, `"phone"`) || strings.Contains(list, "publicKey") || !strings.Contains(list, `"origin":"`+c.Origin) {
		t.Errorf("after a restart the passkeys are %s", list)
	}
	w.revoked = "local" // all are lost
	w.restart(config)
	if list := string(w.holder().must("GET", "/api/v1/passkeys", nil)); !strings.Contains(list, `"items":[]`) {
		t.Errorf("after --revoke-passkeys the passkeys are %s", list)
	}
	var log []string
	for _, typ := range []approvals.EventType{approvals.EventPasskeyRegistered, approvals.EventPasskeyRevoked} {
		for _, e := range w.eventsOf(typ) {
			log = append(log, string(e.Type)+" "+e.ReviewerID+" "+e.Note)
		}
	}
	if got, want := strings.Join(log, ", "), "passkey_registered local laptop, passkey_registered local phone, passkey_revoked local phone, passkey_revoked local laptop"; got != want {
		t.Errorf("the audit log has %s, want %s", got, want)
	}
}

// With reviewers a passkey is its reviewer's, and is registered on a page, by somebody who is signed in.
func TestPasskeysBelongToReviewers(t *testing.T) {
	t.Parallel()
	m := team{}
	w := build(t, passkeyWrites+"    required_approvals: 2\n", writes, twoClients, m.with("ann", "reviewer"), m.with("fay", "reviewer"), m.with("vic", "viewer"),
		func(c *app.Config) { c.Console.URL = "https://inbox.example" })
	w.console = w.as(m["ann"])
	signedIn := func(name string) *holder {
		h := w.holder("Origin", "https://inbox.example")
		h.Origin, h.Party = "https://inbox.example", "inbox.example"
		var given struct{ Key string }
		body, _ := json.Marshal(object{"token": m[name]})
		r, _ := http.NewRequestWithContext(t.Context(), "POST", w.app.ConsoleURL()+"/api/v1/session", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", "https://inbox.example")
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		if err := json.NewDecoder(got.Body).Decode(&given); err != nil || len(got.Cookies()) != 1 {
			t.Fatalf("%s is not signed in: %s, %v", name, got.Status, err)
		}
		cookie := got.Cookies()[0].Name + "=" + got.Cookies()[0].Value
		h.header = []string{"Origin", "https://inbox.example", "Cookie", cookie, "X-Heldcall-Session-Key", given.Key}
		return h
	}
	ann, fay := signedIn("ann"), signedIn("fay")
	registration := ann.registration("ann's")
	program := w.holder("Authorization", "Bearer "+m["ann"])
	program.refused("POST", "/api/v1/passkeys", registration, 403, "in the inbox")
	fay.refused("POST", "/api/v1/passkeys", registration, 422, "another reviewer's")
	signedIn("vic").refused("GET", "/api/v1/passkeys", nil, 403, "the role viewer")
	ann.must("POST", "/api/v1/passkeys", registration)
	fay.must("POST", "/api/v1/passkeys", fay.registration("fay's"))

	answer := w.turn("bob-key")
	r := w.pending(1)[0]
	approve := object{"action": "approve"}
	fay.refused("POST", decisionPath(r.ID), approve.with(ann.assertion(challengePath(r.ID), approve)), 422, "another reviewer's")
	ann.must("POST", decisionPath(r.ID), approve.with(ann.assertion(challengePath(r.ID), approve)))
	fay.refused("POST", decisionPath(r.ID), approve, 422, "https://inbox.example/#/requests/"+r.ID)
	fay.must("POST", decisionPath(r.ID), approve.with(fay.assertion(challengePath(r.ID), approve)))
	<-answer
	if got := w.status(r.ID, approvals.StatusApproved).Decisions; len(got) != 2 || got[0].Passkey != ann.ID() || got[1].Passkey != fay.ID() {
		t.Errorf("the decisions are %+v", got)
	}
}
