package app_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/app/configfile"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/fakeslack"
)

// Secrets of agents, through the front door.

const (
	askToken = `{"fields":[{"name":"API_TOKEN","label":"Token","required":true,"input_type":"password"},{"name":"HOST","secret":false}],"message":"for the upload"}`
	useToken = `{"command":"curl -H 'Authorization: Bearer secret://API_TOKEN' https://example.org/"}`
)

// newSecret returns a random value with characters that JSON, URLs and shells escape, and
// its middle, which no encoding but base64 and hexadecimal digits changes.
func newSecret() (value, middle string) {
	middle = rand.Text()[:14]
	return `k"'$(x) /+` + middle + `\&<é~`, middle
}

// encodings are the forms of a value that docs/secrets.md names.
func encodings(value string) []string {
	inJSON, _ := json.Marshal(value)
	twice, _ := json.Marshal(string(inJSON))
	all := []string{value, string(inJSON[1 : len(inJSON)-1]), string(twice[1 : len(twice)-1]), url.QueryEscape(value), url.PathEscape(value)}
	for _, before := range []string{"", "u", "us"} {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(before+value+"tail")), base64.RawURLEncoding.EncodeToString([]byte(before+value+"tail")))
	}
	return all
}

// shows reports whether a text has a value in one of the encodings.
func shows(text, middle string) bool {
	if strings.Contains(text, middle) || strings.Contains(text, hex.EncodeToString([]byte(middle))) {
		return true
	}
	for before := range 3 {
		padded := strings.Repeat("\x00", before) + middle
		from, to := (before*8+5)/6, len(padded)*8/6
		if strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(padded))[from:to]) {
			return true
		}
	}
	return false
}

// recorder is a service that heldcall sends messages to.
type recorder struct {
	mu  sync.Mutex
	got bytes.Buffer
}

func (r *recorder) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.got, "%s %v %s\n", req.URL, req.Header, body)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

// outputs are all that a heldcall with a webhook, Slack and tracing writes and sends, but
// the bytes for the agent.
type outputs struct {
	hooks, spans *recorder
	slack        *fakeslack.Server
	config       app.Config
}

func observed(t *testing.T) (*outputs, func(*app.Config)) {
	t.Helper()
	o := &outputs{hooks: &recorder{}, spans: &recorder{}, slack: fakeslack.New()}
	hooks, spans := httptest.NewServer(o.hooks), httptest.NewServer(o.spans)
	t.Cleanup(func() { hooks.Close(); spans.Close(); o.slack.Close() })
	return o, func(c *app.Config) {
		c.Notify.Webhooks = []app.WebhookConfig{{Name: "ci", URL: configfile.Secret(hooks.URL), Secrets: []configfile.Secret{hookSecret}, Reviewer: "local"}}
		c.Notify.Slack = []app.SlackConfig{{Name: "slack", BotToken: "xoxb-1", AppToken: "xapp-1", Channel: "#approvals", APIURL: o.slack.URL()}}
		c.Tracing.Enabled, c.Tracing.Endpoint, c.Tracing.Arguments = true, spans.URL, true
		o.config = *c
	}
}

// all returns the outputs by their names. It stops heldcall.
func (o *outputs) all(w *world) map[string]string {
	w.t.Helper()
	texts := map[string]string{}
	for _, path := range []string{"/api/v1/requests", "/api/v1/audit", "/api/v1/runs", "/api/v1/secrets", "/api/v1/grants", "/metrics", "/readyz"} {
		texts[path] = w.get(w.app.ConsoleURL() + path)
	}
	page, err := w.console.Requests(w.t.Context(), approvals.Filter{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range page.Items {
		texts["request "+r.ID] = w.get(w.app.ConsoleURL() + "/api/v1/requests/" + r.ID)
	}
	var sent strings.Builder
	for _, r := range w.upstream.Requests() {
		fmt.Fprintf(&sent, "%s %v %s\n", r.Target, r.Header, r.Body)
	}
	texts["upstream"] = sent.String()
	if err := w.stop(); err != nil {
		w.t.Fatal(err)
	}
	texts["log"], texts["webhooks"], texts["traces"] = w.log.String(), o.hooks.String(), o.spans.String()
	texts["Slack"] = fmt.Sprintf("%+v %+v %s", o.slack.Messages(), o.slack.Ephemerals(), o.slack.Bodies())
	texts["disk"] = onDisk(w.t, o.config.NATS.Dir) + onDisk(w.t, o.config.AuditDir())
	return texts
}

// parts returns a message of the user whose text is in two parts.
func (k *talk) parts(a, b string) map[string]any {
	kind := "text"
	if strings.HasSuffix(k.path, "/responses") {
		kind = "input_text"
	}
	return map[string]any{"role": "user", "content": []any{map[string]any{"type": kind, "text": a}, map[string]any{"type": kind, "text": b}}}
}

// A person answers a question for a secret; the model gets its handle and uses it in a call
// that a person approves; the agent gets the value, and shows it to the model in every
// encoding. Nothing but the released call has it.
func TestPromise8_NothingButTheReleasedCallHasASecret(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		value, middle := newSecret()
		o, configure := observed(t)
		w := build(t, offersAll+askAll, inOrder(asking("request_env_var", askToken), asking("bash", useToken), fakemodel.Answer{Text: "It is " + value + ", is it?"}, fakemodel.Answer{Text: "Done."}, fakemodel.Answer{Text: "Done."}), configure)
		k := talkTo(w).withTools("bash")
		answer := k.begin("upload it")
		question := w.pending(1)[0]
		w.decide(question.ID, approvals.Decision{Action: approvals.ActionAnswer, Note: "it is " + value, Response: approvals.Response{Values: map[string]string{"API_TOKEN": value, "HOST": "example.org"}}})
		request := w.pending(1)[0]
		if !slices.Equal(request.Details.Secrets, []string{"API_TOKEN"}) || !strings.Contains(strings.Join(request.Details.Flags, " "), "the value of the secret API_TOKEN") || !strings.Contains(string(request.Arguments), "Bearer secret://API_TOKEN") {
			t.Errorf("the request is %+v", request)
		}
		w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
		got := <-answer
		want := "curl -H 'Authorization: Bearer " + strings.ReplaceAll(value, "'", `'\''`) + "' https://example.org/"
		var arguments struct{ Command string }
		if len(got.calls) != 1 || json.Unmarshal([]byte(got.calls[0].Arguments), &arguments) != nil || arguments.Command != want {
			t.Fatalf("the agent gets %+v, want the command %s", got, want)
		}
		if second := string(w.upstream.Requests()[1].Body); !strings.Contains(second, "secret://API_TOKEN") || !strings.Contains(second, "example.org") {
			t.Errorf("the model gets %s", second)
		}
		k.result(got.calls[0].ID, "sent: "+strings.Join(encodings(value), " , "))
		k.history = append(k.history, k.parts("first "+value[:14], value[14:]+" then"))
		if echoed := k.send(); !strings.Contains(echoed.text, "It is secret://API_TOKEN, is it?") || strings.Contains(k.raw, middle) {
			t.Errorf("the agent reads %s", k.raw)
		}
		k.say("and " + value)
		if types := w.audited(); !slices.Contains(types, "secret_used") {
			t.Errorf("the audit log has %s", types)
		}
		third := string(w.upstream.Requests()[2].Body)
		if n := strings.Count(third, "secret://API_TOKEN"); n < len(encodings(value))+3 {
			t.Errorf("the request has %d handles: %s", n, third)
		}
		for name, text := range o.all(w) {
			if shows(text, middle) {
				t.Errorf("%s shows the secret: %.3000s", name, text)
			}
		}
	})
}

// setSecret stores a secret of the agents without a name.
func (w *world) setSecret(name, value string) {
	w.t.Helper()
	if _, err := w.console.Secrets().Set(w.t.Context(), approvals.SecretPayload{Name: name, Value: value, Principal: approvals.Principal{Tenant: "default"}}); err != nil {
		w.t.Fatal(err)
	}
}

// Policy lets some calls have a secret; people are asked about others, and a call that
// is not approved never has it.
func TestSecretsOfThePolicy(t *testing.T) {
	t.Parallel()
	const plainValue = "ghp_Zq81kLw0opensesame"
	const rules = "default: allow\ntools: {bash: {resource: command, as: shell}}\nsecrets: [{name: API_TOKEN, tools: ['bash(gh auth *)']}]\nrules: [{deny: ['bash(*--bad*)']}]\n"
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		w := build(t, rules, inOrder(
			asking("bash", `{"command":"gh auth secret://API_TOKEN"}`), asking("bash", `{"command":"curl secret://API_TOKEN"}`),
			asking("bash", `{"command":"gh secret://OTHER"}`), asking("bash", `{"command":"gh 'secret://DENIED'"}`), fakemodel.Answer{Text: "Then not."}))
		w.setSecret("API_TOKEN", plainValue)
		w.setSecret("DENIED", "x--badQ7q91kz opensesame")
		k := talkTo(w).withTools("bash")
		if got := k.say("one"); len(got.calls) != 1 || !strings.Contains(got.calls[0].Arguments, "gh auth "+plainValue) {
			t.Fatalf("the agent gets %+v", got)
		}
		answer := k.begin("two")
		r := w.pending(1)[0]
		if r.Rule != "secrets" || r.AllowRemember || r.OnTimeout != approvals.OnTimeoutDeny || !strings.Contains(r.Reason, "API_TOKEN") {
			t.Errorf("the request is %+v", r)
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`{"command":"curl secret://API_TOKEN --compressed"}`)})
		if got := <-answer; len(got.calls) != 1 || !strings.Contains(got.calls[0].Arguments, "curl "+plainValue+" --compressed") {
			t.Fatalf("the agent gets %+v", got)
		}
		if got := k.say("three"); len(got.calls) != 1 || !strings.Contains(got.calls[0].Arguments, "gh secret://OTHER") {
			t.Fatalf("an unknown handle: the agent gets %+v", got)
		}
		answer = k.begin("four")
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
		if got := <-answer; len(got.calls) != 0 || !strings.Contains(got.text, "Then not.") {
			t.Fatalf("a denied call: the agent gets %+v", got)
		}
		last := w.upstream.Requests()[len(w.upstream.Requests())-1]
		if body := string(last.Body); strings.Contains(body, "opensesame") || !strings.Contains(body, "a rule denies the call with the value") {
			t.Errorf("the model gets %s", body)
		}
	})
}

// Values that would be in other texts by chance, or that a model could guess, are refused,
// and the error does not show them.
func TestGuessableSecretsAreRefused(t *testing.T) {
	t.Parallel()
	w := build(t, offersAll+askAll, inOrder(asking("request_env_var", askToken), fakemodel.Answer{Text: "Thanks."}))
	k := newTalk(w, fakemodel.Chat, true).withTools("bash")
	answer := k.begin("upload it")
	r := w.pending(1)[0]
	for _, value := range []string{"q7Zk1", "password", "/home/ann/key", "db.example.org", "secret://API_TOKEN"} {
		_, err := w.console.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionAnswer, Response: approvals.Response{Values: map[string]string{"API_TOKEN": value}}})
		if err == nil || !strings.Contains(err.Error(), "values.API_TOKEN") || (strings.Contains(err.Error(), value) && value != "password") {
			t.Errorf("%s: %v", value, err)
		}
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionAnswer, Save: true, Response: approvals.Response{Values: map[string]string{"API_TOKEN": "q7Zk1-Lw0o-99"}}})
	<-answer
	list, err := w.console.Secrets().List(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "API_TOKEN" || list[0].SessionID != "" || list[0].CreatedBy != "local" {
		t.Fatalf("the secrets are %+v, %v", list, err)
	}
	if _, err := w.console.Secrets().Delete(t.Context(), list[0]); err != nil {
		t.Error(err)
	}
	if list, err := w.console.Secrets().List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the secrets are %+v, %v", list, err)
	}
}

// An agent that leaves while its call is held comes back after a restart of heldcall, and
// gets the value. No file has it.
func TestSecretOfADetachedCall(t *testing.T) {
	t.Parallel()
	for path, body := range dialectRequests {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			value, middle := newSecret()
			var c app.Config
			w := build(t, askAll, inOrder(asking("bash", `{"command":"gh secret://API_TOKEN"}`)), comments, restarting(&c))
			w.setSecret("API_TOKEN", value)
			leave := w.ask(path, body)
			r := w.pending(1)[0]
			leave()
			w.agent(r.ID, approvals.AgentDetached)
			w.restart(c)
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
			got := w.post(path, body, retried...).rest()
			if !strings.Contains(got, middle) || strings.Contains(got, "secret://") {
				t.Errorf("the agent gets %s", got)
			}
			if n := len(w.upstream.Requests()); n != 1 {
				t.Errorf("upstream was asked %d times", n)
			}
			if err := w.stop(); err != nil {
				t.Fatal(err)
			}
			if files := onDisk(t, c.NATS.Dir); shows(files, middle) || shows(w.log.String(), middle) || !strings.Contains(files, "API_TOKEN") {
				t.Error("the files or the log show the secret")
			}
		})
	}
}

// A parked call with a secret passes once, with the value, when the model makes it again.
func TestSecretOfAParkedCall(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		value, middle := newSecret()
		const use = `{"command":"gh secret://API_TOKEN"}`
		w := build(t, askAll, inOrder(list("call_sesame1Xk9", use), list("call_sesame2Xk9", use), list("call_sesame3Xk9", use)), parks)
		w.setSecret("API_TOKEN", value)
		k := talkTo(w)
		k.say("do it")
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
		if again := k.say("again"); len(again.calls) != 1 || !strings.Contains(again.calls[0].Arguments, middle) {
			t.Fatalf("the approved call: %+v", again)
		}
		k.result("call_sesame2Xk9", "done with "+value)
		k.say("once more")
		w.pending(1)
		if body := string(w.upstream.Requests()[2].Body); shows(body, middle) {
			t.Errorf("the model reads %s", body)
		}
	})
}

// Slack keeps messages: a card about a question for a secret has a link and no form.
func TestSlackTakesNoSecrets(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, offersAll+askAll, inOrder(asking("request_env_var", askToken), fakemodel.Answer{Text: "Thanks."}))
	k := newTalk(w.world, fakemodel.Chat, true).withTools("bash")
	answer := k.begin("upload it")
	r := w.pending(1)[0]
	card := w.card(0, "secret")
	if shown := card.Shown(); !strings.Contains(shown, "Slack would keep it") || !strings.Contains(shown, r.ID) {
		t.Errorf("the card shows %s", shown)
	}
	if buttons := card.Buttons(r.ID); slices.Contains(buttons, pressYes) {
		t.Errorf("the card has the buttons %s", buttons)
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionDeny})
	<-answer
}
