package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/proxy"
	"github.com/tidwall/gjson"
)

// soon bounds every wait of a test. It is generous: nothing is timed with it.
const soon = 90 * time.Second

// onNATS has all worlds keep their state on the embedded NATS server.
var onNATS = flag.Bool("nats", false, "keep the state of every test on the embedded NATS server, none in memory")

// world is a heldcall with a scripted upstream. The test is agent and reviewer. Its state is in
// memory, unless it is [embedded] or c.NATS.URL is set.
type world struct {
	t          *testing.T
	app        *app.App
	upstream   *fakemodel.Server
	console    *client.Client
	log        logged
	stop       func() error
	policyFile string
	revoked    string                                    // whose passkeys a start revokes
	canary     func(context.Context, *proxy.Proxy) error // nil: the proxy's own
	inMemory   bool                                      // the state, which ends with the first stop
	configFile string                                    // that the configuration is from, "" if it is from none
	asRun      bool                                      // as under heldcall run: a reload keeps reviewers and clients
}

// embedded has a world keep its state on the embedded NATS server: for restarts, bots, and files on disk.
func embedded(c *app.Config) { c.NATS.Listen = "127.0.0.1:0" }

// logged is all that heldcall has logged, at every level.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// build makes a world. Configure may change the configuration before the start. It
// starts without the proxy's canary, which has the same result each time and would take
// half of the time of most tests.
func build(t *testing.T, policy string, script fakemodel.Script, configure ...func(*app.Config)) *world {
	t.Helper()
	return buildProven(t, func(context.Context, *proxy.Proxy) error { return nil }, policy, script, configure...)
}

// buildProven makes a world that is proven by a canary at its start, nil: the proxy's own.
func buildProven(t *testing.T, canary func(context.Context, *proxy.Proxy) error, policy string, script fakemodel.Script, configure ...func(*app.Config)) *world {
	t.Helper()
	upstream, err := fakemodel.New(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	c := app.DefaultConfig(func(string) (string, bool) { return "", false })
	c.Proxy.Listen, c.Console.Listen, c.NATS.Listen = "127.0.0.1:0", "127.0.0.1:0", ""
	if *onNATS {
		embedded(&c)
	}
	c.Proxy.Upstreams = []app.Upstream{{Prefix: "/v1", URL: upstream.URL()}}
	c.Proxy.Keepalive = 50 * time.Millisecond
	c.NATS.Dir = filepath.Join(dir, "data")
	c.Policy.File, c.Policy.FileNamed = filepath.Join(dir, "policy.yaml"), true
	if err := os.WriteFile(c.Policy.File, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range configure {
		f(&c)
	}
	w := &world{t: t, upstream: upstream, canary: canary, policyFile: c.Policy.File}
	w.start(c)
	return w
}

// silent configures a heldcall without heartbeats, for tests of status and last event: a
// slow machine would else begin the answer with a heartbeat.
func silent(c *app.Config) { c.Proxy.Keepalive = soon }

func (w *world) start(c app.Config) {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := app.Options{Config: c, ConfigFile: w.configFile, KeepRights: w.asRun, Version: "test", Log: log, RevokePasskeys: w.revoked}.WithCanary(w.canary).WithProxy(func(o *proxy.Options) {
		o.FreeMemory = func() {} // each would collect the garbage of all tests that run
	})
	if w.inMemory {
		w.t.Fatal("the state in memory ended with the stop: configure the world with embedded")
	}
	if w.inMemory = c.NATS.Listen == "" && c.NATS.URL == ""; w.inMemory {
		o = o.InMemory()
	}
	a, err := app.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	w.stop = stop
	t := w.t
	t.Cleanup(func() { // without w: testing keeps this function, and what it refers to, to the end of the program
		if err := stop(); err != nil {
			t.Errorf("heldcall ended with: %v", err)
		}
	})
	select {
	case <-a.Started():
	case err := <-ended:
		stopped = true
		w.t.Fatalf("heldcall did not start: %v", err)
	case <-time.After(soon):
		w.t.Fatal("heldcall did not start")
	}
	w.app = a
	if w.console, err = client.New(a.ConsoleURL()); err != nil {
		w.t.Fatal(err)
	}
}

// polling is a wait for what another goroutine does, with pauses that become longer.
type polling struct{ pause time.Duration }

func (p *polling) sleep() {
	p.pause = min(max(2*p.pause, 2*time.Millisecond), 50*time.Millisecond)
	time.Sleep(p.pause)
}

func (w *world) url(path string) string { return "http://" + w.app.ProxyAddr() + path }

// pending waits until n requests are pending and returns them, oldest first.
func (w *world) pending(n int) []approvals.Request {
	w.t.Helper()
	deadline, poll := time.Now().Add(soon), polling{}
	for {
		page, err := w.console.Requests(w.t.Context(), approvals.Filter{Status: approvals.StatusPending})
		if err == nil && len(page.Items) == n {
			for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
				page.Items[i], page.Items[j] = page.Items[j], page.Items[i]
			}
			return page.Items
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d requests are pending, want %d (%v)", len(page.Items), n, err)
		}
		poll.sleep()
	}
}

// status waits until a request has a status and returns it.
func (w *world) status(id string, want approvals.Status) approvals.Request {
	w.t.Helper()
	deadline, poll := time.Now().Add(soon), polling{}
	for {
		r, err := w.console.Request(w.t.Context(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Status == want {
			return r
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("request %s is %s, want %s", id, r.Status, want)
		}
		poll.sleep()
	}
}

func (w *world) decide(id string, d approvals.Decision) {
	w.t.Helper()
	d.RequestID = id
	if _, err := w.console.Decide(w.t.Context(), d); err != nil {
		w.t.Fatalf("decide %s: %v", id, err)
	}
}

// call is an agent's request in flight.
type call struct {
	t      *testing.T
	resp   *http.Response
	reader *bufio.Reader
	cancel context.CancelFunc
}

// post sends a request and returns when the answer's head is there.
func (w *world) post(path, body string, header ...string) *call {
	w.t.Helper()
	c, err := w.tryPost(path, body, header...)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) tryPost(path, body string, header ...string) (*call, error) {
	body = withTools(path, body)
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url(path), strings.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, err
	}
	w.t.Cleanup(func() { cancel(); resp.Body.Close() })
	return &call{t: w.t, resp: resp, reader: bufio.NewReader(resp.Body), cancel: cancel}, nil
}

// calledTools are those that the scripted models call.
var calledTools = []string{"bash", "read", "good", "bad", "web_fetch", "transfer", "deploy", "Write", "write_file"}

// withTools returns a request for an answer with the tools that the scripted models call, unless it names its own tools or
// functions: a call of a tool that is not offered is always asked about. "tools": null offers none. A request that continues
// a thread of Messages may name none.
func withTools(path, body string) string {
	form := map[string]string{
		"/v1/chat/completions": `{"type":"function","function":{"name":%q,"parameters":{"type":"object"}}}`,
		"/v1/responses":        `{"type":"function","name":%q,"parameters":{"type":"object"}}`,
		"/v1/messages":         `{"name":%q,"input_schema":{"type":"object"}}`,
	}[path]
	object := gjson.Parse(body)
	if form == "" || !gjson.Valid(body) || !object.IsObject() || object.Get("tools").Exists() || object.Get("functions").Exists() || object.Get("thread.type").String() == "continue" {
		return body
	}
	return strings.TrimSuffix(strings.TrimSpace(body), "}") + `,"tools":[` + toolsAs(form, calledTools...) + "]}"
}

// toolsAs are the definitions of tools, each in a form with its name.
func toolsAs(form string, names ...string) string {
	tools := make([]string, len(names))
	for i, name := range names {
		tools[i] = fmt.Sprintf(form, name)
	}
	return strings.Join(tools, ",")
}

// rest reads to the end.
func (c *call) rest() string {
	c.t.Helper()
	b, err := io.ReadAll(c.reader)
	if err != nil {
		c.t.Fatalf("read the answer: %v (so far %q)", err, b)
	}
	return string(b)
}

// until reads until the answer so far contains text.
func (c *call) until(text string) string {
	c.t.Helper()
	var got bytes.Buffer
	for !strings.Contains(got.String(), text) {
		b, err := c.reader.ReadByte()
		if err != nil {
			c.t.Fatalf("read the answer: %v (so far %q, waiting for %q)", err, got.String(), text)
		}
		got.WriteByte(b)
	}
	return got.String()
}

// raw sends bytes as they are and returns all that comes back until the other
// side closes or falls silent.
func (w *world) raw(request string) string {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.app.ProxyAddr())
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		w.t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(soon))
	answer, err := io.ReadAll(conn)
	if err != nil {
		w.t.Fatalf("raw request: %v (so far %q)", err, answer)
	}
	return string(answer)
}

// rawPost is a request in bytes that asks for the connection to be closed.
func rawPost(path, body, header string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", path, header, len(body), body)
}

// errorCode is the code of an error in OpenAI's shape, "" if it is none.
func errorCode(body string) string {
	var e struct {
		Error struct{ Message, Type, Code string }
	}
	body = strings.TrimPrefix(strings.TrimSpace(body), "data: ")
	if json.Unmarshal([]byte(body), &e) != nil || e.Error.Message == "" || e.Error.Type == "" {
		return ""
	}
	return e.Error.Code
}

const (
	askAll   = "default: ask\n"
	allowAll = "default: allow\n"
	denyAll  = "default: deny\n"
)

// otherTools are those that the models of some tests call beside bash.
const otherTools = `,{"type":"function","function":{"name":"read","parameters":{"type":"object"}}},{"type":"function","function":{"name":"read_file","parameters":{"type":"object"}}},{"type":"function","function":{"name":"Read","parameters":{"type":"object"}}},{"type":"function","function":{"name":"Write","parameters":{"type":"object"}}},{"type":"function","function":{"name":"transfer","parameters":{"type":"object"}}},{"type":"function","function":{"name":"named","parameters":{"type":"object"}}},{"type":"function","function":{"name":"two","parameters":{"type":"object"}}},{"type":"function","function":{"name":"web_fetch","parameters":{"type":"object"}}}`

const (
	streamedRequest = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"bash","description":"runs a command","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"],"additionalProperties":false}}}` + otherTools + `]}`
	wholeRequest    = `{"model":"m","messages":[{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}` + otherTools + `]}`
)

// lsCall is one tool call whose parts are easy to look for in a leak.
var lsCall = fakemodel.Call{ID: "call_sesame", Name: "bash", Arguments: `{"command":"ls -la /opensesame"}`}

// secretsOf are the byte strings of lsCall that must not leak.
var secretsOf = []string{"call_sesame", "bash", "opensesame", "tool_calls"}

func leaks(answer string) string {
	for _, s := range secretsOf {
		if strings.Contains(answer, s) {
			return s
		}
	}
	return ""
}

// callThenText is an upstream that calls the tool, and after any tool message
// answers with text.
func callThenText(r *fakemodel.Request) fakemodel.Reply {
	if strings.Contains(string(r.Body), `"role":"tool"`) {
		return fakemodel.Answer{ID: "chatcmpl-2", Text: "Understood.", Fragment: 100, Usage: fakemodel.Usage{Prompt: 7, Completion: 3}}.Reply(r)
	}
	return fakemodel.Answer{ID: "chatcmpl-1", Text: "Let me look.", Calls: []fakemodel.Call{lsCall}, Usage: fakemodel.Usage{Prompt: 5, Completion: 2}}.Reply(r)
}

// rawConn is an agent's connection in the test's hand.
type rawConn struct {
	*net.TCPConn
	t *testing.T
}

func (w *world) dial() rawConn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.app.ProxyAddr())
	if err != nil {
		w.t.Fatal(err)
	}
	return rawConn{conn.(*net.TCPConn), w.t}
}

func (c rawConn) send(request string) {
	c.t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		c.t.Fatal(err)
	}
}

func (w *world) get(url string) string {
	w.t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// events returns the first n events of the audit log about calls, runs and grants as JSON.
func (w *world) events(n int) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), soon)
	defer cancel()
	var b strings.Builder
	for e, err := range w.console.Events(ctx, 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		switch e.Type {
		case approvals.EventPolicyChanged, approvals.EventReviewersChanged, approvals.EventCheckpoint,
			approvals.EventRunEnded, approvals.EventTurnDetached: // at any time
			continue
		}
		text, _ := json.Marshal(e)
		b.Write(text)
		if n--; n == 0 {
			break
		}
	}
	return b.String()
}
