package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// bot is a client of NATS, and what the server has refused it.
type bot struct {
	*natsgo.Conn
	t       *testing.T
	refused chan error
}

func connect(t *testing.T, url string, options ...natsgo.Option) *bot {
	t.Helper()
	b := &bot{t: t, refused: make(chan error, 1000)}
	options = append(options, natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) { b.refused <- err }))
	conn, err := natsgo.Connect(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b.Conn = conn
	return b
}

// listen subscribes to a subject. The server knows the subscription when it returns.
func (b *bot) listen(subject string) *natsgo.Subscription {
	b.t.Helper()
	subscription, err := b.SubscribeSync(subject)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		b.t.Fatal(err)
	}
	return subscription
}

// ask sends a request and returns the reply.
func (b *bot) ask(subject, payload string) map[string]any {
	b.t.Helper()
	reply, err := b.Request(subject, []byte(payload), soon)
	if err != nil {
		b.t.Fatalf("%s: %v", subject, err)
	}
	var answer map[string]any
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		b.t.Fatalf("%s: %v: %s", subject, err, reply.Data)
	}
	return answer
}

// mayNot checks that the server refuses subjects: verb is Publish or Subscription.
func (b *bot) mayNot(verb string, subjects ...string) {
	b.t.Helper()
	for _, subject := range subjects {
		if verb == "Publish" {
			if err := b.Conn.Publish(subject, []byte(`{"action":"approve"}`)); err != nil {
				b.t.Fatal(err)
			}
		} else if _, err := b.SubscribeSync(subject); err != nil {
			b.t.Fatal(err)
		}
		select {
		case err := <-b.refused:
			if !errors.Is(err, natsgo.ErrPermissionViolation) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(fmt.Sprintf("permissions violation for %s to %q", verb, subject))) {
				b.t.Errorf("%s to %s: %v", verb, subject, err)
			}
		case <-time.After(soon):
			b.t.Fatalf("%s to %s is not refused", verb, subject)
		}
	}
}

// foreign are the subjects that no bot publishes on: state, streams, consumers that
// push, and the words of heldcall itself.
func foreign(id string) []string {
	return []string{
		"$KV.heldcall_requests." + id, "$KV.heldcall_grants.x", "$JS.API.STREAM.DELETE.HELDCALL_EVENTS", "$JS.API.STREAM.PURGE.HELDCALL_REQUESTS",
		"$JS.API.STREAM.CREATE.MINE", "$JS.API.STREAM.MSG.DELETE.HELDCALL_EVENTS", "$JS.API.STREAM.MSG.GET.KV_heldcall_requests",
		"$JS.API.CONSUMER.CREATE.KV_heldcall_requests", "$JS.API.CONSUMER.DELETE.HELDCALL_REQUESTS.bob",
		"heldcall.v1.events.default.approval_decision." + id, "heldcall.v1.requests.default.permission." + id, "_INBOX.x",
	}
}

// The embedded server knows reviewers by their tokens, and lets each decide as
// themselves only.
func TestBotsDecideAsThemselves(t *testing.T) {
	t.Parallel()
	w, m := staffed(t, askAll, callThenText, embedded)
	url := "nats://" + w.app.NATSAddr()
	ann := connect(t, url, natsgo.UserInfo("ann", m["ann"]))
	bob, ada, vic := connect(t, url, natsgo.Token(m["bob"])), connect(t, url, natsgo.Token(m["ada"])), connect(t, url, natsgo.UserInfo("vic", m["vic"]))
	feed := bob.listen("heldcall.v1.requests.>")
	agent := w.post("/v1/chat/completions", streamedRequest)
	told, err := feed.NextMsg(soon)
	if err != nil {
		t.Fatal(err)
	}
	var r approvals.Request
	if err := json.Unmarshal(told.Data, &r); err != nil {
		t.Fatal(err)
	}
	id := r.ID

	ann.mayNot("Publish", append(foreign(id), "heldcall.v1.decide.bob."+id, "heldcall.v1.decide.local."+id, "heldcall.v1.decide.ada."+id, "heldcall.v1.signal.ann.r", "heldcall.v1.grants.ann.add")...)
	ann.mayNot("Subscription", "heldcall.v1.decide.>", "$KV.>", ">")
	vic.mayNot("Publish", "heldcall.v1.decide.vic."+id, "heldcall.v1.signal.vic.r")
	if list := vic.ask("heldcall.v1.svc.requests.list", `{"status":"pending"}`); len(list["items"].([]any)) != 1 {
		t.Errorf("the viewer sees %v", list)
	}
	if run := ada.ask("heldcall.v1.signal.ada.another", `{"action":"pause_run"}`); run["reviewer_id"] != "ada" {
		t.Errorf("ada's signal: %v", run)
	}
	if got := w.status(id, approvals.StatusPending); len(got.Decisions) != 0 {
		t.Errorf("somebody has decided: %+v", got.Decisions)
	}
	if reply := ann.ask("heldcall.v1.decide.ann."+id, `{"action":"approve"}`); reply["status"] != "approved" {
		t.Errorf("ann's decision: %v", reply)
	}
	if got := w.status(id, approvals.StatusApproved); got.Decisions[0].ReviewerID != "ann" {
		t.Errorf("it was decided by %+v", got.Decisions)
	}
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}

	js, err := jetstream.New(bob.Conn)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.CreateOrUpdateConsumer(t.Context(), subjects.StreamRequests, jetstream.ConsumerConfig{Durable: "bobs", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatalf("bob's consumer: %v", err)
	}
	if msg, err := consumer.Next(jetstream.FetchMaxWait(soon)); err != nil || msg.DoubleAck(t.Context()) != nil {
		t.Errorf("bob reads %v, %v", msg, err)
	}
}

// Finding 10 (control side): with reviewers, no client without credentials connects,
// so none takes messages from the consumers of others, makes consumers or reads, unless
// nats.auth is open.
func TestWhoConnectsToTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	for _, auth := range []string{"", "open", "reviewers"} {
		m := team{}
		w := build(t, askAll, callThenText, m.with("ann", "reviewer"), func(c *app.Config) { c.NATS.Auth = auth }, embedded)
		url := "nats://" + w.app.NATSAddr()
		for name, option := range map[string]natsgo.Option{
			"a wrong token":             natsgo.Token("heldcall_GUESSED"),
			"a token of another's name": natsgo.UserInfo("ada", m["ann"]),
			"a wrong password":          natsgo.UserInfo("ann", "x"),
			"a name alone":              natsgo.UserInfo("ann", ""),
			"heldcall's own name":       natsgo.UserInfo("heldcall", m["ann"]),
			"its helper's":              natsgo.UserInfo("heldcall-door", ""),
		} {
			if conn, err := natsgo.Connect(url, option); !errors.Is(err, natsgo.ErrAuthorization) {
				t.Errorf("%s: %s gets %v, %v", auth, name, conn, err)
			}
		}
		if told := strings.Count(w.log.String(), "refused a bot"); told != 3 {
			t.Errorf("%s: the log has %d refusals, want the first three in a minute", auth, told)
		}
		if warned := strings.Contains(w.log.String(), "nats.auth is open"); warned != (auth == "open") {
			t.Errorf("%s: warned of who reads: %t", auth, warned)
		}
		anybody, err := natsgo.Connect(url)
		if auth != "open" {
			if !errors.Is(err, natsgo.ErrAuthorization) {
				t.Errorf("%s: anybody gets %v", auth, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		anybody.Close()
		connect(t, url).mayNot("Publish", "heldcall.v1.decide.ann.x")
	}
}

// `heldcall nats permissions` prints a server configuration under which each reviewer can
// do what the role permits, and nothing else.
func TestPrintedPermissionsHold(t *testing.T) {
	t.Parallel()
	m, dir := team{}, t.TempDir()
	var console app.Config
	staff := []func(*app.Config){m.with("vic", "viewer"), m.with("ann", "reviewer"), m.with("bob@corp.example", "reviewer"), m.with("ada", "admin")}
	for _, add := range staff {
		add(&console)
	}
	accounts, err := console.Console.NATSAccounts()
	if err != nil {
		t.Fatal(err)
	}
	srv, seed := serveAccounts(t, dir, accounts.String())
	w := build(t, askAll, callThenText, func(c *app.Config) {
		c.Console.Reviewers = console.Console.Reviewers
		c.NATS.URL, c.NATS.NKey = srv.ClientURL(), seed
	})
	w.console = w.as(m["ada"])
	user := func(name, inbox string) *bot {
		return connect(t, srv.ClientURL(), natsgo.UserInfo(name, "of "+name), natsgo.CustomInboxPrefix(inbox))
	}
	ann, ada, vic := user("ann", "_INBOX_ann"), user("ada", "_INBOX_ada"), user("vic", "_INBOX_vic")
	bobs := subjects.Token("bob@corp.example")
	bob := user("bob@corp.example", "_INBOX_"+bobs)
	own := ownerOf(t, srv, seed)
	for _, durable := range []string{"ann", bobs} {
		if _, err := own.CreateOrUpdateConsumer(t.Context(), subjects.StreamRequests, jetstream.ConsumerConfig{Durable: durable, AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
			t.Fatal(err)
		}
	}
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID

	ann.mayNot("Publish", append(foreign(id), "heldcall.v1.decide."+bobs+"."+id, "heldcall.v1.decide.ada."+id, "heldcall.v1.signal.ann.r", "heldcall.v1.grants.ann.add",
		"$JS.API.CONSUMER.MSG.NEXT.HELDCALL_REQUESTS."+bobs, "$JS.API.CONSUMER.CREATE.HELDCALL_REQUESTS", "$JS.API.CONSUMER.DURABLE.CREATE.HELDCALL_REQUESTS.ann")...)
	ann.mayNot("Subscription", "_INBOX_"+bobs+".>", "_INBOX.>", "heldcall.v1.decide.>", "$KV.>", ">")
	vic.mayNot("Publish", "heldcall.v1.decide.vic."+id, "heldcall.v1.signal.vic.r", "heldcall.v1.grants.vic.add")
	if list := vic.ask("heldcall.v1.svc.requests.list", `{"status":"pending"}`); len(list["items"].([]any)) != 1 {
		t.Errorf("the viewer sees %v", list)
	}
	if run := ada.ask("heldcall.v1.signal.ada.another", `{"action":"pause_run"}`); run["reviewer_id"] != "ada" {
		t.Errorf("ada's signal: %v", run)
	}
	js, err := jetstream.New(bob.Conn)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.Consumer(t.Context(), subjects.StreamRequests, bobs)
	if err != nil {
		t.Fatalf("bob's consumer: %v", err)
	}
	if msg, err := consumer.Next(jetstream.FetchMaxWait(soon)); err != nil || !strings.Contains(string(msg.Data()), id) || msg.DoubleAck(t.Context()) != nil {
		t.Errorf("bob reads %v, %v", msg, err)
	}
	if reply := bob.ask("heldcall.v1.decide."+bobs+"."+id, `{"action":"approve"}`); reply["status"] != "approved" {
		t.Errorf("bob's decision: %v", reply)
	}
	if got := w.status(id, approvals.StatusApproved); got.Decisions[0].ReviewerID != "bob@corp.example" {
		t.Errorf("it was decided by %+v", got.Decisions)
	}
	agent.rest()
}

// serveAccounts starts a server with accounts, and returns a file with the seed of
// heldcall's key. A reviewer's password is "of " and their name.
func serveAccounts(t *testing.T, dir, accounts string) (srv *server.Server, seed string) {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	variables := fmt.Sprintf("HELDCALL_NKEY: %s\nNATS_PASSWORD_VIC: \"of vic\"\nNATS_PASSWORD_ANN: \"of ann\"\nNATS_PASSWORD_ADA: \"of ada\"\nNATS_PASSWORD_BOB_CORP_EXAMPLE: \"of bob@corp.example\"\n", public)
	seed = filepath.Join(dir, "seed")
	file := filepath.Join(dir, "nats.conf")
	if err := errors.Join(os.WriteFile(seed, secret, 0o600),
		os.WriteFile(file, fmt.Appendf(nil, "jetstream {store_dir: %q}\n%s%s", filepath.Join(dir, "js"), variables, accounts), 0o600)); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("the server does not take what was printed: %v\n%s", err, accounts)
	}
	options.Host, options.Port, options.NoSigs, options.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	srv, err = server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(soon) {
		t.Fatal("the server does not start")
	}
	return srv, seed
}

// ownerOf is JetStream in heldcall's own account, as its operator has it.
func ownerOf(t *testing.T, srv *server.Server, seed string) jetstream.JetStream {
	t.Helper()
	option, err := natsgo.NkeyOptionFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(connect(t, srv.ClientURL(), option).Conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// natsToken is the option of a client that proves who it is by a token.
func natsToken(token string) natsgo.Option { return natsgo.Token(token) }

// natsRefuses checks that a client without credentials may not connect.
func (w *world) natsRefuses(t *testing.T) {
	t.Helper()
	if conn, err := natsgo.Connect("nats://" + w.app.NATSAddr()); !errors.Is(err, natsgo.ErrAuthorization) {
		t.Errorf("a client without credentials gets %v, %v", conn, err)
	}
}
