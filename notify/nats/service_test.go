package nats_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/notify/nats"
)

const soon = time.Minute // bounds every wait; nothing is timed with it

// The object store of nats.go leaks a goroutine that waits for ever on a nil channel if that goroutine
// first runs after the write that started it has ended (newAsyncReply, v1.55.0).
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// stack is a store that listens for bots, a gate and the service on it.
type stack struct {
	store *store.Store
	gate  *gate.Gate
	bot   *natsgo.Conn
}

func start(t *testing.T) stack {
	t.Helper()
	return startFor(t, nil)
}

// startFor starts with reviewers.
func startFor(t *testing.T, who *reviewers.Directory) stack {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	book := grants.New(grants.Options{Store: s.ForGrants(), Judge: anyGrant{}})
	g := gate.New(gate.Options{Store: s.ForGate(), Grants: book})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{book.Run, g.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { cancel(); running.Wait() })
	<-book.Ready()
	<-g.Ready()
	service, err := nats.Start(nats.Options{Conn: s.Conn(), Gate: g, Grants: book, Version: "1.2.3", Reviewers: who})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Stop(); err != nil {
			t.Error(err)
		}
	})
	return stack{s, g, dial(t, s)}
}

// dial connects as a bot does.
func dial(t *testing.T, s *store.Store, options ...natsgo.Option) *natsgo.Conn {
	t.Helper()
	closed := make(chan struct{})
	conn, err := natsgo.Connect("nats://"+s.ListenAddr(), append(options,
		natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {}), // it prints what bots may not do
		natsgo.ClosedHandler(func(*natsgo.Conn) { close(closed) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); <-closed })
	return conn
}

func (st stack) open(t *testing.T) (approvals.Request, *gate.Hold) {
	t.Helper()
	h, err := st.gate.Open(t.Context(), []approvals.Request{{
		Kind:      approvals.KindPermission,
		Principal: approvals.Principal{Tenant: "acme corp"},
		RunID:     "run.1",
		ToolName:  "rm",
		Arguments: json.RawMessage(`{"path":"<x>"}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return h.Requests()[0], h
}

func ask(t *testing.T, c *natsgo.Conn, subject, payload string) map[string]any {
	t.Helper()
	msg, err := c.Request(subject, []byte(payload), soon)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	var reply map[string]any
	if err := json.Unmarshal(msg.Data, &reply); err != nil {
		t.Fatalf("%s: %q: %v", subject, msg.Data, err)
	}
	return reply
}

func TestDecide(t *testing.T) {
	st := start(t)
	r, h := st.open(t)
	for _, c := range []struct{ subject, payload, code string }{
		{"heldcall.v1.decide.bob." + r.ID, `{"action":"approve"}`, "unknown_reviewer"},
		{"heldcall.v1.decide.local." + r.ID, `{"action":"approve","action":"deny"}`, "invalid"},
		{"heldcall.v1.decide.local." + r.ID, `{"action":"approve","request_id":"01JD0000000000000000000000"}`, "invalid"},
		{"heldcall.v1.decide.local." + r.ID, `{"action":"allow_always"}`, "invalid"},
		{"heldcall.v1.decide.local.01JD0000000000000000000000", `{"action":"approve"}`, "unknown_request"},
		{"heldcall.v1.decide.local.nonsense", `{"action":"approve"}`, "unknown_request"},
	} {
		conn := st.bot
		if strings.Contains(c.subject, ".bob.") {
			conn = st.store.Conn() // the bot itself may not publish there
		}
		got := ask(t, conn, c.subject, c.payload)
		if message, _ := got["message"].(string); got["code"] != c.code || message == "" || strings.Contains(message, "heldcall_") {
			t.Errorf("%s %s: %v, want code %s", c.subject, c.payload, got, c.code)
		}
	}
	if now, err := st.gate.Request(t.Context(), r.ID); err != nil || now.Status != approvals.StatusPending {
		t.Fatalf("after refused decisions: %+v, %v", now, err)
	}
	won := ask(t, st.bot, "heldcall.v1.decide.local."+r.ID, `{"confirmed":true,"reviewer_id":"the boss","note":"ok"}`)
	if won["status"] != "approved" {
		t.Fatalf("reply %v", won)
	}
	<-h.Done()
	if d := h.Requests()[0].Decisions[0]; d.ReviewerID != "local" || d.Channel != "nats" || d.Note != "ok" {
		t.Fatalf("decision %+v", d)
	}
	lost := ask(t, st.bot, "heldcall.v1.decide.local."+r.ID, `{"action":"deny"}`)
	if lost["code"] != "already_decided" || lost["request"].(map[string]any)["status"] != "approved" {
		t.Fatalf("the second decision returns %v", lost)
	}
}

func TestSignal(t *testing.T) {
	st := start(t)
	_, h := st.open(t)
	subject := "heldcall.v1.signal.local." + subjects.Token("run.1")
	if run := ask(t, st.bot, subject, `{"action":"pause_run"}`); run["state"] != "paused" || run["known"] != true {
		t.Fatalf("reply %v", run)
	}
	if run := ask(t, st.bot, "heldcall.v1.signal.local.misspelt", `{"action":"abort_run"}`); run["state"] != "aborted" || run["known"] != false {
		t.Fatalf("an unknown run: %v", run)
	}
	if run := ask(t, st.bot, subject, `{"action":"abort_run","run_id":"other"}`); run["code"] != "invalid" {
		t.Fatalf("reply %v", run)
	}
	if run := ask(t, st.bot, subject, `{"action":"abort_run","run_id":"run.1"}`); run["state"] != "aborted" {
		t.Fatalf("reply %v", run)
	}
	<-h.Done()
	if r := h.Requests()[0]; r.Status != approvals.StatusCancelled || r.Details.CancelReason != "run_aborted" {
		t.Fatalf("the held call ended as %s (%s)", r.Status, r.Details.CancelReason)
	}
}

func TestMicroService(t *testing.T) {
	st := start(t)
	r, _ := st.open(t)
	info := ask(t, st.bot, "$SRV.INFO.heldcall", "")
	if endpoints := info["endpoints"].([]any); len(endpoints) != 11 {
		t.Fatalf("info %v", info)
	}
	list := ask(t, st.bot, "heldcall.v1.svc.requests.list", `{"status":"pending"}`)
	if items := list["items"].([]any); len(items) != 1 || items[0].(map[string]any)["id"] != r.ID {
		t.Fatalf("list %v", list)
	}
	if got := ask(t, st.bot, "heldcall.v1.svc.requests.list", `{"staus":"pending"}`); got["code"] != "invalid" {
		t.Fatalf("a misspelt filter: %v", got)
	}
	if got := ask(t, st.bot, "heldcall.v1.svc.requests.get", `{"id":"`+r.ID+`"}`); got["tool_name"] != "rm" {
		t.Fatalf("get %v", got)
	}
	if got := ask(t, st.bot, "heldcall.v1.svc.requests.get", `{"id":"x"}`); got["code"] != "unknown_request" {
		t.Fatalf("get %v", got)
	}
	ask(t, st.bot, "heldcall.v1.signal.local."+subjects.Token("run.1"), `{"action":"pause_run"}`)
	if got := ask(t, st.bot, "heldcall.v1.svc.runs.get", `{"id":"run.1"}`); got["state"] != "paused" {
		t.Fatalf("run %v", got)
	}
	if got := ask(t, st.bot, "heldcall.v1.svc.runs.list", ``); len(got["items"].([]any)) != 1 {
		t.Fatalf("runs %v", got)
	}
	if got := ask(t, st.bot, "heldcall.v1.svc.runs.get", `{"id":"no"}`); got["code"] != "unknown_run" {
		t.Fatalf("run %v", got)
	}
}

// A bot reads new requests with a durable consumer or a plain subscription, and
// events live.
func TestBotReadsStreams(t *testing.T) {
	st := start(t)
	live, err := st.bot.SubscribeSync("heldcall.v1.requests.>")
	if err != nil {
		t.Fatal(err)
	}
	events, err := st.bot.SubscribeSync("heldcall.v1.events.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.bot.Flush(); err != nil {
		t.Fatal(err)
	}
	r, _ := st.open(t)
	js, err := jetstream.New(st.bot)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.CreateOrUpdateConsumer(t.Context(), "HELDCALL_REQUESTS", jetstream.ConsumerConfig{Durable: "my-bot", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := consumer.Next()
	if err != nil {
		t.Fatal(err)
	}
	want := "heldcall.v1.requests." + subjects.Token("acme corp") + ".permission." + r.ID
	if msg.Subject() != want {
		t.Errorf("subject %s, want %s", msg.Subject(), want)
	}
	var got approvals.Request
	if err := json.Unmarshal(msg.Data(), &got); err != nil || got.ID != r.ID || string(got.Arguments) != `{"path":"<x>"}` {
		t.Errorf("payload %s, %v", msg.Data(), err)
	}
	if err := msg.DoubleAck(t.Context()); err != nil {
		t.Error(err)
	}
	for _, sub := range []*natsgo.Subscription{live, events} {
		m, err := sub.NextMsg(soon)
		if err != nil || !strings.HasSuffix(m.Subject, r.ID) {
			t.Errorf("live: %v, %v", m, err)
		}
	}
	reader, err := js.OrderedConsumer(t.Context(), "HELDCALL_EVENTS", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := reader.Next(); err != nil || !strings.Contains(m.Subject(), ".approval_required."+r.ID) {
		t.Errorf("events: %v, %v", m, err)
	}
}

// What a bot on loopback must not do: write heldcall's state by whatever way.
func TestPromise4_BotsCannotWriteState(t *testing.T) {
	st := start(t)
	r, h := st.open(t)
	forged := r
	forged.Status = approvals.StatusApproved
	payload, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	bot := dial(t, st.store)
	for _, subject := range []string{
		"$KV.heldcall_requests." + r.ID,
		"$KV.heldcall_turns.s1.t1",
		"heldcall.v1.requests.acme.permission." + r.ID,
		"heldcall.v1.events.acme.call_released." + r.ID,
		"heldcall.v1.decide.bob." + r.ID,
		"heldcall.v1.signal.bob.run-1",
		"$JS.API.STREAM.DELETE.HELDCALL_EVENTS",
		"$JS.API.STREAM.PURGE.KV_heldcall_requests",
		"$JS.API.STREAM.CREATE.MINE",
		"$JS.API.STREAM.MSG.GET.KV_heldcall_turns",
		"$JS.API.DIRECT.GET.KV_heldcall_turns",
		"$JS.API.CONSUMER.CREATE.KV_heldcall_turns",
	} {
		if msg, err := bot.Request(subject, payload, 100*time.Millisecond); err == nil {
			t.Errorf("%s answered %s", subject, msg.Data)
		} else if !errors.Is(err, natsgo.ErrTimeout) && !errors.Is(err, natsgo.ErrNoResponders) {
			t.Errorf("%s: %v", subject, err)
		}
	}
	// Ways to make others write for it: a reply subject, a push consumer.
	for _, subject := range []string{"$SRV.PING", "$SRV.INFO.heldcall", "heldcall.v1.svc.requests.list", "heldcall.v1.decide.local." + r.ID, "$JS.API.STREAM.INFO.HELDCALL_REQUESTS"} {
		if err := bot.PublishRequest(subject, "$KV.heldcall_requests."+r.ID, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	push := `{"stream_name":"HELDCALL_REQUESTS","config":{"deliver_subject":"$KV.heldcall_requests.` + r.ID + `","ack_policy":"none","deliver_policy":"all"}}`
	if got := ask(t, bot, "$JS.API.CONSUMER.CREATE.HELDCALL_REQUESTS", push); got["error"].(map[string]any)["code"] != 403.0 {
		t.Errorf("a push consumer: %v", got)
	}
	if err := bot.Flush(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // for what must not happen
	stored, err := st.store.Requests.GetRequest(t.Context(), r.ID)
	if err != nil {
		t.Fatalf("the record was overwritten: %v", err)
	}
	if stored.Request.Status != approvals.StatusPending {
		t.Fatalf("the record was overwritten: %+v", stored)
	}
	js, err := jetstream.New(st.store.Conn())
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), "heldcall_requests")
	if err != nil {
		t.Fatal(err)
	}
	if status, err := kv.Status(t.Context()); err != nil || status.Values() != 1 {
		t.Errorf("%v, %v", status, err)
	}
	if entry, err := kv.Get(t.Context(), r.ID); err != nil || entry.Revision() != stored.Revision || entry.Revision() != 1 {
		t.Errorf("the record was written again: %v, %v", entry, err)
	}
	select {
	case <-h.Done():
		t.Fatal("a bot ended the hold without a decision")
	default:
	}
}
