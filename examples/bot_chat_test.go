package examples_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/demo"
	"github.com/heldcall/heldcall/internal/testing/testdeps"
	heldcallnats "github.com/heldcall/heldcall/notify/nats"
	"github.com/heldcall/heldcall/notify/notifytest"
)

const chatToken = "token-of-the-chat"

// fakeChat is a chat with an incoming webhook, which fails once. It returns the posts.
func fakeChat(t *testing.T) (address string, posts chan string) {
	posts = make(chan string, 20)
	failed := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Text string }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.Text == "" {
			t.Errorf("the chat gets %+v: %v", m, err)
		}
		if !failed {
			failed = true
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		posts <- m.Text
	}))
	t.Cleanup(server.Close)
	return server.URL, posts
}

// say sends a message as the chat's outgoing webhook does, and returns the answer.
func say(t *testing.T, bot, token, text string) (status int, answer string) {
	t.Helper()
	resp, err := http.PostForm(bot, url.Values{"token": {token}, "text": {text}, "user_name": {"ann"}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// A call goes to the chat, once the chat takes it, and is decided from there, once,
// by whom the chat's token proves to be the chat. What was asked before the bot
// started is forwarded too.
func TestBotChat(t *testing.T) {
	program := testdeps.Program(t, ".", "./bot-chat")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stage := openStage(ctx, t)
	webhook, posts := fakeChat(t)
	t.Setenv("CHAT_WEBHOOK", webhook+"/hooks/secret-of-the-hook")
	t.Setenv("CHAT_TOKEN", chatToken)
	t.Setenv("LISTEN", "127.0.0.1:0")

	agent, err := stage.NewAgent("chat", func(demo.Line) {})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	asked := make(chan error, 1)
	go func() { asked <- agent.Ask(ctx, demo.TaskTidy) }()
	first := awaitRequest(ctx, t, stage, "chat", 0)
	out := startBot(ctx, t, stage.NATS, program)
	bot := regexp.MustCompile(`http://\S+`).FindString(out.String())

	if post := posted(ctx, t, posts); !strings.Contains(post, "`list_files`") || !strings.Contains(post, "approve "+first.ID) {
		t.Errorf("the chat is told %q", post)
	}
	for _, token := range []string{"", "other", chatToken + "x"} {
		if status, answer := say(t, bot, token, "approve "+first.ID); status != http.StatusUnauthorized {
			t.Errorf("with the token %q: %d %s", token, status, answer)
		}
	}
	for text, want := range map[string]string{
		"hello": "I take", "approve *": "I take", "approve 01KAKZ00000000000000000000": "no request",
	} {
		if _, answer := say(t, bot, chatToken, text); !strings.Contains(answer, want) {
			t.Errorf("%q is answered %s", text, answer)
		}
	}
	if r, err := stage.Client.Request(ctx, first.ID); err != nil || r.Status != approvals.StatusPending {
		t.Fatalf("it is %s: %v", r.Status, err)
	}
	if _, answer := say(t, bot, chatToken, "approve "+first.ID); !strings.Contains(answer, "approved") {
		t.Errorf("answered %s", answer)
	}
	post := posted(ctx, t, posts)
	id := regexp.MustCompile(`deny (\S+) WHY`).FindStringSubmatch(post)
	if !strings.Contains(post, "rm -r cache drafts") || id == nil {
		t.Fatalf("the chat is told %q", post)
	}
	if _, answer := say(t, bot, chatToken, "deny "+id[1]+" not today"); !strings.Contains(answer, "denied") {
		t.Errorf("answered %s", answer)
	}
	if _, answer := say(t, bot, chatToken, "approve "+id[1]); !strings.Contains(answer, "already") {
		t.Errorf("a second answer is answered %s", answer)
	}
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	r, err := stage.Client.Request(ctx, id[1])
	if err != nil || r.Status != approvals.StatusDenied || r.Decisions[0].Note != "not today (ann, in the chat)" || r.Decisions[0].Channel != "nats" {
		t.Errorf("it is %+v: %v", r, err)
	}
	if text := out.String(); strings.Contains(text, "secret-of-the-hook") || strings.Contains(text, chatToken) || !strings.Contains(text, "the chat answered 503") {
		t.Errorf("the bot says %s", text)
	}
}

// fakeHeldcall answers over NATS as heldcall does: while it fails, with an error of its
// store; else one of two requests is gone and the other is pending. It returns the
// decisions, and whether a durable consumer has nothing left.
func fakeHeldcall(ctx context.Context, t *testing.T, waits approvals.Request, failing *atomic.Bool) (address string, decided chan string, done func(durable string) bool) {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "HELDCALL_REQUESTS", Subjects: []string{"heldcall.v1.requests.>"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{goneID, waits.ID} {
		if _, err := js.Publish(ctx, "heldcall.v1.requests.acme.permission."+id, []byte(`{"id":"`+id+`","status":"pending"}`)); err != nil {
			t.Fatal(err)
		}
	}
	decided = make(chan string, 10)
	answer := func(m *nats.Msg) {
		var reply any = waits
		switch {
		case strings.HasPrefix(m.Subject, "heldcall.v1.decide."):
			decided <- string(m.Data)
		case failing.Load():
			reply = heldcallnats.Failure{Code: heldcallnats.CodeStoreUnavailable, Message: "the store does not answer"}
		case strings.Contains(string(m.Data), goneID):
			reply = heldcallnats.Failure{Code: heldcallnats.CodeUnknownRequest, Message: "there is no request with this id"}
		}
		body, err := json.Marshal(reply)
		if err = errors.Join(err, m.Respond(body)); err != nil {
			t.Error(err)
		}
	}
	for _, subject := range []string{"heldcall.v1.svc.requests.get", "heldcall.v1.decide.>"} {
		if _, err := nc.Subscribe(subject, answer); err != nil {
			t.Fatal(err)
		}
	}
	return srv.ClientURL(), decided, func(durable string) bool {
		consumer, err := stream.Consumer(ctx, durable)
		if err != nil {
			t.Fatal(err)
		}
		info := consumer.CachedInfo()
		return info.NumPending == 0 && info.NumAckPending == 0
	}
}

const goneID = "01KAKZ00000000000000000008"

// A request is neither dropped nor approved unseen while heldcall fails, one that is too
// long for the chat is shown and approved elsewhere, and one that is gone is left alone.
func TestBotChatDecidesNothingUnseen(t *testing.T) {
	program := testdeps.Program(t, ".", "./bot-chat")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	long := notifytest.Request(1)
	long.Arguments = json.RawMessage(`{"command":"` + strings.Repeat("echo harmless; ", 130) + `rm -r /srv"}`)
	var failing atomic.Bool
	failing.Store(true)
	address, decided, done := fakeHeldcall(ctx, t, long, &failing)
	webhook, posts := fakeChat(t)
	t.Setenv("CHAT_WEBHOOK", webhook)
	t.Setenv("CHAT_TOKEN", chatToken)
	t.Setenv("LISTEN", "127.0.0.1:0")

	out := startBot(ctx, t, address, program)
	bot := regexp.MustCompile(`http://\S+`).FindString(out.String())
	if _, answer := say(t, bot, chatToken, "approve "+long.ID); !strings.Contains(answer, "the store does not answer") {
		t.Errorf("while the store fails an approval is answered %s", answer)
	}
	out.await(ctx, t, "the store does not answer")
	failing.Store(false)
	if post := posted(ctx, t, posts); !strings.Contains(post, "too long for a chat: decide "+long.ID) || strings.Contains(post, "echo") {
		t.Errorf("the chat is told %q", post)
	}
	if _, answer := say(t, bot, chatToken, "approve "+long.ID); !strings.Contains(answer, "Nobody has seen all of it here") {
		t.Errorf("to approve what is too long is answered %s", answer)
	}
	for !done("chat-local") {
		if ctx.Err() != nil {
			t.Fatalf("the bot has still to tell of a request: %s", out)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, answer := say(t, bot, chatToken, "deny "+long.ID+" no"); !strings.Contains(answer, long.ID) {
		t.Errorf("to deny what is too long is answered %s", answer)
	}
	if len(posts) != 0 || len(decided) != 1 || !strings.Contains(<-decided, `"deny"`) {
		t.Errorf("%d more messages, and not one denial alone; the bot says %s", len(posts), out)
	}
}

func posted(ctx context.Context, t *testing.T, posts chan string) string {
	t.Helper()
	select {
	case text := <-posts:
		return text
	case <-ctx.Done():
		t.Fatal("nothing is posted")
		return ""
	}
}
