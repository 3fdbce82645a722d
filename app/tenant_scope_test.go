package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/notify/nats/contracttest"
)

// Reviewers who see some tenants only.

// twoTenants is a heldcall with one of everything in the tenants "theirs" and "other". All of "other" has the
// word veiled in it. Al is an admin of "theirs", ada one of all.
type twoTenants struct {
	*world
	m        team
	hidden   approvals.Request
	shown    approvals.Request
	grant    string // of "other"
	toAll    string // the delegation of bob to ada
	unseen   []string
	deciding []*call
}

func newTwoTenants(t *testing.T) *twoTenants {
	t.Helper()
	m := team{}
	limited := func(name, role string) func(*app.Config) {
		return func(c *app.Config) {
			m.with(name, role, "*")(c)
			c.Console.Reviewers[len(c.Console.Reviewers)-1].Tenants = []string{"theirs"}
		}
	}
	w := build(t, askAll, callThenText, embedded, limited("al", "admin"), limited("eve", "reviewer"), m.with("ada", "admin", "*"), m.with("bob", "reviewer", "*"), func(c *app.Config) {
		c.Proxy.Clients = []app.Client{{Key: "theirs", Tenant: "theirs", Agent: "shown-agent"}, {Key: "other", Tenant: "other", Agent: "veiled-agent"}}
	})
	w.console = w.as(m["ada"])
	two := &twoTenants{world: w, m: m}
	two.deciding = append(two.deciding, w.asAgent("other", "veiled-run"))
	two.hidden = w.pending(1)[0]
	ctx := t.Context()
	grant := func(tenant, pattern string) string {
		g, err := w.console.AddGrant(ctx, approvals.Grant{Effect: approvals.GrantAllow, Scope: approvals.GrantTenant, Principal: approvals.Principal{Tenant: tenant}, Patterns: []string{pattern}})
		if err != nil {
			t.Fatal(err)
		}
		return g.ID
	}
	two.grant = grant("other", "veiled_tool(*)")
	for _, who := range []string{"other", "*"} {
		if _, err := w.console.Secrets().Set(ctx, approvals.SecretPayload{Name: "VEILED_TOKEN", Value: "q81kLw0opensesame" + who, Principal: approvals.Principal{Tenant: who, User: "*", Agent: "*"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.console.Runs().SignalPrincipal(ctx, approvals.PrincipalSignalPayload{Principal: approvals.Principal{Tenant: "other", Agent: "veiled-paused"}, Action: approvals.SignalPause}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.console.Runs().SignalPrincipal(ctx, approvals.PrincipalSignalPayload{Principal: approvals.Principal{Agent: "veiled-everywhere"}, Action: approvals.SignalPause}); err != nil {
		t.Fatal(err)
	}
	d, err := w.as(m["bob"]).Delegate(ctx, approvals.Delegation{To: "ada", Until: time.Now().Add(time.Hour), Note: "veiled note"})
	if err != nil {
		t.Fatal(err)
	}
	two.toAll = d.ID
	grant("theirs", "shown_tool(*)")
	if _, err := w.console.Secrets().Set(ctx, approvals.SecretPayload{Name: "SHOWN_TOKEN", Value: "p72jMv9opensesame", Principal: approvals.Principal{Tenant: "theirs", User: "*", Agent: "*"}}); err != nil {
		t.Fatal(err)
	}
	two.deciding = append(two.deciding, w.asAgent("theirs", "shown-run"))
	for _, r := range w.pending(2) {
		if r.ID != two.hidden.ID {
			two.shown = r
		}
	}
	w.eventOf(approvals.EventApprovalRequired, two.shown.ID) // which comes after the request
	two.unseen = []string{"veiled", `"tenant":"other"`, two.hidden.ID, two.grant, two.toAll, two.hidden.SessionID}
	return two
}

// checkUnseen checks that a text has nothing of the other tenant. sent is what the reviewer has sent, which a refusal may quote.
func (two *twoTenants) checkUnseen(where, text, sent string) {
	two.t.Helper()
	for _, word := range two.unseen {
		if word != "" && strings.Contains(strings.ToLower(text), strings.ToLower(word)) && !strings.Contains(strings.ToLower(sent), strings.ToLower(word)) {
			two.t.Errorf("%s has %q of another tenant: %s", where, word, text)
		}
	}
}

// do sends a request as the reviewer al.
func (two *twoTenants) do(method, path, body string) (int, string) {
	two.t.Helper()
	ctx, cancel := context.WithTimeout(two.t.Context(), soon)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, two.app.ConsoleURL()+path, strings.NewReader(body))
	if err != nil {
		two.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+two.m["al"])
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		two.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		two.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// attempt is what a reviewer of one tenant tries at a route.
type attempt struct {
	query, body string
	id          string // in the path
	status      int    // 0: any below 500
	has         string // what they see of their own
}

// attempts are those at each route of the API. A route that is not here fails the test.
func (two *twoTenants) attempts() map[string]attempt {
	const (
		grant  = `{"effect":"allow","scope":"tenant","principal":{"tenant":"other"},"patterns":["veiled_tool(x)"]}`
		all    = `{"name":"VEILED_TOKEN","value":"z64kLw0opensesame","principal":{"tenant":"*","user":"*","agent":"*"}}`
		stop   = `{"action":"abort_run"}`
		public = `{}`
	)
	id, run, soonOver := two.hidden.ID, two.hidden.RunID, time.Now().Add(time.Hour).Format(time.RFC3339)
	return map[string]attempt{
		"GET /api/v1/requests":                  {query: "?limit=1", status: 200, has: two.shown.ID},
		"GET /api/v1/requests/{id}":             {id: id, status: 404},
		"GET /api/v1/requests/{id}/suggestions": {id: id, status: 404},
		"POST /api/v1/requests/{id}/decision":   {id: id, body: `{"action":"approve"}`, status: 404},
		"POST /api/v1/requests/{id}/challenge":  {id: id, body: `{"action":"approve"}`, status: 404},
		"POST /api/v1/decisions":                {body: fmt.Sprintf(`{"decisions":[{"request_id":%q,"action":"deny"}]}`, id), status: 200, has: `"status":404`},
		"GET /api/v1/runs":                      {status: 200, has: two.shown.RunID},
		"GET /api/v1/runs/{id}":                 {id: run, status: 404},
		"POST /api/v1/runs/{id}/signal":         {id: run, body: stop, status: 404},
		"POST /api/v1/runs/{id}/workspace":      {id: run, body: `{"folder":"/srv/other"}`, status: 404},
		"GET /api/v1/signals":                   {status: 200},
		"POST /api/v1/signals":                  {body: `{"principal":{"agent":"veiled-agent"},"action":"abort_run"}`, status: 403},
		"GET /api/v1/grants":                    {query: "?limit=1", status: 200, has: "shown_tool"},
		"POST /api/v1/grants":                   {body: grant, status: 403},
		"POST /api/v1/grants/preview":           {body: grant, status: 403},
		"GET /api/v1/grants/{id}":               {id: two.grant, status: 404},
		"DELETE /api/v1/grants/{id}":            {id: two.grant, status: 404},
		"GET /api/v1/grant-templates":           {status: 200},
		"GET /api/v1/policy/proposals":          {status: 403},
		"GET /api/v1/secrets":                   {status: 200, has: "SHOWN_TOKEN"},
		"POST /api/v1/secrets":                  {body: all, status: 403},
		"DELETE /api/v1/secrets":                {query: "?name=VEILED_TOKEN&tenant=other&user=*&agent=*", status: 403},
		"GET /api/v1/events":                    {}, // see below
		"GET /api/v1/ws":                        {status: 426},
		"GET /api/v1/audit":                     {query: "?limit=500", status: 200, has: two.shown.ID},
		"GET /api/v1/audit/state":               {status: 403},
		"GET /api/v1/delegations":               {status: 200},
		"POST /api/v1/delegations":              {body: fmt.Sprintf(`{"from":"bob","to":"eve","until":%q}`, soonOver), status: 403},
		"DELETE /api/v1/delegations/{id}":       {id: two.toAll, status: 404},
		"GET /api/v1/me":                        {status: 200, has: `"tenants":["theirs"]`},
		"GET /api/v1/push":                      {status: 200},
		"POST /api/v1/push":                     {body: public},
		"DELETE /api/v1/push/{id}":              {id: "x", status: 204},
		"GET /api/v1/passkeys":                  {status: 200},
		"POST /api/v1/passkeys":                 {body: public},
		"POST /api/v1/passkeys/options":         {body: public},
		"POST /api/v1/passkeys/challenge":       {body: public},
		"POST /api/v1/passkeys/{id}/revoke":     {id: "x", body: public},
		"GET /api/v1/session":                   {status: 200},
		"POST /api/v1/session":                  {body: `{"token":"x"}`, status: 401},
		"DELETE /api/v1/session":                {status: 204},
		"POST /api/v1/session/oidc":             {body: public},
		"POST /api/v1/session/oidc/code":        {body: public},
		"GET /openapi.json":                     {status: 200},
		"GET /reference":                        {status: 200},
		"GET /metrics":                          {status: 200},
		"GET /healthz":                          {status: 200},
		"GET /readyz":                           {status: 200},
	}
}

// Nothing of another tenant is in the answer of any route, and nothing of it can be changed.
func TestReviewersOfATenantOverREST(t *testing.T) {
	t.Parallel()
	two := newTwoTenants(t)
	_, text := two.do("GET", "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	attempts, routes := two.attempts(), 0
	for path, methods := range document.Paths {
		for method := range methods {
			if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) {
				continue
			}
			routes++
			name := strings.ToUpper(method) + " " + path
			a, known := attempts[name]
			if !known {
				t.Errorf("%s: is not tried by a reviewer of another tenant: add it to attempts", name)
				continue
			}
			if name == "GET /api/v1/events" || name == "GET /openapi.json" || name == "GET /reference" { // the first does not end; the others are documents of the API
				continue
			}
			status, answer := two.do(strings.ToUpper(method), strings.ReplaceAll(path, "{id}", a.id)+a.query, a.body)
			if (a.status != 0 && status != a.status) || status >= 500 || !strings.Contains(answer, a.has) {
				t.Errorf("%s: %d %s, want %d with %q", name, status, answer, a.status, a.has)
			}
			two.checkUnseen(name, answer, a.id+a.query+a.body)
		}
	}
	if routes != len(attempts) {
		t.Errorf("%d routes, and %d are tried", routes, len(attempts))
	}
	if r := two.status(two.hidden.ID, approvals.StatusPending); len(r.Decisions) > 0 {
		t.Errorf("somebody has decided: %+v", r.Decisions)
	}
	if run := two.run(two.hidden.RunID, approvals.RunRunning); run.ReviewerID != "" {
		t.Errorf("somebody has steered %+v", run)
	}
	two.checkStreams()
	// The answer to a late decision has the request.
	two.decide(two.hidden.ID, approvals.Decision{Action: approvals.ActionApprove})
	if status, answer := two.do("POST", "/api/v1/requests/"+two.hidden.ID+"/decision", `{"action":"approve"}`); status != 404 {
		t.Errorf("a late decision: %d %s", status, answer)
	}
	if status, answer := two.do("POST", "/api/v1/requests/"+two.shown.ID+"/decision", `{"action":"approve"}`); status != 200 {
		t.Errorf("a decision on their own: %d %s", status, answer)
	}
	for _, c := range two.deciding {
		c.passes()
	}
	if _, metrics := two.do("GET", "/metrics", ""); !strings.Contains(metrics, `heldcall_holds_total{outcome="approved",tool="other"} 2`) {
		t.Error("the metrics have the names of tools:", metrics)
	}
}

// checkStreams reads the events and a WebSocket up to the records of the reviewer's own tenant, which come last.
func (two *twoTenants) checkStreams() {
	t := two.t
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, two.app.ConsoleURL()+"/api/v1/events?requests=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+two.m["al"])
	request.Header.Set("Last-Event-ID", "0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		two.checkUnseen("the event stream", lines.Text(), "")
		if strings.HasPrefix(lines.Text(), "data:") && strings.Contains(lines.Text(), `"status":"pending"`) && strings.Contains(lines.Text(), two.shown.ID) {
			break
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}

	socket, _, err := websocket.Dial(t.Context(), two.app.ConsoleURL()+"/api/v1/ws?last_event_id=0", &websocket.DialOptions{Subprotocols: []string{live.Subprotocol}, HTTPHeader: http.Header{"Authorization": {"Bearer " + two.m["al"]}}})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.CloseNow()
	socket.SetReadLimit(-1)
	decision := fmt.Sprintf(`{"type":"agent_tool_permission_response","id":"1","data":{"request_id":%q,"action":"deny"}}`, two.hidden.ID)
	for _, message := range []string{decision, `{"type":"get_agent_status","id":"2","data":{}}`} {
		if err := socket.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	for answers := 0; answers < 2; {
		_, text, err := socket.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		two.checkUnseen("the WebSocket", string(text), "")
		var m live.Message[json.RawMessage]
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.ID == "1" && !strings.Contains(string(text), `"not_found"`):
			t.Errorf("a decision over the WebSocket: %s", text)
		case m.ID == "2" && !strings.Contains(string(text), two.shown.RunID):
			t.Errorf("the status has nothing of their own: %s", text)
		}
		if m.ID != "" {
			answers++
		}
	}
}

// Nothing of another tenant is on any subject that they may use.
func TestReviewersOfATenantOverNATS(t *testing.T) {
	t.Parallel()
	two := newTwoTenants(t)
	al := connect(t, "nats://"+two.app.NATSAddr(), natsgo.UserInfo("al", two.m["al"]), natsgo.CustomInboxPrefix("_INBOX_al"))
	c, err := contracttest.Load("../docs/asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	feeds := []*natsgo.Subscription{al.listen("heldcall.v1.requests.theirs.>"), al.listen("heldcall.v1.events.theirs.>")}
	refused := func(subjects ...string) func() { return func() { al.mayNot("Publish", subjects...) } }
	unheard := func(subjects ...string) func() { return func() { al.mayNot("Subscription", subjects...) } }
	answered := func(subject, payload, code string) func() {
		return func() {
			answer := al.ask(subject, payload)
			text, err := json.Marshal(answer)
			if err != nil || answer["code"] != code {
				t.Errorf("%s: %s, want the code %s (%v)", subject, text, code, err)
			}
			two.checkUnseen(subject, string(text), subject+payload)
		}
	}
	tried := map[string]func(){
		"requests":      unheard("heldcall.v1.requests.>", "heldcall.v1.requests.other.>", "heldcall.v1.requests.*.permission.*"),
		"events":        unheard("heldcall.v1.events.>", "heldcall.v1.events.other.>", "heldcall.v1.events.default.>"),
		"inbox":         unheard("_INBOX.>", "_INBOX_ada.>", ">"),
		"service.ping":  refused("$SRV.PING"),
		"service.info":  refused("$SRV.INFO.heldcall"),
		"service.stats": refused("$SRV.STATS"),
		"decide":        answered("heldcall.v1.decide.al."+two.hidden.ID, `{"action":"approve"}`, "unknown_request"),
		"signal":        answered("heldcall.v1.signal.al."+subjects.Token(two.hidden.RunID), `{"action":"abort_run"}`, "unknown_run"),
		"signals":       answered("heldcall.v1.signals.al", `{"principal":{"agent":"veiled-agent"},"action":"abort_run"}`, "forbidden"),
		"grants.add":    answered("heldcall.v1.grants.al.add", `{"effect":"allow","scope":"tenant","principal":{"tenant":"other"},"patterns":["veiled_tool(x)"]}`, "forbidden"),
		"grants.revoke": answered("heldcall.v1.grants.al.revoke", fmt.Sprintf(`{"id":%q}`, two.grant), "unknown_grant"),
	}
	for _, question := range []string{"requests.list", "requests.get", "runs.list", "runs.get", "signals.list", "grants.list", "grants.get", "grants.preview"} {
		tried[question] = refused("heldcall.v1.svc." + question)
	}
	for name := range c.Channels {
		if tried[name] == nil {
			t.Errorf("%s: is not tried by a reviewer of another tenant", name)
			continue
		}
		tried[name]()
	}
	if len(tried) != len(c.Channels) {
		t.Errorf("%d channels, and %d are tried", len(c.Channels), len(tried))
	}
	al.mayNot("Publish", append(foreign("x"), "$JS.API.STREAM.MSG.GET.HELDCALL_EVENTS", "$JS.API.STREAM.MSG.GET.HELDCALL_REQUESTS", "$JS.API.DIRECT.GET.HELDCALL_EVENTS",
		"$JS.API.STREAM.INFO.HELDCALL_EVENTS", "$JS.API.CONSUMER.CREATE.HELDCALL_REQUESTS", "$JS.API.CONSUMER.NAMES.HELDCALL_REQUESTS",
		"$JS.API.CONSUMER.MSG.NEXT.HELDCALL_REQUESTS.bobs", "heldcall.v1.decide.ada.x")...)

	two.deciding = append(two.deciding, two.asAgent("other", "veiled-run-2"))
	two.pending(3)
	if reply := al.ask("heldcall.v1.decide.al."+two.shown.ID, `{"action":"approve"}`); reply["status"] != "approved" {
		t.Errorf("al's decision: %v", reply)
	}
	heard, err := feeds[1].NextMsg(soon)
	if err != nil || !strings.Contains(string(heard.Data), two.shown.ID) {
		t.Errorf("the feed of events has %v, %v", heard, err)
	}
	if n, _, err := feeds[0].Pending(); err != nil || n != 0 {
		t.Errorf("the feed of requests has %d of others, %v", n, err)
	}
	two.console = two.as(two.m["ada"])
	for _, r := range two.pending(2) {
		two.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
	}
	for _, c := range two.deciding {
		c.passes()
	}
}

// A delegation of a reviewer of some tenants gives no right in others.
func TestDelegationsKeepTenants(t *testing.T) {
	t.Parallel()
	m := team{}
	w := build(t, "default: ask\nrules: [{ask: ['*'], reviewers: [finance]}]\n", callThenText, m.with("ann", "reviewer", "finance"), m.with("bob", "reviewer"), m.with("ada", "admin"), func(c *app.Config) {
		c.Console.Reviewers[0].Tenants = []string{"theirs"}
		c.Proxy.Clients = []app.Client{{Key: "theirs", Tenant: "theirs"}, {Key: "other", Tenant: "other"}}
	})
	w.console = w.as(m["ada"])
	if _, err := w.as(m["ann"]).Delegate(t.Context(), approvals.Delegation{To: "bob", Until: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	calls := []*call{w.asAgent("theirs", "r"), w.asAgent("other", "r")}
	for _, r := range w.pending(2) {
		_, err := w.as(m["bob"]).Decide(t.Context(), approve(r.ID))
		if r.Principal.Tenant == "other" {
			wantCode(t, err, "forbidden")
		} else if err != nil {
			t.Errorf("bob decides for ann: %v", err)
		}
	}
	calls[0].passes()
	for _, c := range calls {
		c.resp.Body.Close()
	}
}

// A reviewer has sixteen consumers, and those of one leave others theirs.
func TestConsumersOfAReviewerAreBounded(t *testing.T) {
	t.Parallel()
	w, m := staffed(t, askAll, callThenText, embedded)
	streams := func(name string) jetstream.JetStream {
		// The user of a connection by token is the reviewer too, whatever name it gives.
		js, err := jetstream.New(connect(t, "nats://"+w.app.NATSAddr(), natsgo.Token(m[name])).Conn)
		if err != nil {
			t.Fatal(err)
		}
		return js
	}
	create := func(js jetstream.JetStream, n int) error {
		stream := []string{subjects.StreamRequests, subjects.StreamEvents}[n%2]
		_, err := js.CreateOrUpdateConsumer(t.Context(), stream, jetstream.ConsumerConfig{Durable: fmt.Sprintf("mine%d", n), Metadata: map[string]string{"heldcall.owner": "bob"}})
		return err
	}
	ann := streams("ann")
	for n := range 16 {
		if err := create(ann, n); err != nil {
			t.Fatalf("consumer %d: %v", n, err)
		}
	}
	for _, js := range []jetstream.JetStream{ann, streams("ann")} {
		if err := create(js, 16); err == nil || !strings.Contains(err.Error(), "ann has 16 consumers") {
			t.Errorf("another consumer: %v", err)
		}
	}
	if err := create(ann, 3); err != nil {
		t.Errorf("one of the sixteen again: %v", err)
	}
	if err := create(streams("bob"), 17); err != nil {
		t.Errorf("one of another reviewer: %v", err)
	}
}
