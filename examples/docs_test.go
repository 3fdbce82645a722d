package examples_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/demo"
)

// Every line for the nats command in docs/nats.md works, sent as that command sends it: a
// subject and a payload, over a bot's connection.
func TestDocumentedNATSLines(t *testing.T) {
	page, err := os.ReadFile("../docs/nats.md")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stage := openStage(ctx, t)
	conn, err := nats.Connect(stage.NATS, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		t.Errorf("NATS: %v", err)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	subscriptions := regexp.MustCompile(`(?m)^nats sub '([^']+)'`).FindAllSubmatch(page, -1)
	requests := regexp.MustCompile(`(?m)^nats request (\S+) '([^']*)'$`).FindAllSubmatch(page, -1)
	if len(subscriptions) != 2 || len(requests) != 17 {
		t.Fatalf("found %d subscriptions and %d requests", len(subscriptions), len(requests))
	}
	var live []*nats.Subscription
	for _, line := range subscriptions {
		subscription, err := conn.SubscribeSync(string(line[1]))
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, subscription)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, line := range requests {
		t.Run(string(line[1])+string(line[2]), func(t *testing.T) {
			sendLine(ctx, t, stage, conn, string(line[1]), string(line[2]))
		})
	}
	for _, subscription := range live {
		if _, err := subscription.NextMsg(patience); err != nil {
			t.Errorf("%s: %v", subscription.Subject, err)
		}
	}
	if _, err := conn.Request("$SRV.INFO.heldcall", nil, patience); err != nil { // nats micro info heldcall
		t.Errorf("the micro service: %v", err)
	}
}

// sendLine sends one line about a call that is held.
func sendLine(ctx context.Context, t *testing.T, stage *demo.Stage, conn *nats.Conn, subject, payload string) {
	t.Helper()
	held, leave := hold(ctx, t, stage)
	defer leave()
	grant := ""
	if strings.HasSuffix(subject, ".revoke") {
		grant = addGrant(t, conn)
	}
	fill := strings.NewReplacer("RUN", held.RunID, "GRANT", grant, "ID", held.ID)
	if strings.HasSuffix(subject, "runs.get") { // which knows the runs that somebody has steered
		sendLine(ctx, t, stage, conn, "heldcall.v1.signal.local."+held.RunID, `{"action":"pause_run"}`)
	}
	reply, err := conn.Request(fill.Replace(subject), []byte(fill.Replace(payload)), patience)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Code, Message, ID, Status, State, Action string
		Items                                    []any
	}
	if err := json.Unmarshal(reply.Data, &got); err != nil || got.Code != "" {
		t.Fatalf("%s: %v", reply.Data, err)
	}
	var action struct{ Action string }
	if payload != "" {
		if err := json.Unmarshal([]byte(payload), &action); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"approve": "approved", "deny": "denied", "modify_args": "approved", "abort_run": "cancelled",
		"pause_run": "paused", "resume_run": "running",
	}[action.Action]
	if strings.Contains(subject, ".signal.") && action.Action == "abort_run" {
		want = "aborted"
	}
	if strings.Contains(subject, ".signals.") { // the reply is the signal
		want, got.State = action.Action, got.Action
	}
	if want != "" && got.Status != want && got.State != want {
		t.Errorf("it is %q%q, not %q", got.Status, got.State, want)
	}
	if strings.HasSuffix(subject, "requests.list") && len(got.Items) == 0 {
		t.Errorf("nothing waits: %s", reply.Data)
	}
}

// addGrant makes a grant to revoke, and returns its id.
func addGrant(t *testing.T, conn *nats.Conn) string {
	t.Helper()
	reply, err := conn.Request("heldcall.v1.grants.local.add", []byte(`{"effect":"deny","principal":{"tenant":"default"},"patterns":["bash(npm publish)"]}`), patience)
	if err != nil {
		t.Fatal(err)
	}
	var made approvals.Grant
	if err := json.Unmarshal(reply.Data, &made); err != nil || made.ID == "" {
		t.Fatalf("%s: %v", reply.Data, err)
	}
	return made.ID
}

// hold starts an agent whose call is held, in a run of its own.
func hold(ctx context.Context, t *testing.T, stage *demo.Stage) (approvals.Request, func()) {
	t.Helper()
	session := strings.ToLower(strings.NewReplacer("/", "-", ".", "-").Replace(t.Name()))
	session = regexp.MustCompile(`[^a-z0-9-]`).ReplaceAllString(session, "")
	agent, err := stage.NewAgent(session, func(demo.Line) {})
	if err != nil {
		t.Fatal(err)
	}
	began := stage.Ledger.Len()
	asking, leave := context.WithCancel(ctx)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_ = agent.Ask(asking, demo.TaskBackUp) // how it ends depends on the line
	}()
	end := func() {
		leave()
		<-asked
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
	}
	return awaitRequest(ctx, t, stage, session, began), end
}

// awaitRequest waits until a call of a session is held, from an event on.
func awaitRequest(ctx context.Context, t *testing.T, stage *demo.Stage, session string, from int) approvals.Request {
	t.Helper()
	for i := from; ; i++ {
		event, err := stage.Ledger.At(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if event.Type == approvals.EventApprovalRequired && event.SessionID == session {
			request, err := stage.Client.Request(ctx, event.RequestID)
			if err != nil {
				t.Fatal(err)
			}
			return request
		}
	}
}
