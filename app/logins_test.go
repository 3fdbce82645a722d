package app_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/fakesocket"
)

// Agents with a login of their own, through the front door. Logins are made up.

// account is that of chatGPTLogin.
const account = "5a0c9e1f-acc0-4217-made-up0000001"

// signature ends the token of a login. It is in no header that heldcall reads on its own.
const signature = "bWFkZS11cC1zaWduYXR1cmUtOTE3"

// chatGPTToken is an access token of OpenAI for an account, not signed.
func chatGPTToken() string {
	part := base64.RawURLEncoding.EncodeToString
	claims := `{"aud":["https://api.openai.com/v1"],"exp":4102444800,"https://api.openai.com/auth":{"chatgpt_account_id":"` + account + `","chatgpt_plan_type":"pro"}}`
	return part([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + part([]byte(claims)) + "." + signature
}

// chatGPTLogin are the headers with which Codex sends a login for ChatGPT.
func chatGPTLogin() []string {
	return []string{"authorization", "Bearer " + chatGPTToken(), "chatgpt-account-id", account, "originator", "codex_exec", "session-id", "s-1"}
}

// chatGPTAt has requests with a login for ChatGPT go to another scripted model, whose path is that of OpenAI's API for them.
func chatGPTAt(t *testing.T, script fakemodel.Script) (*fakemodel.Server, func(*app.Config)) {
	t.Helper()
	model, err := fakemodel.New(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model, func(c *app.Config) {
		c.Proxy.Upstreams[0].ChatGPT = strings.TrimSuffix(model.URL(), "/v1") + "/backend-api/codex"
	}
}

// A request with a login for ChatGPT goes with the login to the address for it, and its calls are held. One with a key goes
// to the upstream, and nothing of one to the other. The login is in no file and in no line of the log.
func TestChatGPTLogin(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(*app.Upstream){
		"no key":      func(*app.Upstream) {},
		"a key":       func(u *app.Upstream) { u.APIKey = "sk-of-heldcall" },
		"a stand-in":  func(u *app.Upstream) { u.APIKey, u.StandIn = "sk-of-heldcall", "sk-heldcall-00" },
		"a key, only": func(u *app.Upstream) { u.APIKey, u.KeyHeader = "sk-of-heldcall", "x-api-key" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kept app.Config
			model, atChatGPT := chatGPTAt(t, lister().Reply)
			w := build(t, askAll, lister().Reply, silent, atChatGPT, func(c *app.Config) { key(&c.Proxy.Upstreams[0]) }, restarting(&kept))
			for i, action := range []approvals.Action{approvals.ActionApprove, approvals.ActionDeny} {
				body := strings.Replace(responsesRequest, `"do it"`, fmt.Sprintf(`"do it %d"`, i), 1)
				answer := make(chan string, 1)
				go func() {
					answer <- w.post("/v1/responses", encode(body, "zstd"), append([]string{"content-encoding", "zstd"}, chatGPTLogin()...)...).rest()
				}()
				w.decide(w.pending(1)[0].ID, approvals.Decision{Action: action, Note: "no"})
				if got := <-answer; strings.Contains(got, "call_sesame") != (action == approvals.ActionApprove) {
					t.Errorf("%s: the agent got %s", action, got)
				}
			}
			w.getWith("/v1/models?client_version=0.169.0", chatGPTLogin()...)
			asked := len(w.upstream.Requests())
			if w.getWith("/v1/models", "Authorization", "Bearer sk-of-the-agent"); asked != 0 || len(w.upstream.Requests()) != 1 {
				t.Errorf("the upstream was asked %d times with a login, and %d times in all", asked, len(w.upstream.Requests()))
			}
			targets := map[string]int{}
			for _, r := range model.Requests() {
				targets[r.Method+" "+r.Target]++
				if got := r.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+chatGPTToken() || r.Get("ChatGPT-Account-Id") != account || r.Get("x-api-key") != "" {
					t.Errorf("%s %s: the login has become %v", r.Method, r.Target, r.Header)
				}
			}
			if targets["POST /backend-api/codex/responses"] < 2 || targets["GET /backend-api/codex/models?client_version=0.169.0"] != 1 || len(targets) != 2 {
				t.Errorf("asked for %v", targets)
			}
			if err := w.stop(); err != nil {
				t.Fatal(err)
			}
			for place, text := range map[string]string{
				"log": w.log.String(), "disk": onDisk(t, kept.NATS.Dir) + onDisk(t, kept.AuditDir()), "store": inStore(t, kept.NATS.Dir),
				"upstream": fmt.Sprint(w.upstream.Requests()[0].Header),
			} {
				if strings.Contains(text, signature) || strings.Contains(text, account) {
					t.Errorf("the login is in the %s", place)
				}
			}
		})
	}
}

// getWith asks for a path with headers, and returns the answer with its status before it.
func (w *world) getWith(path string, header ...string) string {
	w.t.Helper()
	lines := ""
	for i := 0; i+1 < len(header); i += 2 {
		lines += header[i] + ": " + header[i+1] + "\r\n"
	}
	return w.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + lines + "\r\n")
}

// The same over WebSocket.
func TestChatGPTLoginOverWebSocket(t *testing.T) {
	t.Parallel()
	var api *fakesocket.Server
	w := buildSocket(t, askAll, callsBash(), func(c *app.Config) {
		var err error
		if api, err = fakesocket.Start(c.Proxy.Upstreams[0].URL); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(api.Close)
		c.Proxy.Upstreams[0].ChatGPT, c.Proxy.Upstreams[0].APIKey = api.URL(), "sk-of-heldcall"
	})
	a := w.connect(chatGPTLogin()...)
	a.create(userInput("do it"), "")
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := strings.Join(a.answer(), "\n"); !strings.Contains(got, "call_sesame") {
		t.Errorf("the agent got %s", got)
	}
	if heads := w.api.Heads(); len(heads) != 0 {
		t.Errorf("the upstream was asked with %v", heads)
	}
	for _, h := range api.Heads() {
		if h.Get("Authorization") != "Bearer "+chatGPTToken() || h.Get("ChatGPT-Account-Id") != account {
			t.Errorf("the login has become %v", h)
		}
	}
	if len(api.Heads()) != 1 || strings.Contains(w.log.String(), signature) {
		t.Errorf("%d WebSockets; the log is %s", len(api.Heads()), w.log.String())
	}
}

// A login for ChatGPT goes to no upstream that is not named for it, over no protocol.
func TestChatGPTLoginWithoutAddress(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, callThenText)
	for name, header := range map[string][]string{
		"account and token": chatGPTLogin(),
		"token only":        {"Authorization", "bearer " + chatGPTToken()},
		"another scheme":    {"Authorization", "AgentAssertion made-up", "ChatGPT-Account-ID", account},
	} {
		for _, path := range []string{"/v1/responses", "/v1/chat/completions", "/v1/embeddings"} {
			c := w.post(path, `{"model":"m"}`, header...)
			if got := c.rest(); c.resp.StatusCode != http.StatusNotImplemented || !strings.Contains(got, "chatgpt_url") || strings.Contains(got, signature) {
				t.Errorf("%s, %s: got %s %s", name, path, c.resp.Status, got)
			}
		}
	}
	h := http.Header{"Authorization": {"Bearer " + chatGPTToken()}, "Chatgpt-Account-Id": {account}}
	_, answer, err := websocket.Dial(t.Context(), "ws://"+w.app.ProxyAddr()+"/v1/responses", &websocket.DialOptions{HTTPHeader: h})
	if err == nil || answer == nil || answer.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("WebSocket: got %v, %v", answer, err)
	}
	if asked := w.upstream.Requests(); len(asked) != 0 {
		t.Errorf("the upstream got %s", asked[0].Header)
	}
	// All else goes where it went.
	for _, header := range [][]string{
		{"Authorization", "Bearer sk-of-the-agent", "ChatGPT-Account-ID", account},
		{"ChatGPT-Account-ID", account},
		{"Authorization", "Bearer e30.e30." + signature},
		{"Authorization", "Bearer a.b.c"},
	} {
		if c := w.post("/v1/chat/completions", `{"model":"m","messages":[]}`, header...); c.resp.StatusCode != http.StatusOK {
			t.Errorf("%v: got %s %s", header, c.resp.Status, c.rest())
		}
	}
}

// OpenAI's own upstreams have the address for logins without being told; no other has one.
func TestAddressForChatGPT(t *testing.T) {
	t.Parallel()
	none := func(string) (string, bool) { return "", false }
	const address = "https://chatgpt.com/backend-api/codex"
	file := filepath.Join(t.TempDir(), "heldcall.yaml")
	load := func(upstream string) (app.Config, error) {
		if err := os.WriteFile(file, []byte("proxy: {upstreams: [{prefix: /v1, "+upstream+"}]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return app.LoadConfig(file, none)
	}
	for upstream, want := range map[string]string{
		"url: https://api.openai.com/v1":                                             address,
		"url: HTTPS://API.OpenAI.com/v1/":                                            address,
		"url: https://chatgpt.com/backend-api/codex/":                                address,
		"url: https://gateway.example/v1":                                            "",
		"url: https://api.openai.com.example/v1":                                     "",
		"url: https://api.openai.com/v1, chatgpt_url: https://gateway.example/codex": "https://gateway.example/codex",
		"url: https://gateway.example/v1, chatgpt_url: https://gateway.example/c/":   "https://gateway.example/c",
	} {
		if c, err := load(upstream); err != nil || c.Proxy.Upstreams[0].ChatGPT != want {
			t.Errorf("%s: got %+v, %v", upstream, c.Proxy.Upstreams, err)
		}
	}
	for upstream, want := range map[string]string{
		"ftp://gateway.example":    `proxy.upstreams[0].chatgpt_url: the scheme is "ftp"`,
		"https://a:b@example.com/": "proxy.upstreams[0].chatgpt_url: holds a user or password",
		"http://127.0.0.1:4141/v1": "proxy.upstreams[0].chatgpt_url: is the address of proxy.listen",
	} {
		if _, err := load("url: https://api.openai.com/v1, chatgpt_url: " + strconv.Quote(upstream)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", upstream, err)
		}
	}
	for _, u := range app.DefaultConfig(none).Proxy.Upstreams {
		if want := map[string]string{"/v1": address}[u.Prefix]; u.ChatGPT != want {
			t.Errorf("by default logins for ChatGPT at %s go to %q", u.Prefix, u.ChatGPT)
		}
	}
}

// Of the API for logins, routes with calls are held, those that are known to carry none pass, and the rest is refused.
func TestPathsOfChatGPT(t *testing.T) {
	t.Parallel()
	model, atChatGPT := chatGPTAt(t, func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Whole(200, []byte(`{}`)) })
	w := build(t, denyAll, callThenText, atChatGPT)
	for _, tt := range []struct {
		method, path string
		passes       bool
	}{
		{"GET", "/models", true},
		{"POST", "/images/generations", true},
		{"POST", "/images/edits", true},
		{"POST", "/alpha/search", true},
		{"DELETE", "/models/m", false},
		{"POST", "/realtime/calls", false},
		{"POST", "/memories/trace_summarize", false},
		{"POST", "/files", false},
		{"POST", "/completions", false},
		{"POST", "/embeddings", false},
		{"GET", "/responses/resp_1/input_items", false},
		{"GET", "/tasks", false},
		{"POST", "/../wham/tasks", false},
	} {
		before := len(model.Requests())
		lines := strings.Join([]string{"authorization: Bearer " + chatGPTToken(), "chatgpt-account-id: " + account, ""}, "\r\n")
		got := w.raw(tt.method + " /v1" + tt.path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\nContent-Type: application/json\r\n" + lines + "\r\n{}")
		if passed := strings.HasPrefix(got, "HTTP/1.1 200"); passed != tt.passes || len(model.Requests())-before != map[bool]int{true: 1}[tt.passes] {
			t.Errorf("%s %s: got %s", tt.method, tt.path, got)
		}
	}
	if asked := len(w.upstream.Requests()); asked != 0 {
		t.Errorf("the upstream was asked %d times", asked)
	}
}

// A login for Claude (Claude Code with Max or Pro) passes as it is, beside a key that has a stand-in, as heldcall run has it.
// A key without one is for all requests.
func TestClaudeLogin(t *testing.T) {
	t.Parallel()
	const token, beta = "Bearer sk-ant-oat01-made-up-" + signature, "oauth-2025-04-20,interleaved-thinking-2025-05-14"
	for name, tt := range map[string]struct {
		key         app.Upstream
		token, xKey string
	}{
		"no key":     {app.Upstream{}, token, ""},
		"a stand-in": {app.Upstream{APIKey: "sk-ant-of-heldcall", StandIn: "sk-ant-heldcall-00", KeyHeader: "x-api-key"}, token, ""},
		"a key":      {app.Upstream{APIKey: "sk-ant-of-heldcall", KeyHeader: "x-api-key"}, "", "sk-ant-of-heldcall"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kept app.Config
			w := build(t, askAll, lister().Reply, silent, func(c *app.Config) {
				tt.key.Prefix, tt.key.URL = "/anthropic/v1", c.Proxy.Upstreams[0].URL
				c.Proxy.Upstreams = []app.Upstream{tt.key}
			}, restarting(&kept))
			answer := make(chan string, 1)
			go func() {
				answer <- w.post("/anthropic/v1/messages?beta=true", messagesRequest, "authorization", token, "anthropic-beta", beta, "anthropic-version", "2023-06-01").rest()
			}()
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
			if got := <-answer; !strings.Contains(got, "call_sesame") {
				t.Errorf("the agent got %s", got)
			}
			r := w.upstream.Requests()[0]
			if r.Get("Authorization") != tt.token || r.Get("x-api-key") != tt.xKey || r.Get("anthropic-beta") != beta || r.Target != "/v1/messages?beta=true" {
				t.Errorf("upstream got %s %v", r.Target, r.Header)
			}
			if err := w.stop(); err != nil {
				t.Fatal(err)
			}
			if text := w.log.String() + onDisk(t, kept.NATS.Dir) + inStore(t, kept.NATS.Dir) + onDisk(t, kept.AuditDir()); strings.Contains(text, signature) {
				t.Error("the login is in the log or on disk")
			}
		})
	}
}
