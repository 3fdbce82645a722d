package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	natsgo "github.com/nats-io/nats.go"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/proxy"
)

// written is a configuration file.
type written struct {
	t        *testing.T
	folder   string
	upstream string
	people   map[string]string // lines of console.reviewers by name
	tokens   team
	clients  []string // lines of proxy.clients
	key      string   // of the upstream
	way      string   // other keys of the upstream
	workdir  string   // of agents, "" if it is not known
	more     string   // further lines
}

func newWritten(t *testing.T) *written {
	return &written{t: t, folder: t.TempDir(), people: map[string]string{}, tokens: team{}, key: "sk-first-key"}
}

// person adds a reviewer, or changes one who keeps the token.
func (f *written) person(name, role, more string) {
	token, hash := reviewers.NewToken()
	if before, known := f.tokens[name]; known {
		token = before
		hash = strings.Split(strings.Split(f.people[name], "token_sha256: ")[1], ",")[0]
	}
	f.tokens[name] = token
	f.people[name] = fmt.Sprintf("    - {name: %s, token_sha256: %s, role: %s%s}\n", name, hash, role, more)
}

func (f *written) path() string { return filepath.Join(f.folder, "heldcall.yaml") }

// write writes the file.
func (f *written) write() {
	f.t.Helper()
	var people strings.Builder
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range f.people {
			if !yield(name) {
				return
			}
		}
	}) {
		people.WriteString(f.people[name])
	}
	text := fmt.Sprintf("proxy:\n  listen: 127.0.0.1:0\n  keepalive: 1s\n  upstreams: [{prefix: /v1, url: %q, api_key: %s%s}]\n  clients:%s\nconsole:\n  listen: 127.0.0.1:0\n  reviewers:\n%snats: {listen: 127.0.0.1:0, dir: data}\npolicy: {file: policy.yaml, workdir: %q}\n%s",
		f.upstream, f.key, f.way, strings.Join(append([]string{""}, f.clients...), "\n    - "), people.String(), f.workdir, f.more)
	if len(f.clients) == 0 {
		text = strings.Replace(text, "  clients:\n", "", 1)
	}
	f.text(text)
}

// text replaces the file as an editor does.
func (f *written) text(text string) {
	f.t.Helper()
	if err := errors.Join(os.WriteFile(f.path()+".new", []byte(text), 0o600), os.Rename(f.path()+".new", f.path())); err != nil {
		f.t.Fatal(err)
	}
}

// serve starts a heldcall with the file.
func (f *written) serve(policy string, script fakemodel.Script, asRun bool) *world {
	t := f.t
	t.Helper()
	upstream, err := fakemodel.New(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	f.upstream = upstream.URL()
	writeFile(t, filepath.Join(f.folder, "policy.yaml"), policy)
	f.write()
	c, err := app.LoadConfig(f.path(), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, upstream: upstream, canary: func(context.Context, *proxy.Proxy) error { return nil }, policyFile: c.Policy.File, configFile: f.path(), asRun: asRun}
	w.start(c)
	w.console = w.as(f.tokens["ada"])
	return w
}

// reload writes the file and has heldcall read it.
func (f *written) reload(w *world) {
	w.t.Helper()
	f.write()
	w.logs("the configuration has", w.app.Reload)
}

// signedPage is a reviewer who has signed in at the page.
type signedPage struct {
	w           *world
	cookie, key string
}

func (w *world) signIn(token string) *signedPage {
	w.t.Helper()
	b := &signedPage{w: w}
	response := b.send(http.MethodPost, "/api/v1/session", `{"token":"`+token+`"}`)
	var given struct{ Key string }
	if err := json.NewDecoder(response.Body).Decode(&given); err != nil || len(response.Cookies()) != 1 {
		w.t.Fatalf("the sign-in answers %s, %v", response.Status, err)
	}
	b.cookie, b.key = response.Cookies()[0].Name+"="+response.Cookies()[0].Value, given.Key
	return b
}

func (b *signedPage) send(method, path, body string) *http.Response {
	b.w.t.Helper()
	request, err := http.NewRequestWithContext(b.w.t.Context(), method, b.w.app.ConsoleURL()+path, strings.NewReader(body))
	if err != nil {
		b.w.t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Origin": b.w.app.ConsoleURL(), "Cookie": b.cookie, "X-Heldcall-Session-Key": b.key} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.w.t.Fatal(err)
	}
	b.w.t.Cleanup(func() { response.Body.Close() })
	return response
}

// stream follows the events as a reviewer. The channel gets what ended it.
func (w *world) stream(token string) <-chan error {
	w.t.Helper()
	ended, began := make(chan error, 1), make(chan struct{})
	go func() {
		first := true
		var last error
		for _, err := range w.as(token).Events(w.t.Context(), 0) {
			if last = err; first {
				close(began)
				first = false
			}
		}
		ended <- last
	}()
	within(w.t, "the stream begins", began)
	return ended
}

// connected is a client of NATS that does not connect again. The channel is closed when the connection has ended.
func (w *world) connected(token string) <-chan struct{} {
	w.t.Helper()
	closed := make(chan struct{})
	connect(w.t, "nats://"+w.app.NATSAddr(), natsgo.Token(token), natsgo.NoReconnect(), natsgo.ClosedHandler(func(*natsgo.Conn) { close(closed) }))
	return closed
}

// within waits for a channel.
func within[T any](t *testing.T, what string, c <-chan T) (got T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	select {
	case got = <-c:
	case <-ctx.Done():
		t.Fatalf("never: %s", what)
	}
	return got
}

// closeCode reads a WebSocket to its end and returns the code with which it closed.
func (w *world) closeCode(socket *client.Live) websocket.StatusCode {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), soon)
	defer cancel()
	for {
		if _, err := socket.Next(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// A reviewer who is removed loses the token, the sessions, the streams and the NATS connections at once; those of others
// stay. The audit log has who decides now.
func TestRemovedReviewerLosesEverything(t *testing.T) {
	t.Parallel()
	f := newWritten(t)
	f.person("ada", "admin", "")
	f.person("eve", "admin", "")
	w := f.serve(askAll, callThenText, false)
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	eve, ada := f.tokens["eve"], f.tokens["ada"]
	page, others := w.signIn(eve), w.signIn(ada)
	eveStream, adaStream := w.stream(eve), w.stream(ada)
	eveSocket, adaSocket := w.watch(eve, ""), w.watch(ada, "")
	w.told(eveSocket, live.TypeReady)
	w.told(adaSocket, live.TypeReady)
	eveBot, adaBot := w.connected(eve), w.connected(ada)

	delete(f.people, "eve")
	f.reload(w)
	within(t, "eve's stream ends", eveStream)
	within(t, "eve's NATS connection ends", eveBot)
	if code := w.closeCode(eveSocket); code != websocket.StatusPolicyViolation {
		t.Errorf("eve's WebSocket closes with %d", code)
	}
	_, err := w.as(eve).Decide(t.Context(), approve(id))
	wantCode(t, err, problem.CodeWrongToken)
	if got := page.send(http.MethodPost, "/api/v1/requests/"+id+"/decision", `{"action":"approve"}`); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("eve's page gets %s", got.Status)
	}
	if conn, err := natsgo.Connect("nats://"+w.app.NATSAddr(), natsgo.Token(eve)); !errors.Is(err, natsgo.ErrAuthorization) {
		t.Errorf("eve connects again: %v, %v", conn, err)
	}
	if got := others.send(http.MethodGet, "/api/v1/me", ""); got.StatusCode != http.StatusOK {
		t.Errorf("ada's page gets %s", got.Status)
	}
	if _, err := adaSocket.Decide(t.Context(), approve(id)); err != nil {
		t.Errorf("ada's WebSocket: %v", err)
	}
	select {
	case err := <-adaStream:
		t.Errorf("ada's stream ended: %v", err)
	case <-adaBot:
		t.Error("ada's NATS connection ended")
	default:
	}
	agent.rest()
	w.until("the change is in the audit log", func() bool {
		changes := w.eventsOf(approvals.EventReviewersChanged)
		last := changes[len(changes)-1]
		return len(last.Reviewers) == 1 && last.Reviewers[0].Name == "ada"
	})
}

// A reviewer with fewer rights has those at the next action; a new token ends what the old one has opened.
func TestChangedReviewer(t *testing.T) {
	t.Parallel()
	f := newWritten(t)
	f.person("ada", "admin", "")
	f.person("bob", "admin", "")
	w := f.serve(askAll, callThenText, false)
	agent := w.post("/v1/chat/completions", streamedRequest)
	id := w.pending(1)[0].ID
	page, stream, bot := w.signIn(f.tokens["bob"]), w.stream(f.tokens["bob"]), w.connected(f.tokens["bob"])
	f.person("bob", "viewer", "")
	f.reload(w)
	within(t, "bob's stream ends", stream)
	within(t, "bob's NATS connection ends", bot)
	_, err := w.as(f.tokens["bob"]).Decide(t.Context(), approve(id))
	wantCode(t, err, problem.CodeForbidden)
	if got := page.send(http.MethodPost, "/api/v1/requests/"+id+"/decision", `{"action":"approve"}`); got.StatusCode != http.StatusForbidden {
		t.Errorf("bob's page gets %s", got.Status)
	}
	if got := page.send(http.MethodGet, "/api/v1/requests/"+id, ""); got.StatusCode != http.StatusOK {
		t.Errorf("bob's page reads %s", got.Status)
	}
	old := f.tokens["bob"]
	delete(f.tokens, "bob")
	f.person("bob", "viewer", "")
	f.reload(w)
	_, err = w.as(old).Request(t.Context(), id)
	wantCode(t, err, problem.CodeWrongToken)
	if got := page.send(http.MethodGet, "/api/v1/requests/"+id, ""); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("the page that signed in with the old token gets %s", got.Status)
	}
	if _, err := w.as(f.tokens["bob"]).Request(t.Context(), id); err != nil {
		t.Errorf("bob's new token: %v", err)
	}
	w.decide(id, approve(id))
	agent.rest()
}

// A client that is removed is refused from the next request on, and its held calls are decided as before, by its policy. A
// new client is known at once.
func TestChangedClients(t *testing.T) {
	t.Parallel()
	f := newWritten(t)
	f.person("ada", "admin", "")
	own := writeFile(t, filepath.Join(f.folder, "own.yaml"), askAll)
	f.clients = []string{"{key: gone-key, agent: gone, policy: " + own + "}", "{key: moved-key, agent: before}"}
	w := f.serve(denyAll, callThenText, false)
	agent := w.post("/v1/chat/completions", streamedRequest, "Authorization", "Bearer gone-key")
	held := w.pending(1)[0]
	if held.Principal.Agent != "gone" {
		t.Fatalf("the held call is of %+v", held.Principal)
	}
	f.clients = []string{"{key: moved-key, agent: after, policy: " + own + "}", "{key: new-key, agent: new, policy: " + own + "}"}
	f.reload(w)
	for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
		refused := w.post(path, wholeRequest, "Authorization", "Bearer gone-key")
		if body := refused.rest(); refused.resp.StatusCode != http.StatusUnauthorized || errorCode(body) != "client_removed" {
			t.Errorf("%s: the removed client gets %s: %s", path, refused.resp.Status, body)
		}
	}
	for key, name := range map[string]string{"moved-key": "after", "new-key": "new"} {
		other := w.post("/v1/chat/completions", streamedRequest, "Authorization", "Bearer "+key)
		i := slices.IndexFunc(w.pending(2), func(r approvals.Request) bool { return r.Principal.Agent == name })
		if i < 0 {
			t.Fatalf("%s: held are %+v", name, w.pending(2))
		}
		w.decide(w.pending(2)[i].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
		other.rest()
	}
	w.decide(held.ID, approvals.Decision{Action: approvals.ActionApprove})
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent of the removed client got %q", answer)
	}
	f.clients = append(f.clients, "{key: gone-key, agent: back, policy: "+own+"}")
	f.reload(w)
	if back := w.post("/v1/embeddings", wholeRequest, "Authorization", "Bearer gone-key"); back.resp.StatusCode == http.StatusUnauthorized {
		t.Errorf("the client that is there again gets %s", back.rest())
	}
}

// The key of an upstream is read again. An answer that quotes the old one does not show it.
func TestChangedKeyOfAnUpstream(t *testing.T) {
	t.Parallel()
	f := newWritten(t)
	f.person("ada", "admin", "")
	f.key = "sk-the-first-key-of-all"
	w := f.serve(allowAll, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{ID: "chatcmpl-1", Text: "it was sk-the-first-key-of-all"}.Reply(r)
	}, false)
	w.post("/v1/chat/completions", wholeRequest).rest()
	f.key = "sk-the-second-key-of-all"
	f.reload(w)
	answer := w.post("/v1/chat/completions", wholeRequest).rest()
	sent := w.upstream.Requests()
	for i, want := range []string{"Bearer sk-the-first-key-of-all", "Bearer sk-the-second-key-of-all"} {
		if !slices.ContainsFunc(sent[i].Header, func(h fakemodel.Field) bool { return h.Value == want }) {
			t.Errorf("request %d has %v, want %s", i, sent[i].Header, want)
		}
	}
	if strings.Contains(answer, "sk-the-first") {
		t.Errorf("the agent reads %s", answer)
	}
	if log := w.log.String(); strings.Contains(log, "sk-the") || !strings.Contains(log, "proxy.upstreams[].api_key") {
		t.Error("the log has a key, or not the name of what has changed")
	}
}

// An invalid file changes nothing, and heldcall names file, line and key. So it does for what needs a restart.
func TestRefusedConfiguration(t *testing.T) {
	t.Parallel()
	f := newWritten(t)
	f.person("ada", "admin", "")
	f.person("eve", "admin", "")
	f.clients = []string{"{key: known-key, agent: known}"}
	w := f.serve(askAll, callThenText, false)
	delete(f.people, "eve")
	f.clients, f.key, f.more = nil, "other", "hold: {mode: sideways}\n"
	f.write()
	w.logs("the changed configuration is refused", w.app.Reload)
	if log := w.log.String(); !strings.Contains(log, "heldcall.yaml:") || !strings.Contains(log, "hold.mode") {
		t.Errorf("the log lacks file, line or key:\n%s", log)
	}
	if ready := w.get(w.app.ConsoleURL() + "/readyz"); !strings.Contains(ready, "hold.mode") || !strings.Contains(ready, `"status":"ready"`) {
		t.Errorf("the readiness is %s", ready)
	}
	if who, err := w.as(f.tokens["eve"]).Me(t.Context()); err != nil || who.Role != reviewers.RoleAdmin {
		t.Errorf("eve is %+v, %v", who, err)
	}
	agent := w.post("/v1/chat/completions", streamedRequest, "Authorization", "Bearer known-key")
	if held := w.pending(1)[0]; held.Principal.Agent != "known" {
		t.Errorf("the client is %+v", held.Principal)
	}
	agent.cancel()

	f.more = "hold: {mode: park}\nlog: {level: debug}\n"
	f.reload(w)
	_, err := w.as(f.tokens["eve"]).Me(t.Context())
	wantCode(t, err, problem.CodeWrongToken)
	w.until("what needs a restart is named", func() bool {
		ready := w.get(w.app.ConsoleURL() + "/readyz")
		return strings.Contains(ready, "taken at the next start: hold.mode, log.level") && strings.Contains(w.log.String(), `keys="[hold.mode log.level]"`)
	})
	f.more = ""
	f.reload(w)
	w.until("nothing needs a restart", func() bool { return !strings.Contains(w.get(w.app.ConsoleURL()+"/readyz"), "hold.mode") })
}

// How an upstream is reached needs a restart, which names the list and shows no password.
func TestWayToAnUpstreamNeedsARestart(t *testing.T) {
	t.Parallel()
	f := newWritten(t)
	f.person("ada", "admin", "")
	w := f.serve(allowAll, callThenText, false)
	f.way = ", proxy: 'http://ann:s3cret@127.0.0.1:1'"
	f.reload(w)
	w.until("the list is named", func() bool {
		return strings.Contains(w.get(w.app.ConsoleURL()+"/readyz"), "taken at the next start: proxy.upstreams")
	})
	if got := w.post("/v1/chat/completions", wholeRequest); got.resp.StatusCode != http.StatusOK {
		t.Errorf("the agent gets %s", got.rest())
	}
	if log := w.log.String(); strings.Contains(log, "s3cret") {
		t.Errorf("the password is in the log\n%s", log)
	}
}

// Under heldcall run, agents have the rights of the user to whom the file belongs: nothing in it gives rights until a restart.
func TestRunKeepsRights(t *testing.T) {
	t.Parallel()
	f := newWritten(t)
	f.person("ada", "admin", "")
	f.person("eve", "viewer", "")
	f.clients = []string{"{key: known-key, agent: known}"}
	w := f.serve(allowAll, callThenText, true)
	f.person("eve", "admin", "")
	f.clients, f.key = []string{"{key: agents-key, agent: other}"}, "sk-second-key"
	f.more = "notify:\n  webhooks: [{url: \"http://127.0.0.1:1/\", reviewer: eve, secrets: [" + hookSecret + "]}]\n"
	f.reload(w)
	w.until("the rights are named", func() bool {
		return strings.Contains(w.get(w.app.ConsoleURL()+"/readyz"), "taken at the next start: proxy.clients, console.reviewers, notify.webhooks")
	})
	if who, err := w.as(f.tokens["eve"]).Me(t.Context()); err != nil || who.Role != reviewers.RoleViewer {
		t.Errorf("eve is %+v, %v", who, err)
	}
	if got := w.post("/v1/chat/completions", wholeRequest, "Authorization", "Bearer known-key"); got.resp.StatusCode != http.StatusOK {
		t.Errorf("the client gets %s", got.rest())
	}
}

// A file that agents may have changed is read on request only; another one is read when it changes.
func TestConfigurationInAWorkspace(t *testing.T) {
	t.Parallel()
	for _, inside := range []bool{false, true} {
		f := newWritten(t)
		f.person("ada", "admin", "")
		f.person("eve", "admin", "")
		if inside {
			f.workdir = f.folder
		}
		w := f.serve(askAll, callThenText, false)
		delete(f.people, "eve")
		_, err := w.as(f.tokens["eve"]).Me(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !inside {
			w.logs("the configuration has changed", f.write)
		} else {
			w.logs("where an agent may have changed it", f.write)
			if _, err := w.as(f.tokens["eve"]).Me(t.Context()); err != nil {
				t.Errorf("the file was taken: %v", err)
			}
			w.logs("the configuration has changed", w.app.Reload)
		}
		_, err = w.as(f.tokens["eve"]).Me(t.Context())
		wantCode(t, err, problem.CodeWrongToken)
	}
}

// newReceiver makes a webhook of the configuration. The channel has the tools of the requests that it receives, and the URLs
// that decide them.
func newReceiver(t *testing.T, name, more string) (entry string, told chan hookMessage) {
	t.Helper()
	told = make(chan hookMessage, 10)
	var c app.Config
	hooked(t, func(m hookMessage) { told <- m })(&c)
	return fmt.Sprintf("    - {name: %s, url: %q, secrets: [%s]%s}\n", name, string(c.Notify.Webhooks[0].URL), hookSecret, more), told
}

// Channels come and go with the configuration, with their links; one that stays is not told twice.
func TestChangedChannels(t *testing.T) {
	t.Parallel()
	f := newWritten(t)
	f.person("ada", "admin", "")
	stays, stayed := newReceiver(t, "stays", "")
	leaves, left := newReceiver(t, "leaves", ", reviewer: ada")
	comes, came := newReceiver(t, "comes", ", reviewer: ada")
	f.more = "notify:\n  webhooks:\n" + stays + leaves
	w := f.serve(askAll, callThenText, false)
	agent := w.post("/v1/chat/completions", streamedRequest)
	first := within(t, "a webhook is told", left)
	within(t, "the other webhook is told", stayed)
	bot := w.connected(f.tokens["ada"])

	f.more = "notify:\n  webhooks:\n" + stays + comes
	f.reload(w)
	within(t, "clients of NATS connect again, without rights to the consumer of the new channel", bot)
	if got, err := http.Get(first.Data.DecideURL); err != nil || got.StatusCode != http.StatusNotFound {
		t.Errorf("the link of the channel that left answers %v, %v", got, err)
	} else {
		got.Body.Close()
	}
	second := within(t, "the new webhook is told of what waits", came)
	response, err := http.Post(second.Data.DecideURL, "application/json", strings.NewReader(`{"action":"approve"}`))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("the link of the new channel answers %v, %v", response, err)
	} else {
		response.Body.Close()
	}
	if answer := agent.rest(); !strings.Contains(answer, lsCall.ID) {
		t.Errorf("the agent got %q", answer)
	}
	for m := range stayed { // the decision, and nothing again
		if m.Type == "approval_decision" {
			break
		}
		t.Errorf("the webhook that stays is told %s again", m.Type)
	}
	select {
	case m := <-left:
		t.Errorf("the channel that left is told %s", m.Type)
	default:
	}
}
