package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hookMessage is what a webhook's receiver reads.
type hookMessage struct {
	Type string `json:"type"`
	Data struct {
		Request   approvals.Request `json:"request"`
		DecideURL string            `json:"decide_url"`
	} `json:"data"`
}

// hooked is a receiver that verifies what it gets, and the configuration for it.
func hooked(t *testing.T, take func(hookMessage)) func(*app.Config) {
	t.Helper()
	library, err := standardwebhooks.NewWebhook(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m hookMessage
		if err := library.Verify(body, r.Header); err != nil || json.Unmarshal(body, &m) != nil {
			t.Errorf("a message does not verify: %v: %s", err, body)
			return
		}
		take(m)
	}))
	t.Cleanup(server.Close)
	return func(c *app.Config) {
		c.Notify.Webhooks = []app.WebhookConfig{{Name: "ci", URL: app.Secret(server.URL), Secrets: []app.Secret{hookSecret}, Reviewer: "local"}}
	}
}

// A program that is notified of a call decides it once, by the URL in the message.
func TestAWebhookDecides(t *testing.T) {
	t.Parallel()
	messages := make(chan hookMessage, 10)
	w := build(t, askAll, callThenText, hooked(t, func(m hookMessage) { messages <- m }))
	answer := make(chan string, 1)
	go func() {
		c, err := w.tryPost("/v1/chat/completions", streamedRequest)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- c.rest()
	}()
	m := <-messages
	if m.Type != "approval_required" || m.Data.Request.ToolName != "bash" || !strings.HasPrefix(m.Data.DecideURL, w.app.ConsoleURL()+"/hooks/ci/") {
		t.Fatalf("the message is %+v", m)
	}
	if page := w.get(m.Data.DecideURL); !strings.Contains(page, "opensesame") || w.status(m.Data.Request.ID, approvals.StatusPending).Status != approvals.StatusPending {
		t.Errorf("the page is %s", page)
	}
	decide := func() (int, string) {
		resp, err := http.Post(m.Data.DecideURL, "application/json", strings.NewReader(`{"action":"approve"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if status, body := decide(); status != http.StatusOK {
		t.Errorf("it answers %d: %s", status, body)
	}
	if got := <-answer; !strings.Contains(got, "call_sesame") {
		t.Errorf("the agent got %q", got)
	}
	if m = <-messages; m.Type != "approval_decision" || m.Data.DecideURL != "" {
		t.Errorf("the second message is %+v", m)
	}
	m.Data.DecideURL = "http://" + strings.TrimPrefix(w.app.ConsoleURL(), "http://") + "/hooks/ci/forged"
	if status, _ := decide(); status != http.StatusNotFound {
		t.Errorf("a forged URL answers %d", status)
	}
	if log := w.log.String(); strings.Contains(log, hookSecret) || strings.Contains(log, "/hooks/ci/01") {
		t.Error("the log has a secret")
	}
}

// While many requests are pending, the receiver still gets each by itself. `make bench`
// measures how soon.
func TestWebhooksAreToldWhileManyWait(t *testing.T) {
	t.Parallel()
	const waiting, more = 60, 20
	come := make(chan string, waiting+more)
	w := build(t, askAll, callThenText, hooked(t, func(m hookMessage) {
		if m.Type == "approval_required" {
			come <- m.Data.Request.ID
		}
	}))
	var agents sync.WaitGroup
	ask := func(n int) {
		for i := range n {
			body := strings.Replace(streamedRequest, "do it", fmt.Sprintf("do it, %d of %d", i, n), 1)
			agents.Go(func() { _, _ = w.tryPost("/v1/chat/completions", body) }) // until the answer's head
		}
	}
	once := map[string]bool{}
	told := func(n int) {
		for range n {
			select {
			case id := <-come:
				if once[id] {
					t.Errorf("request %s came twice", id)
				}
				once[id] = true
			case <-time.After(soon):
				t.Fatalf("%d messages came", len(once))
			}
		}
	}
	ask(waiting)
	told(waiting)
	for range more {
		ask(1)
		told(1)
	}
	agents.Wait()
}
