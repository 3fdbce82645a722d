package slack_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/heldcall/heldcall/internal/testing/fakeslack"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/notifytest"
	"github.com/heldcall/heldcall/notify/slack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const botToken = "xoxb-opensesame"

// workspace is a channel and its Slack.
type workspace struct {
	*fakeslack.Server
	channel *slack.Channel
}

func newWorkspace(t *testing.T) workspace {
	t.Helper()
	server := fakeslack.New()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() { client.CloseIdleConnections(); server.Close() })
	return workspace{server, slack.New(slack.Options{
		BotToken: botToken, SigningSecret: "signing-opensesame", Target: "C1", APIURL: server.URL(),
		Inbox: func() string { return "https://heldcall.example" }, Client: client,
	})}
}

func (w workspace) Channel() notify.Channel { return w.channel }
func (w workspace) Wire() []string          { return w.Bodies() }
func (w workspace) Secrets() []string       { return []string{"opensesame"} }
func (w workspace) Answers(a notifytest.Answer) {
	w.Server.Answers(func(string) fakeslack.Answer {
		switch a {
		case notifytest.Limits:
			return fakeslack.Answer{Status: http.StatusTooManyRequests, RetryAfter: notifytest.LimitedFor}
		case notifytest.Fails:
			return fakeslack.Answer{Status: http.StatusInternalServerError}
		case notifytest.Refuses:
			return fakeslack.Answer{Error: "invalid_arguments"}
		case notifytest.Hangs:
			return fakeslack.Answer{Hang: true}
		}
		return fakeslack.Answer{}
	})
}

func TestChannel(t *testing.T) {
	notifytest.Run(t, func(t *testing.T) notifytest.Service { return newWorkspace(t) })
}

func TestCardIsFoundByItsMetadata(t *testing.T) {
	w := newWorkspace(t)
	d := notifytest.Delivery(notifytest.Request(1))
	w.Server.Answers(func(method string) fakeslack.Answer { return fakeslack.Answer{Lose: method == "chat.postMessage"} })
	if ref, err := w.channel.Post(t.Context(), d); err == nil {
		t.Fatalf("the answer was lost, and the card is %q", ref)
	}
	w.Server.Answers(nil)
	ref, found, err := w.channel.Find(t.Context(), d)
	if err != nil || !found || !strings.Contains(string(ref), w.Messages()[0].TS) {
		t.Fatalf("found %t as %q: %v", found, ref, err)
	}
	d.ID = "another"
	if ref, found, err := w.channel.Find(t.Context(), d); err != nil || found {
		t.Errorf("a card that was never posted is found as %q: %v", ref, err)
	}
	w.Server.Answers(func(string) fakeslack.Answer { return fakeslack.Answer{Error: "missing_scope"} })
	if _, found, err := w.channel.Find(t.Context(), d); err != nil || found {
		t.Errorf("without the right to look: %t, %v", found, err)
	}
}

func TestWithoutWaysInThereAreNoButtons(t *testing.T) {
	server := fakeslack.New()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() { client.CloseIdleConnections(); server.Close() })
	c := slack.New(slack.Options{BotToken: botToken, Target: "C1", APIURL: server.URL(), Inbox: func() string { return "http://x" }, Client: client})
	r := notifytest.Request(1)
	if _, err := c.Post(t.Context(), notifytest.Delivery(r)); err != nil {
		t.Fatal(err)
	}
	if got := server.Messages()[0].Buttons(r.ID); got != nil {
		t.Errorf("buttons %q lead nowhere", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Listen(ctx); err != nil {
		t.Error(err)
	}
}
