package app_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/notify/nats/contracttest"
)

// wire is what goes over NATS, as somebody hears it who may hear all of it.
type wire struct {
	mu       sync.Mutex
	messages []*natsgo.Msg
}

// listenTo hears everything on a server but what NATS itself and the replies are.
func listenTo(t *testing.T, url string) *wire {
	t.Helper()
	heard := &wire{}
	bot := connect(t, url)
	all, err := bot.Subscribe(">", func(m *natsgo.Msg) {
		if m.Subject[0] == '$' || m.Subject[0] == '_' {
			return
		}
		heard.mu.Lock()
		defer heard.mu.Unlock()
		heard.messages = append(heard.messages, m)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(all.SetPendingLimits(-1, -1), bot.Flush()); err != nil {
		t.Fatal(err)
	}
	return heard
}

// types are those of the events that were heard.
func (h *wire) types() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var types []string
	for _, m := range h.messages {
		if tokens := strings.Split(m.Subject, "."); tokens[2] == "events" {
			types = append(types, tokens[4])
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// contractBot is a client that checks all messages in both directions against the contract.
type contractBot struct {
	*bot
	contract *contracttest.Contract
}

// says sends a message and checks that the reply is of a kind.
func (b *contractBot) says(subject, payload, want string) map[string]any {
	b.t.Helper()
	reply, err := b.Request(subject, []byte(payload), soon)
	if err != nil {
		b.t.Fatalf("%s: %v", subject, err)
	}
	if is, err := b.contract.Reply(subject, reply.Data); err != nil || is != want {
		b.t.Errorf("%s %s: the reply is %q, want %s (%v)\n%s", subject, payload, is, want, err, reply.Data)
	}
	return decoded(b.t, reply.Data)
}

// contractPolicy has rules for each way in which a call can go.
const contractPolicy = `
default: ask
tools:
  bash: {resource: command, as: shell}
rules:
  - ask: ["bash(slow *)"]
    timeout: 1s
  - ask: ["bash(late *)"]
    reviewers: [nobody]
    escalate: {after: 1s, to: [oncall]}
  - allow: ["bash(free *)"]
  - deny: ["bash(never *)"]
`

// Whatever goes over NATS is in docs/asyncapi.yaml: each message and each reply is
// what the channel of its subject has, and no subject is without a channel.
func TestEverythingOverNATSIsInTheContract(t *testing.T) {
	t.Parallel()
	contract, err := contracttest.Load("../docs/asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if standard := app.DefaultConfig(func(string) (string, bool) { return "", false }).NATS.Listen; contract.Servers["embedded"].Host != standard {
		t.Errorf("the contract has the embedded server at %s; it listens on %s", contract.Servers["embedded"].Host, standard)
	}
	url := startNATS(t)
	heard := listenTo(t, url)
	w := build(t, contractPolicy, calledFor, twoClients, func(c *app.Config) { c.NATS.URL = url })
	b := &contractBot{connect(t, url), contract}
	steps := []struct {
		name string
		do   func(*testing.T, *world, *contractBot)
	}{{"decisions", contractDecisions}, {"results", contractResults}, {"silence", contractSilence}, {"runs", contractRuns}, {"grants", contractGrants}, {"refusals", contractRefusals}, {"discovery", contractDiscovery}}
	for _, step := range steps {
		step.do(t, w, b)
		if t.Failed() {
			t.Fatalf("after %s", step.name)
		}
	}
	want := []string{
		"approval_cancelled", "approval_decision", "approval_escalated", "approval_expired", "approval_required", "call_allowed", "call_denied", "call_modified", "call_released", "call_result",
		"denial_told", "grant_created", "grant_revoked", "run_aborted", "run_paused", "run_resumed",
	}
	heard.await(t, contract, want)
}

// Messages about delegations over NATS follow the contract.
func TestDelegationsOverNATSAreInTheContract(t *testing.T) {
	t.Parallel()
	contract, err := contracttest.Load("../docs/asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	url, m := startNATS(t), team{}
	heard := listenTo(t, url)
	w := build(t, contractPolicy, calledFor, m.with("ann", "reviewer"), m.with("bob", "reviewer"), func(c *app.Config) { c.NATS.URL = url })
	d, err := w.as(m["ann"]).Delegate(t.Context(), approvals.Delegation{To: "bob", Until: time.Now().Add(time.Hour)})
	if err == nil {
		_, err = w.as(m["ann"]).RevokeDelegation(t.Context(), d.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	heard.await(t, contract, []string{"delegation_created", "delegation_revoked"})
}

// await waits for events of all these types, and holds all that was heard to the contract.
func (h *wire) await(t *testing.T, contract *contracttest.Contract, types []string) {
	t.Helper()
	missing := func() []string {
		heard := h.types()
		return slices.DeleteFunc(slices.Clone(types), func(typ string) bool { return slices.Contains(heard, typ) })
	}
	for deadline := time.Now().Add(soon); len(missing()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no event was heard of %v", missing())
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.messages {
		if err := contract.Message(m.Subject, m.Data); err != nil {
			t.Errorf("%s: %v", m.Subject, err)
		}
	}
	t.Logf("%d messages follow the contract", len(h.messages))
}

// calledFor calls bash with the command that the user wrote, until the model gets its result.
func calledFor(r *fakemodel.Request) fakemodel.Reply {
	if strings.Contains(string(r.Body), `"role":"tool"`) {
		return fakemodel.Answer{Text: "Understood."}.Reply(r)
	}
	command := gjson.GetBytes(r.Body, "messages.0.content").String()
	return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"command":"` + command + `"}`}}}.Reply(r)
}

// command lets an agent of ann ask for a command in a run, and returns its answer's end.
func (w *world) command(run, command string) chan string {
	answer := make(chan string, 1)
	body := strings.Replace(wholeRequest, "do it", command, 1)
	go func() {
		c, err := w.tryPost("/v1/chat/completions", body, "Authorization", "Bearer ann-key", "X-Heldcall-Run", run)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- c.rest()
	}()
	return answer
}

func contractDecisions(_ *testing.T, w *world, b *contractBot) {
	for run, payload := range map[string]string{
		"yes":  `{"action":"approve","note":"go on"}`,
		"no":   `{"approved":false,"note":"not today"}`,
		"edit": `{"action":"modify_args","modified_args":{"command":"ask less"}}`,
		"keep": `{"action":"allow_always","patterns":["bash(ask keep)"],"scope":"user"}`,
	} {
		answer := w.command(run, "ask "+run)
		id := w.pending(1)[0].ID
		b.says("heldcall.v1.svc.requests.get", `{"id":"`+id+`"}`, "Request")
		b.says("heldcall.v1.decide.local."+id, payload, "Request")
		<-answer
		b.says("heldcall.v1.decide.local."+id, payload, "Failure") // already_decided, with the request
	}
	<-w.command("kept", "ask keep") // by the grant
	<-w.command("free", "free all")
	<-w.command("never", "never ever")
	b.says("heldcall.v1.svc.requests.list", `{"limit":3}`, "Page")
}

func contractSilence(t *testing.T, w *world, _ *contractBot) {
	<-w.command("slow", "slow one")
	answer := w.command("late", "late one")
	id := w.pending(1)[0].ID
	for deadline := time.Now().Add(soon); ; time.Sleep(10 * time.Millisecond) {
		r, err := w.console.Request(t.Context(), id)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("it does not escalate: %+v, %v", r.Details.Escalation, err)
		}
		if r.Details.Escalation.EscalatedAt != nil {
			break
		}
	}
	w.decide(id, approvals.Decision{Action: approvals.ActionApprove})
	<-answer
}

func contractRuns(_ *testing.T, w *world, b *contractBot) {
	answer := w.command("steered", "ask more")
	run := "heldcall.v1.signal.local." + subjects.Token(w.pending(1)[0].RunID)
	for _, action := range []string{"pause_run", "resume_run", "abort_run"} {
		b.says(run, `{"action":"`+action+`"}`, "Steered")
	}
	<-answer
	b.says("heldcall.v1.svc.runs.list", ``, "RunList")
	b.says("heldcall.v1.svc.runs.get", `{"id":"steered@acme"}`, "Run")
}

func contractGrants(_ *testing.T, _ *world, b *contractBot) {
	const given = `{"effect":"deny","scope":"tenant","principal":{"tenant":"acme"},"patterns":["bash(ask *)"],"note":"closed","expires_at":"2099-01-01T00:00:00Z"}`
	b.says("heldcall.v1.svc.grants.preview", given, "GrantPreview")
	id := b.says("heldcall.v1.grants.local.add", given, "Grant")["id"].(string)
	b.says("heldcall.v1.svc.grants.list", `{"tenant":"acme","expired":true}`, "GrantPage")
	b.says("heldcall.v1.svc.grants.get", `{"id":"`+id+`"}`, "Grant")
	b.says("heldcall.v1.grants.local.revoke", `{"id":"`+id+`"}`, "Grant")
}

func contractRefusals(t *testing.T, _ *world, b *contractBot) {
	for _, c := range []struct{ subject, payload, code string }{
		{"heldcall.v1.decide.local.x", `{"action":"approve"}`, "unknown_request"},
		{"heldcall.v1.decide.local.x", `{"action":"maybe"}`, "invalid"},
		{"heldcall.v1.decide.bob.x", `{"action":"approve"}`, "unknown_reviewer"},
		{"heldcall.v1.signal.local.x", `{"action":"abort_run","run_id":"y"}`, "invalid"},
		{"heldcall.v1.svc.requests.get", `{}`, "invalid"},
		{"heldcall.v1.svc.runs.get", `{"id":"x"}`, "unknown_run"},
		{"heldcall.v1.svc.grants.get", `{"id":"x"}`, "unknown_grant"},
		{"heldcall.v1.grants.local.revoke", `{"id":"x"}`, "unknown_grant"},
	} {
		if got := b.says(c.subject, c.payload, "Failure"); got["code"] != c.code {
			t.Errorf("%s: %v, want %s", c.subject, got, c.code)
		}
	}
}

func contractDiscovery(_ *testing.T, _ *world, b *contractBot) {
	for subject, reply := range map[string]string{"$SRV.PING.heldcall": "Ping", "$SRV.INFO.heldcall": "Info", "$SRV.STATS.heldcall": "Stats"} {
		b.says(subject, ``, reply)
	}
}

// decoded is a message as its fields.
func decoded(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return fields
}
