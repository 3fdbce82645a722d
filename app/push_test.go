package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/notify/webpush/pushtest"
)

// subscribe subscribes a reviewer's browser, as the inbox does.
func (w *world) subscribe(token string, b *pushtest.Browser) {
	w.t.Helper()
	body := fmt.Sprintf(`{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q}}`, b.Endpoint, b.P256DH, b.Auth)
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.app.ConsoleURL()+"/api/v1/push", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		w.t.Fatalf("the subscription is answered with %s", response.Status)
	}
}

// Reviewers who may approve a call are notified of it and of its end in their subscribed
// browsers, also after a restart. No one else is, and notifications have no arguments.
func TestReviewersAreToldInTheirBrowsers(t *testing.T) {
	t.Parallel()
	m, service := team{}, pushtest.New(t)
	var config app.Config
	w := build(t, transferPolicy, callThenText, m.with("ann", "reviewer", "finance"), m.with("fay", "reviewer", "finance"), m.with("bob", "reviewer", "sales"),
		func(c *app.Config) { c.Console.Push.PrivateServices = true }, restarting(&config))
	w.console = w.as(m["ann"])
	ann, bob := service.Browser(), service.Browser()
	w.subscribe(m["ann"], ann)
	w.subscribe(m["bob"], bob)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.start(config)
	w.console = w.as(m["ann"])

	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	var told struct {
		ID, Tool, Ended, By string
		Count               int
	}
	read := func(message pushtest.Message) {
		t.Helper()
		if err := json.Unmarshal([]byte(message.Payload), &told); err != nil || message.Path != ann.Path() || told.ID != id || message.Topic != id {
			t.Fatalf("%s gets %s (%v)", message.Path, message.Payload, err)
		}
		if strings.Contains(message.Payload, "ls -la") {
			t.Errorf("arguments leave: %s", message.Payload)
		}
	}
	first := service.Await()
	if read(first); told.Tool != "bash" || told.Count != 1 || told.Ended != "" {
		t.Errorf("ann is told %+v", told)
	}
	w.decide(id, approve(id))
	w.console = w.as(m["fay"])
	w.decide(id, approvals.Decision{RequestID: id, Action: approvals.ActionDeny})
	agent.rest()
	if read(service.Await()); told.Ended != "denied" || told.By != "fay" {
		t.Errorf("ann is told %+v", told)
	}
	service.None()
	if log := w.log.String(); strings.Contains(log, ann.Path()) || strings.Contains(log, ann.Auth) {
		t.Error("the log has what only the browser and its push service know")
	}
}
