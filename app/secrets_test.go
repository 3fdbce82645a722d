package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Secrets of agents, through the front door.

const (
	askToken = `{"fields":[{"name":"API_TOKEN","label":"Token","required":true,"input_type":"password"},{"name":"HOST","secret":false}],"message":"for the upload"}`
	useToken = `{"command":"curl -H 'Authorization: Bearer secret://API_TOKEN' https://example.org/"}`
)

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
		if flags := strings.Join(r.Details.Flags, " "); !strings.Contains(flags, "If it is approved, the agent gets the value of the secret API_TOKEN") {
			t.Errorf("the card of a call that gets a secret has the flags %q", flags)
		}
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
		r = w.pending(1)[0]
		if flags := strings.Join(r.Details.Flags, " "); !strings.Contains(flags, "it does not run even if it is approved") || strings.Contains(flags, "opensesame") {
			t.Errorf("the card of a call that will be denied has the flags %q", flags)
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
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

// Two reviewers answer a question on two replicas at the same moment: the call gets the value
// of the answer that is the decision, which is masked.
func TestSecretAnsweredOnTwoReplicas(t *testing.T) {
	t.Parallel()
	var c app.Config
	use := asking("bash", `{"command":"gh auth secret://API_TOKEN"}`)
	w := build(t, offersAll+"default: allow\ntools: {bash: {resource: command, as: shell}}\nsecrets: [{name: API_TOKEN, tools: ['bash(gh auth *)']}]\n", func(r *fakemodel.Request) fakemodel.Reply {
		switch body := string(r.Body); {
		case strings.Contains(body, "both:"):
			return fakemodel.Answer{Text: "Thanks."}.Reply(r)
		case strings.Contains(body, "use it"):
			return use.Reply(r)
		case strings.Contains(body, `"role":"tool"`):
			return fakemodel.Answer{Text: "Thanks."}.Reply(r)
		}
		return asking("request_env_var", askToken).Reply(r)
	}, onServer(t), restarting(&c))
	other := w.replica(c)
	for round := range 4 {
		k := newTalk(w, fakemodel.Chat, true).withTools("bash")
		k.session = fmt.Sprint("session ", round)
		answer := k.begin("upload it")
		r := w.pending(1)[0]
		values, middles, errs := [2]string{}, [2]string{}, [2]error{}
		var both sync.WaitGroup
		for i, one := range []*world{w, other} {
			values[i], middles[i] = newSecret()
			both.Go(func() {
				_, errs[i] = one.console.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionAnswer, Response: approvals.Response{Values: map[string]string{"API_TOKEN": values[i]}}})
			})
		}
		both.Wait()
		winner := slices.Index(errs[:], nil)
		if winner < 0 || errs[1-winner] == nil {
			t.Fatalf("the answers: %v", errs)
		}
		<-answer
		k.w = w.replica(c) // it has read all records
		got := k.say("use it")
		for _, call := range got.calls {
			if !strings.Contains(call.Arguments, middles[winner]) {
				t.Errorf("round %d: the agent gets %s, want %s", round, call.Arguments, values[winner])
			}
		}
		k.history = nil
		k.say("both: " + values[winner])
		requests := w.upstream.Requests()
		if body := string(requests[len(requests)-1].Body); len(got.calls) != 1 || shows(body, middles[winner]) || !strings.Contains(body, "both: secret://API_TOKEN") {
			t.Errorf("round %d: %d calls, and the model reads %s", round, len(got.calls), body)
		}
		written := w.log.String() + other.log.String() + fmt.Sprint(errs) + w.get(w.app.ConsoleURL()+"/api/v1/audit") + w.get(w.app.ConsoleURL()+"/api/v1/requests")
		for _, request := range requests {
			written += string(request.Body)
		}
		for _, middle := range middles {
			if part := shown(written, middle); part != "" {
				t.Errorf("round %d: an answer is in what heldcall writes: %q", round, part)
			}
		}
	}
}

// A replica masks a value that another one has just stored, also the first value of the store, although
// its watch may be late.
func TestSecretOfAnotherReplica(t *testing.T) {
	t.Parallel()
	var c app.Config
	w := build(t, "default: allow\n", inOrder(fakemodel.Answer{Text: "Thanks."}), onServer(t), restarting(&c))
	other := w.replica(c)
	for round := range 100 {
		name := fmt.Sprint("TOKEN_", round)
		value, middle := newSecret()
		w.setSecret(name, value)
		k := newTalk(other, fakemodel.Chat, round%2 == 0)
		k.say("it is " + value)
		requests := w.upstream.Requests()
		if body := string(requests[len(requests)-1].Body); shows(body, middle) || !strings.Contains(body, "it is secret://"+name) {
			t.Fatalf("round %d: the model reads %s", round, body)
		}
	}
}

// A secret whose principal leaves a part out is refused: it would not be masked where its owner believes.
func TestSecretStatesItsPrincipal(t *testing.T) {
	w := build(t, askAll, callThenText)
	for principal, want := range map[string]int{
		`{"tenant": "globex"}`:                            http.StatusUnprocessableEntity,
		`{"tenant": "globex", "user": "*"}`:               http.StatusUnprocessableEntity,
		`{"user": "ann", "agent": "*"}`:                   http.StatusUnprocessableEntity,
		`{"tenant": "globex", "user": "*", "agent": "*"}`: http.StatusOK,
		`{"tenant": "globex", "user": "", "agent": ""}`:   http.StatusOK,
	} {
		response, err := http.Post(w.app.ConsoleURL()+"/api/v1/secrets", "application/json", strings.NewReader(`{"name": "TOKEN", "value": "gho_0f-Bob-alone-7!", "principal": `+principal+`}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %d %s", principal, response.StatusCode, answer)
		}
	}
}

// What people write beside decisions is masked before it is stored, whosever the secret is.
func TestSecretsInWrittenTexts(t *testing.T) {
	w := build(t, askAll, callThenText)
	const written = "ghp_Zq81kLw0-Written-7!"
	if _, err := w.console.Secrets().Set(t.Context(), approvals.SecretPayload{Name: "TOKEN", Value: written, Principal: approvals.Principal{Tenant: "globex", User: "*", Agent: "*"}}); err != nil {
		t.Fatal(err)
	}
	payload := json.RawMessage(`{"why": "it leaked ` + written + `"}`)
	grant, err := w.console.AddGrant(t.Context(), approvals.Grant{Effect: approvals.GrantDeny, Principal: approvals.Principal{Tenant: "default"}, Patterns: []string{"bash(login " + written + ")"}, Note: "for " + written})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.console.Runs().Signal(t.Context(), approvals.Signal{RunID: "r9", Action: approvals.SignalPause, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.console.Runs().SignalPrincipal(t.Context(), approvals.PrincipalSignalPayload{Principal: approvals.Principal{Agent: "other"}, Action: approvals.SignalPause, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	c := w.post("/v1/chat/completions", wholeRequest)
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "never " + written})
	c.rest()
	if _, err := w.console.RevokeGrant(t.Context(), grant.ID); err != nil {
		t.Fatal(err)
	}
	all := w.log.String()
	for _, path := range []string{"/api/v1/audit", "/api/v1/grants", "/api/v1/signals", "/api/v1/requests", "/api/v1/runs"} {
		all += w.get(w.app.ConsoleURL() + path)
	}
	if strings.Contains(all, written) || strings.Count(all, "secret://TOKEN") < 4 {
		t.Errorf("recorded is %s", all)
	}
}
