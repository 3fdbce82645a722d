package app_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/fakesocket"
	"github.com/tidwall/gjson"
)

// Agents that send their requests over one WebSocket.

// socketWorld is a heldcall in front of a model API with WebSockets.
type socketWorld struct {
	*world
	api *fakesocket.Server
}

func buildSocket(t *testing.T, policy string, script fakemodel.Script, configure ...func(*app.Config)) *socketWorld {
	t.Helper()
	sw := &socketWorld{}
	configure = append([]func(*app.Config){func(c *app.Config) {
		api, err := fakesocket.Start(c.Proxy.Upstreams[0].URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(api.Close)
		sw.api = api
		c.Proxy.Upstreams[0].URL = api.URL()
	}}, configure...)
	sw.world = build(t, policy, script, configure...)
	return sw
}

// socketAgent is an agent with a WebSocket.
type socketAgent struct {
	t    *testing.T
	conn *websocket.Conn
	head http.Header
}

func (w *socketWorld) connect(header ...string) *socketAgent {
	w.t.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	protocols := h["Sec-Websocket-Protocol"]
	h.Del("Sec-Websocket-Protocol")
	conn, answer, err := websocket.Dial(w.t.Context(), "ws://"+w.app.ProxyAddr()+"/v1/responses", &websocket.DialOptions{HTTPHeader: h, Subprotocols: protocols, CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		w.t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	w.t.Cleanup(func() { _ = conn.CloseNow() })
	return &socketAgent{w.t, conn, answer.Header}
}

func (a *socketAgent) send(message string) {
	a.t.Helper()
	if err := a.conn.Write(a.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		a.t.Fatal(err)
	}
}

const socketTools = `"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]`

// create asks for an answer. fields begin with a comma.
func (a *socketAgent) create(input, fields string) {
	a.t.Helper()
	a.send(fmt.Sprintf(`{"type":"response.create","model":"m","input":%s,%s%s}`, input, socketTools, fields))
}

func userInput(text string) string {
	return fmt.Sprintf(`[{"type":"message","role":"user","content":%q}]`, text)
}

func outputOf(call string) string {
	return fmt.Sprintf(`[{"type":"function_call_output","call_id":%q,"output":"done"}]`, call)
}

// next reads the next message.
func (a *socketAgent) next() string {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), soon)
	defer cancel()
	kind, message, err := a.conn.Read(ctx)
	if err != nil || kind != websocket.MessageText {
		a.t.Fatalf("read a message: %v (%v)", err, kind)
	}
	return string(message)
}

// answer reads to the end of an answer, and returns its messages.
func (a *socketAgent) answer() (messages []string) {
	a.t.Helper()
	for {
		m := a.next()
		messages = append(messages, m)
		switch gjson.Get(m, "type").Str {
		case "response.completed", "response.failed", "response.incomplete", "error":
			return messages
		}
	}
}

func endOf(messages []string) gjson.Result { return gjson.Parse(messages[len(messages)-1]) }

// callsBash calls bash for each thing that a user asks, and answers with text after a result.
func callsBash() fakemodel.Script {
	return (&fakemodel.Model{Rules: []fakemodel.Rule{{When: fakemodel.UserSays("do it"), Say: fakemodel.Say(list("call_sesame1Xk9Vr3", sesame))}}, Otherwise: fakemodel.Answer{Text: "Hello."}}).Reply
}

func TestSocketPassesText(t *testing.T) {
	t.Parallel()
	w := buildSocket(t, askAll, callsBash())
	a := w.connect("Authorization", "Bearer k", "session-id", "s1")
	if got := a.head.Get("X-Models-Etag"); got != "etag-1" {
		t.Errorf("the head of the upstream is missing: %v", a.head)
	}
	if a.head.Get("Sec-Websocket-Extensions") != "" {
		t.Error("compression was agreed on")
	}
	for i, fields := range []string{"", `,"stream_id":"lane 1"`, `,"stream":true,"store":false`} {
		a.create(userInput(fmt.Sprintf("hello %d", i)), fields)
		got := a.answer()
		if endOf(got).Get("type").Str != "response.completed" || !strings.Contains(strings.Join(got, ""), "Hello.") {
			t.Fatalf("%s: %s", fields, got)
		}
		for _, m := range got {
			if gjson.Get(m, "stream_id").Str != gjson.Get("{"+strings.TrimPrefix(fields, ",")+"}", "stream_id").Str {
				t.Errorf("another lane: %s", m)
			}
		}
	}
	if h := w.api.Heads()[0]; h.Get("Authorization") != "Bearer k" || h.Get("Session-Id") != "s1" {
		t.Errorf("headers of the agent are missing: %v", h)
	}
}

// A held call leaves only with its approval; until then text messages show that the connection lives.
func TestPromise1_NoLeak_OverWebSocket(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"", `,"store":false`} {
		for _, action := range []approvals.Action{approvals.ActionApprove, approvals.ActionDeny, approvals.ActionModifyArgs} {
			t.Run(string(action)+store, func(t *testing.T) {
				t.Parallel()
				w := buildSocket(t, askAll, callsBash())
				a := w.connect("Authorization", "Bearer k")
				a.create(userInput("do it"), store)
				request := w.pending(1)[0]
				var before []string
				for beats := 0; beats < 2; {
					m := a.next()
					before = append(before, m)
					if gjson.Get(m, "type").Str == "keepalive" {
						beats++
					}
				}
				if all := strings.Join(before, ""); strings.Contains(all, "sesame") {
					t.Fatalf("the held call has left: %s", all)
				}
				d := approvals.Decision{Action: action}
				if action == approvals.ActionModifyArgs {
					d.ModifiedArgs = []byte(`{"command":"ls /edited"}`)
				}
				w.decide(request.ID, d)
				all := append(before, a.answer()...)
				got := strings.Join(all, "")
				if endOf(all).Get("type").Str != "response.completed" {
					t.Fatalf("it ends with %s", endOf(all))
				}
				next := userInput("thanks")
				switch action {
				case approvals.ActionDeny:
					if strings.Contains(got, "sesame") || !strings.Contains(got, "Hello.") {
						t.Fatalf("after the denial: %s", got)
					}
				case approvals.ActionModifyArgs:
					if !strings.Contains(got, "/edited") || strings.Contains(got, "ls /sesame") {
						t.Fatalf("after the edit: %s", got)
					}
					next = outputOf("call_sesame1Xk9Vr3")
				default:
					if !strings.Contains(got, "ls /sesame") {
						t.Fatalf("after the approval: %s", got)
					}
					next = outputOf("call_sesame1Xk9Vr3")
				}
				a.create(next, store+fmt.Sprintf(`,"previous_response_id":%q`, endOf(all).Get("response.id").Str))
				if end := endOf(a.answer()); end.Get("type").Str != "response.completed" {
					t.Errorf("the next request: %s", end)
				}
			})
		}
	}
}

// An agent can leave an answer whose call is held, and ask for the next on the same lane.
func TestSocketInterrupt(t *testing.T) {
	t.Parallel()
	w := buildSocket(t, askAll, callsBash())
	a := w.connect()
	a.create(userInput("do it"), "")
	response := gjson.Get(a.next(), "response.id").Str
	request := w.pending(1)[0]
	a.send(fmt.Sprintf(`{"type":"response.interrupt","response_id":%q,"mode":"discard_partial_items"}`, response))
	got := a.answer()
	if end := endOf(got); end.Get("type").Str != "response.incomplete" || end.Get("response.incomplete_details.reason").Str != "interrupted" || end.Get("response.id").Str != response || strings.Contains(strings.Join(got, ""), "sesame") {
		t.Errorf("got %s", got)
	}
	w.agent(request.ID, approvals.AgentDetached)
	a.create(userInput("hello"), "")
	if end := endOf(a.answer()); end.Get("type").Str != "response.completed" {
		t.Errorf("the next request: %s", end)
	}
}

// An interrupt goes upstream without what the agent may not send there.
func TestSocketInterruptHasNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "ghp_Zq81kLw0opensesame"
	gate := make(chan struct{})
	w := buildSocket(t, allowAll, func(r *fakemodel.Request) fakemodel.Reply {
		reply := fakemodel.Answer{Text: "Hello."}.Reply(r)
		reply.Body[len(reply.Body)-1].Gate = gate
		return reply
	})
	w.setSecret("API_TOKEN", secret)
	a := w.connect()
	a.create(userInput("hello "+secret), "")
	id := gjson.Get(a.next(), "response.id").Str
	a.send(fmt.Sprintf(`{"type":"response.interrupt","response_id":%q,"mode":"discard_partial_items","note":%q}`, id, secret))
	w.until("the interrupt arrives", func() bool { return len(w.api.Messages()) == 2 })
	close(gate)
	got := w.api.Messages()[1]
	if strings.Contains(got, secret) || gjson.Get(got, "response_id").Str != id || gjson.Get(got, "mode").Str != "discard_partial_items" {
		t.Errorf("upstream got %s", got)
	}
}

// The messages of an answer without calls arrive byte for byte, and upstream gets what the agent sent.
func TestPromise2_NoDrift_OverWebSocket(t *testing.T) {
	t.Parallel()
	const request = `{"model":"m", "input":[ {"type":"message","role":"user","content":"caf\u00e9 \u2028 é"} ],"temperature":1.0,"tools":[]}`
	w := buildSocket(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Text: "caf\u00e9, \"quoted\" \U0001f600 \u2028 and more", Reasoning: "I think."}.Reply(r)
	}, func(c *app.Config) { c.Proxy.Keepalive = time.Hour })
	a := w.connect()
	a.send(`{"type":"response.create",` + request[1:])
	got := a.answer()
	if want := w.api.Sent(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	sent := gjson.Parse(w.api.Messages()[0])
	for name, value := range gjson.Parse(request).Map() {
		if sent.Get(name).Raw != value.Raw {
			t.Errorf("upstream got %s: %s", name, sent.Get(name).Raw)
		}
	}
	if n := len(sent.Map()); n != len(gjson.Parse(request).Map())+1 {
		t.Errorf("upstream got %s", sent)
	}
}

// Arguments that two parsers could read differently are never allowed without asking.
func TestPromise9_WhatIsJudgedIsWhatRuns_OverWebSocket(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]string{"duplicate names": `{"command":"ls","command":"rm -rf /"}`, "escaped twin": `{"command":"ls","\u0063ommand":"rm -rf /"}`, "cut off": `{"command":"ls`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := buildSocket(t, "default: allow\nrules:\n  - allow: [bash, \"bash(*)\"]\n", func(r *fakemodel.Request) fakemodel.Reply {
				return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: arguments}}}.Reply(r)
			})
			w.connect().create(userInput("do it"), "")
			if r := w.pending(1)[0]; len(r.Details.Flags) == 0 || r.Details.RawArguments != arguments {
				t.Errorf("flags %q, raw arguments %q", r.Details.Flags, r.Details.RawArguments)
			}
		})
	}
}

// While a call is held, each lane has text messages, as clients do not count pings.
func TestPromise14_NeverSilent_OverWebSocket(t *testing.T) {
	t.Parallel()
	w := buildSocket(t, askAll, callsBash())
	a := w.connect()
	for _, lane := range []string{"one", "two"} {
		a.create(userInput("do it for "+lane), fmt.Sprintf(`,"stream_id":%q`, lane))
	}
	w.pending(2)
	for beats := map[string]int{}; beats["one"] < 3 || beats["two"] < 3; {
		if m := a.next(); gjson.Get(m, "type").Str == "keepalive" {
			beats[gjson.Get(m, "stream_id").Str]++
		}
	}
}

// A held call stops its lane and not the others.
func TestSocketLanesAreApart(t *testing.T) {
	t.Parallel()
	w := buildSocket(t, askAll, callsBash())
	a := w.connect()
	a.create(userInput("do it"), `,"stream_id":"held"`)
	request := w.pending(1)[0]
	a.create(userInput("waits"), `,"stream_id":"held"`)
	a.create(userInput("hello"), `,"stream_id":"free"`)
	for {
		m := a.next()
		if gjson.Get(m, "stream_id").Str == "free" && gjson.Get(m, "type").Str == "response.completed" {
			break
		}
		if strings.Contains(m, "sesame") {
			t.Fatalf("the held call has left: %s", m)
		}
	}
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := a.answer(); !strings.Contains(strings.Join(got, ""), "sesame") {
		t.Errorf("the approved call: %s", got)
	}
	if got := a.answer(); !strings.Contains(strings.Join(got, ""), "Hello.") || endOf(got).Get("stream_id").Str != "held" {
		t.Errorf("the request after it: %s", got)
	}
}

// An agent whose connection breaks while a call is held gets the decision when it asks again, over another
// WebSocket or over HTTP, and people are asked once.
func TestPromise12_AskedOnce_OverWebSocket(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"websocket", "http"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := buildSocket(t, askAll, callsBash())
			a := w.connect("Authorization", "Bearer k")
			a.create(userInput("do it"), `,"store":false`)
			request := w.pending(1)[0]
			_ = a.conn.CloseNow()
			w.agent(request.ID, approvals.AgentDetached)
			answer := make(chan string, 1)
			if way == "http" {
				again := w.post("/v1/responses", fmt.Sprintf(`{"model":"m","input":%s,%s,"store":false,"stream":true}`, userInput("do it"), socketTools), "Authorization", "Bearer k")
				go func() { answer <- again.rest() }()
			} else {
				again := w.connect("Authorization", "Bearer k")
				again.create(userInput("do it"), `,"store":false`)
				go func() { answer <- strings.Join(again.answer(), "") }()
			}
			w.agent(request.ID, approvals.AgentAttached)
			if both := w.pending(1); both[0].ID != request.ID {
				t.Fatal("people are asked again")
			}
			w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
			if got := <-answer; !strings.Contains(got, "ls /sesame") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// The model API ends its connection after an hour. The agent's stays, and a held call can still be decided.
func TestSocketOutlivesUpstreams(t *testing.T) {
	t.Parallel()
	w := buildSocket(t, askAll, callsBash())
	a := w.connect()
	a.create(userInput("do it"), `,"store":false`)
	request := w.pending(1)[0]
	w.api.CutAll()
	w.decide(request.ID, approvals.Decision{Action: approvals.ActionApprove})
	got := a.answer()
	if !strings.Contains(strings.Join(got, ""), "ls /sesame") {
		t.Fatalf("got %s", got)
	}
	a.create(outputOf("call_sesame1Xk9Vr3"), fmt.Sprintf(`,"store":false,"previous_response_id":%q`, endOf(got).Get("response.id").Str))
	if end := endOf(a.answer()); end.Get("error.code").Str != "previous_response_not_found" || end.Get("status").Int() != 400 {
		t.Errorf("the new connection does not know the response: %s", end)
	}
	a.create(userInput("hello"), "")
	if end := endOf(a.answer()); end.Get("type").Str != "response.completed" {
		t.Errorf("the next request: %s", end)
	}
}

// The model API ends its connection while a call is held, and the call is denied. The model learns it where the request
// had the whole conversation; else the agent learns that it has to send that.
func TestSocketDeniedAfterUpstreamsEnd(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprintf("whole conversation %t", whole), func(t *testing.T) {
			t.Parallel()
			w := buildSocket(t, askAll, callsBash())
			a := w.connect()
			fields := `,"store":false`
			if !whole {
				a.create(userInput("hello"), fields)
				fields += fmt.Sprintf(`,"previous_response_id":%q`, endOf(a.answer()).Get("response.id").Str)
			}
			a.create(userInput("do it"), fields)
			request := w.pending(1)[0]
			w.api.CutAll()
			w.decide(request.ID, approvals.Decision{Action: approvals.ActionDeny})
			got := a.answer()
			switch end := endOf(got); {
			case strings.Contains(strings.Join(got, ""), "sesame"):
				t.Fatalf("the denied call has left: %s", got)
			case whole && end.Get("type").Str != "response.completed":
				t.Fatalf("got %s", end)
			case !whole && (end.Get("error.code").Str != "previous_response_not_found" || end.Get("status").Int() != 400):
				t.Fatalf("got %s", end)
			}
			a.create(userInput("hello"), `,"store":false`)
			if end := endOf(a.answer()); end.Get("type").Str != "response.completed" {
				t.Errorf("the next request: %s", end)
			}
		})
	}
}

// An answer that the model API breaks off ends with an error, and what was held of it is void.
func TestSocketUpstreamCut(t *testing.T) {
	t.Parallel()
	w := buildSocket(t, askAll, func(r *fakemodel.Request) fakemodel.Reply {
		reply := list("call_sesame1Xk9Vr3", sesame).Reply(r)
		for i, write := range reply.Body {
			if strings.Contains(string(write.Bytes), "function_call_arguments.done") {
				reply.Body, reply.End = reply.Body[:i+1], fakemodel.EndAtBoundary
				return reply
			}
		}
		return reply
	})
	a := w.connect()
	a.create(userInput("do it"), "")
	got := a.answer()
	if end := endOf(got); strings.Contains(strings.Join(got, ""), "sesame") || end.Get("type").Str != "error" || end.Get("error.code").Str != "upstream_cut" || end.Get("status").Int() < 400 {
		t.Errorf("got %s", got)
	}
}

// What heldcall does not judge is not passed on, and the connection stays.
func TestSocketRefusesMessages(t *testing.T) {
	t.Parallel()
	w := buildSocket(t, "hosted_tools: [image_generation]\n", callsBash())
	a := w.connect()
	for message, code := range map[string]string{
		`{"type":"response.interrupt","response_id":"r"}`: "route_not_gated",
		`{"type":"session.update"}`:                       "route_not_gated",
		`{}`:                                              "route_not_gated",
		`{"type":"response.create","type":"other","model":"m","input":"x"}`:    "bad_request",
		`{"type":"response.create","model":"m","input":"x","background":true}`: "bad_request",
		`{"type":"response.create","model":"m","input":"x","stream_id":7}`:     "bad_request",
		`not JSON`: "bad_request",
		`[1]`:      "bad_request",
		`{"type":"response.create","model":"m","input":"x","tools":[{"type":"web_search"}]}`: "hosted_tool_refused",
	} {
		a.send(message)
		got := a.next()
		if gjson.Get(got, "type").Str != "error" || gjson.Get(got, "error.code").Str != code || gjson.Get(got, "status").Int() < 400 {
			t.Errorf("%s: %s", message, got)
		}
	}
	for _, kind := range []string{"response.steer", "response.inject"} {
		a.send(fmt.Sprintf(`{"type":%q,"response_id":"r","input":[]}`, kind))
		if got := a.next(); gjson.Get(got, "type").Str != kind+".failed" || gjson.Get(got, "response_id").Str != "r" {
			t.Errorf("%s: %s", kind, got)
		}
	}
	if sent := w.api.Messages(); len(sent) != 0 {
		t.Errorf("the upstream got %s", sent)
	}
	a.create(userInput("hello"), "")
	if end := endOf(a.answer()); end.Get("type").Str != "response.completed" {
		t.Errorf("the next request: %s", end)
	}
	if err := a.conn.Write(t.Context(), websocket.MessageBinary, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusUnsupportedData {
		t.Errorf("after a binary message: %v", err)
	}
}

// A web page gives its key in the list of protocols. It names the client, and goes upstream unless heldcall has a key.
func TestSocketKeyOfAPage(t *testing.T) {
	t.Parallel()
	const key, own, chosen = "sesame-of-a-page", "sk-own-key-of-heldcall", "openai-beta.responses.v1"
	for _, withKey := range []bool{true, false} {
		w := buildSocket(t, askAll, callsBash(), func(c *app.Config) {
			c.Proxy.Clients = append(c.Proxy.Clients, app.Client{Key: key, User: "ann"})
			if withKey {
				c.Proxy.Upstreams[0].APIKey = own
			}
		})
		a := w.connect("Sec-WebSocket-Protocol", "openai-insecure-api-key."+key, "Sec-WebSocket-Protocol", chosen)
		if got := a.conn.Subprotocol(); got != chosen {
			t.Errorf("the protocol is %q", got)
		}
		a.create(userInput("do it"), "")
		if r := w.pending(1)[0]; r.Principal.User != "ann" {
			t.Errorf("it is asked for %+v", r.Principal)
		}
		h := w.api.Heads()[0]
		if strings.Contains(fmt.Sprint(h), key) == withKey || (h.Get("Authorization") == "Bearer "+own) != withKey {
			t.Errorf("upstream got %v", h)
		}
		if strings.Contains(w.log.String(), key) {
			t.Error("the key is in the log")
		}
	}
}

// An upstream that refuses the handshake refuses the agent, with its status and body.
func TestSocketRefusedByUpstream(t *testing.T) {
	t.Parallel()
	const body = `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`
	w := buildSocket(t, askAll, callsBash())
	w.api.Refuse = func(h http.ResponseWriter, _ *http.Request) {
		h.Header().Set("Content-Type", "application/json")
		h.Header().Set("X-Request-Id", "r1")
		h.WriteHeader(http.StatusUnauthorized)
		_, _ = h.Write([]byte(body))
	}
	_, answer, err := websocket.Dial(t.Context(), "ws://"+w.app.ProxyAddr()+"/v1/responses", nil)
	if err == nil || answer == nil {
		t.Fatal("the handshake was not refused")
	}
	got := make([]byte, 4096)
	n, _ := answer.Body.Read(got)
	if answer.StatusCode != http.StatusUnauthorized || string(got[:n]) != body || answer.Header.Get("X-Request-Id") != "r1" {
		t.Errorf("status %d, %s, %v", answer.StatusCode, got[:n], answer.Header)
	}
}

// A client learns at once that the upstream has no WebSocket, and uses HTTP.
func TestSocketUnknownToUpstream(t *testing.T) {
	t.Parallel()
	w := build(t, askAll, callsBash())
	_, answer, err := websocket.Dial(t.Context(), "ws://"+w.app.ProxyAddr()+"/v1/responses", nil)
	if err == nil || answer == nil || answer.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("got %v, %v", answer, err)
	}
}

// An error of the model API in place of an answer keeps its status and body.
func TestSocketPassesErrors(t *testing.T) {
	t.Parallel()
	w := buildSocket(t, askAll, func(*fakemodel.Request) fakemodel.Reply {
		return fakemodel.Fail(http.StatusTooManyRequests, "rate_limit_exceeded", "Slow down.")
	})
	a := w.connect()
	a.create(userInput("hello"), `,"stream_id":"l"`)
	end := endOf(a.answer())
	if end.Get("status").Int() != http.StatusTooManyRequests || end.Get("error.message").Str != "Slow down." || end.Get("stream_id").Str != "l" {
		t.Errorf("got %s", end)
	}
}

// An agent that never reads does not keep heldcall from stopping.
func TestSocketAgentNeverReads(t *testing.T) {
	t.Parallel()
	w := buildSocket(t, allowAll, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Text: strings.Repeat("Hello all of you. ", 20_000), Fragment: 1 << 10}.Reply(r)
	}, embedded)
	a := w.connect()
	for i := range 20 {
		a.create(userInput("hello"), fmt.Sprintf(`,"stream_id":"l%d"`, i))
	}
	w.until("the model is asked", func() bool { return len(w.api.Messages()) == 20 })
	stopped := make(chan error, 1)
	go func() { stopped <- w.stop() }()
	select {
	case err := <-stopped:
		t.Log(err) // answers were cut, which it reports
	case <-time.After(soon):
		t.Fatal("heldcall does not stop")
	}
}

// When heldcall stops, a held call ends with an error, its request stays, and the connection is closed.
func TestSocketShutdown(t *testing.T) {
	t.Parallel()
	w := buildSocket(t, askAll, callsBash(), embedded)
	a, idle := w.connect(), w.connect()
	a.create(userInput("do it"), "")
	w.pending(1)
	stopped := make(chan error, 1)
	go func() { stopped <- w.stop() }()
	got := a.answer()
	if end := endOf(got); end.Get("error.code").Str != "shutting_down" || strings.Contains(strings.Join(got, ""), "sesame") {
		t.Errorf("got %s", got)
	}
	for _, agent := range []*socketAgent{a, idle} {
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		_, _, err := agent.conn.Read(ctx)
		cancel()
		if websocket.CloseStatus(err) != websocket.StatusServiceRestart {
			t.Errorf("the connection ends with %v", err)
		}
	}
	select {
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(soon):
		t.Fatal("heldcall did not stop")
	}
}
