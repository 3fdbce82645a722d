package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/nats-io/nats-server/v2/server"
)

// insists is a model that repeats the same call, whatever the result.
func insists(r *fakemodel.Request) fakemodel.Reply {
	return fakemodel.Answer{Calls: []fakemodel.Call{lsCall}}.Reply(r)
}

// dialectRequests are the same request in each API, by the route.
var dialectRequests = map[string]string{
	"/v1/chat/completions": streamedRequest,
	"/v1/responses":        responsesRequest,
	"/v1/messages":         messagesRequest,
}

// TestMaxDenials: after so many denied calls of a run, counted over its requests,
// the answer ends with a word to the user, in each API, streamed or whole; when the
// user has spoken there is another try.
func TestMaxDenials(t *testing.T) {
	t.Parallel()
	for path, streamed := range dialectRequests {
		for form, body := range map[string]string{"streamed": streamed, "whole": strings.Replace(streamed, `"stream":true`, `"stream":false`, 1)} {
			t.Run(path[len("/v1/"):]+" "+form, func(t *testing.T) {
				t.Parallel()
				w := build(t, denyAll, insists, func(c *app.Config) { c.Proxy.MaxDenials = 4 })
				says := func(body string, asked int, want string) {
					t.Helper()
					before := len(w.upstream.Requests())
					got := w.post(path, body, "X-Heldcall-Run", "run-1").rest()
					if strings.Contains(got, "sesame") || !strings.Contains(got, want) {
						t.Errorf("got %s", got)
					}
					if n := len(w.upstream.Requests()) - before; n != asked {
						t.Errorf("upstream was asked %d times, want %d", n, asked)
					}
				}
				says(body, 4, "4 tool calls were denied since you last wrote")
				says(body, 1, "5 tool calls were denied since you last wrote")
				says(strings.Replace(body, "do it", "do it, I say", 1), 4, "4 tool calls were denied since you last wrote")
			})
		}
	}
}

// TestMaxDenialsWithoutARun: if the agent names no run, each new conversation has
// its own count of denials.
func TestMaxDenialsWithoutARun(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, insists, func(c *app.Config) { c.Proxy.MaxDenials = 3 })
	for i := range 2 {
		got := w.post("/v1/chat/completions", wholeRequest, "X-Stainless-Retry-Count", "0").rest()
		if n := len(w.upstream.Requests()); n != 3*(i+1) || !strings.Contains(got, "3 tool calls were denied") {
			t.Errorf("upstream was asked %d times, and the agent got %s", n, got)
		}
	}
}

// TestNoMaxDenials: without the bound only that of one answer counts.
func TestNoMaxDenials(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, insists, func(c *app.Config) { c.Proxy.MaxDenials = 0 })
	got := w.post("/v1/chat/completions", wholeRequest).rest()
	if n := len(w.upstream.Requests()); n != 9 || !strings.Contains(got, "denied 9 times in a row") {
		t.Errorf("upstream was asked %d times, and the agent got %s", n, got)
	}
}

// TestDeniedOnceMore: finding 21. The same words begin another conversation, unless the
// client declares a retry.
func TestDeniedOnceMore(t *testing.T) {
	t.Parallel()
	const retries = "X-Stainless-Retry-Count"
	w := build(t, askAll, refusedOnce)
	ask := func(header ...string) chan string {
		answer := make(chan string, 1)
		go func() { answer <- w.post("/v1/chat/completions", wholeRequest, header...).rest() }()
		return answer
	}
	first := ask(retries, "0")
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
	<-first
	if got := <-ask(retries, "1"); !strings.Contains(got, "Understood.") { // nobody is asked
		t.Errorf("got %s", got)
	}
	for _, header := range [][]string{{retries, "0"}, nil} {
		anew := ask(header...)
		w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
		<-anew
	}
	if got := <-ask(retries, "2"); !strings.Contains(got, "Understood.") {
		t.Errorf("got %s", got)
	}
}

// TestDeniedInAnotherConversation: finding 21. A denial counts for no conversation that
// begins with the same words, under the same API key or another, named or not; for a
// request that is sent again it does.
func TestDeniedInAnotherConversation(t *testing.T) {
	t.Parallel()
	for path, body := range dialectRequests {
		t.Run(path[len("/v1/"):], func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, refusedOnce)
			ask := func(header ...string) chan string {
				answer := make(chan string, 1)
				go func() { answer <- w.post(path, body, header...).rest() }()
				return answer
			}
			isAsked := func(header ...string) {
				t.Helper()
				answer := ask(header...)
				w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny})
				<-answer
			}
			isTold := func(header ...string) { // from another address, which does not get the answer again
				t.Helper()
				if got := <-w.beginFrom("127.0.0.2", path, body, header...); !strings.Contains(got.body, "Understood.") {
					t.Errorf("got %+v", got)
				}
				sent := w.upstream.Requests()
				if told := string(sent[len(sent)-1].Body); !strings.Contains(told, "already denied") {
					t.Errorf("the model got %s", told)
				}
			}
			const key, retries, once, run = "Authorization", "X-Stainless-Retry-Count", "Idempotency-Key", "X-Heldcall-Run"
			isAsked(key, "Bearer a", once, "1")
			isAsked(key, "Bearer a")
			isAsked(key, "Bearer a", once, "2")
			isAsked(key, "Bearer b", retries, "1")
			isAsked(key, "Bearer b", once, "1")
			isTold(key, "Bearer a", once, "1")
			isTold(key, "Bearer a", retries, "1")
			isAsked(key, "Bearer a", run, "run-1")
			isTold(key, "Bearer a", run, "run-1")
			isAsked(key, "Bearer b", run, "run-1")
		})
	}
}

// TestDeniedAgainEverywhere: what a person has denied stays denied after a restart,
// and on another replica.
func TestDeniedAgainEverywhere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		state     func(*testing.T) func(*app.Config)
		elsewhere func(*world, app.Config) *world
	}{
		"after a restart":    {func(*testing.T) func(*app.Config) { return func(*app.Config) {} }, (*world).restarted},
		"on another replica": {onServer, (*world).replica},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c app.Config
			w := build(t, askAll, refusedOnce, tt.state(t), restarting(&c))
			for path, body := range dialectRequests {
				answer := make(chan string, 1)
				go func() { answer <- w.post(path, body, "X-Heldcall-Run", path).rest() }()
				w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "not on Fridays"})
				<-answer
			}
			other := tt.elsewhere(w, c)
			for path, body := range dialectRequests {
				if got := other.post(path, body, "X-Heldcall-Run", path).rest(); !strings.Contains(got, "Understood.") {
					t.Errorf("%s: got %s", path, got)
				}
				requests := w.upstream.Requests()
				if told := string(requests[len(requests)-1].Body); !strings.Contains(told, "already denied") || !strings.Contains(told, "not on Fridays") {
					t.Errorf("%s: the model got %s", path, told)
				}
			}
			if n := len(w.pendingNow()); n != 0 {
				t.Errorf("%d requests are pending", n)
			}
		})
	}
}

func (w *world) restarted(c app.Config) *world {
	w.t.Helper()
	w.restart(c)
	return w
}

// onServer keeps the state on a NATS server outside of heldcall.
func onServer(t *testing.T) func(*app.Config) {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(soon) {
		t.Fatal("the NATS server does not start")
	}
	return func(c *app.Config) { c.NATS.URL, c.NATS.Listen = srv.ClientURL(), "" }
}

// replica is another heldcall before the same upstream, over the same store.
func (w *world) replica(c app.Config) *world {
	w.t.Helper()
	other := &world{t: w.t, upstream: w.upstream}
	other.start(c)
	return other
}

// pendingNow are the requests that are pending at this moment.
func (w *world) pendingNow() []approvals.Request {
	w.t.Helper()
	page, err := w.console.Requests(w.t.Context(), approvals.Filter{Status: approvals.StatusPending})
	if err != nil {
		w.t.Fatal(fmt.Errorf("list the pending requests: %w", err))
	}
	return page.Items
}

// Users of one application begin with the same words and get the same ids of calls. What people decided about
// the call of one is in the conversation of that one, by each name that a request has for its user.
func TestDenialsOfUsersWithTheSameWords(t *testing.T) {
	t.Parallel()
	both := fakemodel.Answer{Text: "Both.", Calls: []fakemodel.Call{{ID: "call_0", Name: "bash", Arguments: sesame}, {ID: "call_1", Name: "bash", Arguments: `{"command":"pwd"}`}}}
	for api, names := range map[fakemodel.API][]string{
		fakemodel.Chat: {"user", "safety_identifier", "metadata"}, fakemodel.Responses: {"user", "safety_identifier", "metadata"}, fakemodel.Messages: {"user_profile_id", "metadata"},
	} {
		for _, name := range names {
			for _, keyed := range []bool{false, true} { // with one prompt_cache_key for all
				if keyed && api == fakemodel.Messages {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, keyed %t", api, name, keyed), func(t *testing.T) {
					t.Parallel()
					w := build(t, "default: ask\nrules:\n  - allow: [\"bash(pwd)\"]\n", (&fakemodel.Model{Rules: []fakemodel.Rule{{When: fakemodel.UserSays("do both"), Say: fakemodel.Say(both)}}, Otherwise: fakemodel.Answer{Text: "Fine."}}).Reply)
					users := map[string]*talk{}
					for _, user := range []string{"Ann", "Bob"} {
						k := newTalk(w, api, false)
						k.session, k.fields = "", map[string]any{name: user}
						if keyed {
							k.fields["prompt_cache_key"] = "all"
						}
						if name == "metadata" {
							k.fields[name] = map[string]any{"user_id": user}
						}
						answer := make(chan read, 1)
						go func() { answer <- k.say("do both") }()
						w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "Only for " + user + "."})
						for _, c := range (<-answer).calls {
							k.result(c.ID, "ran")
						}
						users[user] = k
					}
					for user, other := range map[string]string{"Ann": "Bob", "Bob": "Ann"} {
						for range 2 {
							users[user].say("go on")
							requests := w.upstream.Requests()
							if body := string(requests[len(requests)-1].Body); strings.Count(body, "Only for "+user) != 1 || strings.Contains(body, "Only for "+other) {
								t.Errorf("the model reads for %s: %s", user, body)
							}
						}
					}
				})
			}
		}
	}
}
