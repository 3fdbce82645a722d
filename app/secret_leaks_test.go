package app_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/internal/mask"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/fakeslack"
	"github.com/heldcall/heldcall/proxy/packed"
)

// The eighth promise for secrets of agents: everything that heldcall writes and sends is
// searched for a value.

// newSecret returns a random value with characters that JSON, URLs and shells escape, and
// its middle, which few encodings change.
func newSecret() (value, middle string) {
	middle = rand.Text()[:14]
	return `k"'$(x) /+` + middle + `\&<é~`, middle
}

// encodings are the forms of a value that docs/secrets.md names.
func encodings(value string) []string {
	inJSON := func(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) }
	all := []string{value, inJSON(value), inJSON(inJSON(value)), inJSON(inJSON(inJSON(value))), url.QueryEscape(value), url.PathEscape(value), unicodeEscaped(value), percentEscaped(value)}
	for _, q := range []mask.Quoting{mask.Bare, mask.Double, mask.Single} {
		all = append(all, q.Quote(value))
	}
	for _, before := range []string{"", "u", "us"} {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(before+value+"tail")), base64.RawURLEncoding.EncodeToString([]byte(before+value+"tail")))
	}
	return all
}

func unicodeEscaped(text string) (escaped string) {
	for _, r := range text {
		escaped += fmt.Sprintf(`\u%04x`, r)
	}
	return escaped
}

func percentEscaped(text string) (escaped string) {
	for _, b := range []byte(text) {
		escaped += fmt.Sprintf("%%%02X", b)
	}
	return escaped
}

// shows reports whether a text has a value in one of the encodings, or in hexadecimal digits.
func shows(text, middle string) bool { return shown(text, middle) != "" }

// shown is the part of a text that has a value, "" for none.
func shown(text, middle string) string {
	forms := append(mask.Base64Forms(middle), middle, hex.EncodeToString([]byte(middle)), percentEscaped(middle), strings.TrimPrefix(unicodeEscaped(middle), `\`))
	for _, form := range forms {
		if at := strings.Index(text, form); at >= 0 {
			return text[max(0, at-300):min(len(text), at+100)]
		}
	}
	return ""
}

// recorder keeps messages that heldcall sends.
type recorder struct {
	mu  sync.Mutex
	got bytes.Buffer
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	fmt.Fprintf(r, "%s %v %s\n", req.URL, req.Header, body)
	_, _ = io.WriteString(w, `{"id":"1"}`) // of ntfy
}

// Write implements [io.Writer].
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.Write(p)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

// outputs are all that a heldcall with channels and tracing writes and sends, but the bytes
// for the agent.
type outputs struct {
	hooks, chats, spans, stream, socket, feeds, replies, errors recorder

	slack  *fakeslack.Server
	config app.Config
	ws     *websocket.Conn
	bot    *bot
}

func observed(t *testing.T) (*outputs, func(*app.Config)) {
	t.Helper()
	o := &outputs{slack: fakeslack.New()}
	hooks, chats, spans := httptest.NewServer(&o.hooks), httptest.NewServer(&o.chats), httptest.NewServer(&o.spans)
	t.Cleanup(func() { hooks.Close(); chats.Close(); spans.Close(); o.slack.Close() })
	return o, func(c *app.Config) {
		c.Notify.Webhooks = []app.WebhookConfig{{Name: "ci", URL: app.Secret(hooks.URL), Secrets: []app.Secret{hookSecret}, Reviewer: "local"}}
		c.Notify.Slack = []app.SlackConfig{{Name: "slack", BotToken: "xoxb-1", AppToken: "xapp-1", Channel: "#approvals", APIURL: o.slack.URL()}}
		c.Notify.Shoutrrr = []app.ShoutrrrConfig{{Name: "chat", URL: app.Secret("ntfy://" + strings.TrimPrefix(chats.URL, "http://") + "/calls?scheme=http")}}
		c.Tracing.Enabled, c.Tracing.Endpoint, c.Tracing.Arguments = true, spans.URL, true
		restarting(&o.config)(c)
	}
}

// listen keeps what the event stream, a WebSocket and NATS bring from now on.
func (o *outputs) listen(w *world) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.app.ConsoleURL()+"/api/v1/events", nil)
	events, err := http.DefaultClient.Do(request)
	if err != nil || events.StatusCode != http.StatusOK {
		w.t.Fatalf("event stream: %+v, %v", events, err)
	}
	if o.ws, _, err = websocket.Dial(ctx, w.app.ConsoleURL()+"/api/v1/ws", &websocket.DialOptions{Subprotocols: []string{live.Subprotocol}}); err != nil {
		w.t.Fatal(err)
	}
	o.ws.SetReadLimit(-1)
	var readers sync.WaitGroup
	readers.Go(func() { _, _ = io.Copy(&o.stream, events.Body) })
	readers.Go(func() {
		for {
			_, text, err := o.ws.Read(ctx)
			if err != nil {
				return
			}
			_, _ = o.socket.Write(append(text, '\n'))
		}
	})
	o.bot = connect(w.t, "nats://"+w.app.NATSAddr())
	for _, subject := range []string{"heldcall.v1.requests.>", "heldcall.v1.events.>"} { // heldcall.v1.> has what others send too
		if _, err := o.bot.Subscribe(subject, func(m *natsgo.Msg) { fmt.Fprintf(&o.feeds, "%s %v %s\n", m.Subject, m.Header, m.Data) }); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := o.bot.Flush(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { cancel(); events.Body.Close(); o.ws.CloseNow(); readers.Wait() })
}

// cards are the messages to Slack.
func (o *outputs) cards() string {
	return fmt.Sprintf("%+v %+v %s", o.slack.Messages(), o.slack.Ephemerals(), o.slack.Bodies())
}

// request sends a message over NATS and keeps the reply.
func (o *outputs) request(w *world, subject string, payload any) {
	w.t.Helper()
	text, err := json.Marshal(payload)
	if err != nil {
		w.t.Fatal(err)
	}
	reply, err := o.bot.Request(subject, text, soon)
	if err != nil {
		w.t.Fatalf("%s: %v", subject, err)
	}
	fmt.Fprintf(&o.replies, "%v %s\n", reply.Header, reply.Data)
}

// decide sends a decision over NATS, REST and the WebSocket, and keeps the answers.
func (o *outputs) decide(w *world, id string, decision map[string]any) {
	w.t.Helper()
	o.request(w, "heldcall.v1.decide.local."+id, decision)
	text, _ := json.Marshal(decision)
	resp, err := http.Post(w.app.ConsoleURL()+"/api/v1/requests/"+id+"/decision", "application/json", bytes.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(&o.errors, resp.Body)
	decision = maps.Clone(decision)
	decision["request_id"] = id
	text, _ = json.Marshal(map[string]any{"type": live.TypeResponse, "id": "1", "data": decision})
	if err := o.ws.Write(w.t.Context(), websocket.MessageText, text); err != nil {
		w.t.Fatal(err)
	}
}

// refused sends requests with a value to places where heldcall does not replace it, and to an upstream
// that quotes it, and keeps the errors.
func (o *outputs) refused(w *world, k *talk, value string) {
	w.t.Helper()
	for _, text := range encodings(value) {
		if strings.Contains(text, "%") {
			continue // percent-encoded twice is none of the encodings
		}
		body, _ := json.Marshal(map[string]any{"model": text, "messages": text, "input": map[string]any{text: 1}})
		for _, request := range []string{
			rawPost(k.path+"/"+url.PathEscape(text), "{}", ""), rawPost(k.path+"?k="+url.QueryEscape(text), "{}", ""),
			rawPost(k.path, "{}", "X-Note: "+text+"\r\n"), rawPost(k.path, text, ""), rawPost(k.path, string(body), ""), rawPost("/other", string(body), ""),
		} {
			fmt.Fprintln(&o.errors, w.raw(request))
		}
	}
	fmt.Fprintln(&o.errors, w.post(k.path, `{"model":"quote","messages":[{"role":"user","content":"x"}],"input":"x","max_tokens":9}`).rest())
}

// all returns the outputs by their names. It stops heldcall.
func (o *outputs) all(w *world) map[string]string {
	w.t.Helper()
	texts := map[string]string{}
	for _, path := range []string{"/api/v1/requests", "/api/v1/audit", "/api/v1/runs", "/api/v1/secrets", "/api/v1/grants", "/metrics", "/readyz"} {
		texts[path] = w.get(w.app.ConsoleURL() + path)
	}
	page, err := w.console.Requests(w.t.Context(), approvals.Filter{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range page.Items {
		texts["request "+r.ID] = w.get(w.app.ConsoleURL() + "/api/v1/requests/" + r.ID)
		o.request(w, "heldcall.v1.svc.requests.get", map[string]string{"id": r.ID})
	}
	for _, what := range []string{"requests.list", "runs.list", "grants.list", "signals.list"} {
		o.request(w, "heldcall.v1.svc."+what, map[string]string{})
	}
	var sent strings.Builder
	for _, r := range w.upstream.Requests() {
		fmt.Fprintf(&sent, "%s %v %s\n", r.Target, r.Header, r.Body)
	}
	texts["upstream"] = sent.String()
	for name, r := range map[string]*recorder{"event stream": &o.stream, "WebSocket": &o.socket, "NATS": &o.feeds} { // the last event of the call
		w.until(name, func() bool {
			return strings.Contains(r.String(), "secret_used") || (name == "WebSocket" && strings.Contains(r.String(), `"status":"approved"`))
		})
	}
	if err := w.stop(); err != nil {
		w.t.Fatal(err)
	}
	texts["Slack"] = o.cards()
	for name, r := range map[string]*recorder{
		"webhooks": &o.hooks, "shoutrrr": &o.chats, "traces": &o.spans, "event stream": &o.stream, "WebSocket": &o.socket, "NATS": &o.feeds, "NATS replies": &o.replies, "errors": &o.errors,
	} {
		texts[name] = r.String()
	}
	texts["log"] = w.log.String()
	texts["disk"] = onDisk(w.t, o.config.NATS.Dir) + onDisk(w.t, o.config.AuditDir())
	texts["store"] = inStore(w.t, o.config.NATS.Dir)
	return texts
}

// inStore returns the messages of all streams and buckets of a heldcall that has stopped,
// unpacked.
func inStore(t *testing.T, dir string) string {
	t.Helper()
	s := openStore(t, dir)
	defer s.Close()
	js, err := jetstream.New(s.Conn())
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	streams := js.ListStreams(t.Context())
	for info := range streams.Info() {
		stream, err := js.Stream(t.Context(), info.Config.Name)
		if err != nil {
			t.Fatal(err)
		}
		for n := info.State.FirstSeq; n <= info.State.LastSeq; n++ {
			m, err := stream.GetMsg(t.Context(), n)
			if err != nil {
				continue // it was replaced
			}
			fmt.Fprintf(&all, "%s %v %s\n", m.Subject, m.Header, m.Data)
			if plain, err := packed.Decode(m.Data, 1<<20); err == nil {
				all.Write(plain)
			}
		}
	}
	if streams.Err() != nil {
		t.Fatal(streams.Err())
	}
	return all.String()
}

// parts returns a message of the user whose text is in two parts.
func (k *talk) parts(a, b string) map[string]any {
	kind := "text"
	if strings.HasSuffix(k.path, "/responses") {
		kind = "input_text"
	}
	return map[string]any{"role": "user", "content": []any{map[string]any{"type": kind, "text": a}, map[string]any{"type": kind, "text": b}}}
}

// A person answers a question for a secret; the model gets its handle and uses it in a call
// that a person approves; the agent gets the value, and shows it to the model in every
// encoding. Reviewers and agents write it where it does not belong. Nothing but the released
// call has it.
func TestPromise8_NothingButTheReleasedCallHasASecret(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		value, middle := newSecret()
		o, configure := observed(t)
		answers := inOrder(asking("request_env_var", askToken), asking("bash", useToken), fakemodel.Answer{Text: "It is " + value + ", is it?"}, fakemodel.Answer{Text: "Done."}, fakemodel.Answer{Text: "Done."})
		w := build(t, offersAll+askAll, func(r *fakemodel.Request) fakemodel.Reply {
			if strings.Contains(string(r.Body), `"model":"quote"`) {
				quoted, _ := json.Marshal(strings.Join(encodings(value), " "))
				return fakemodel.Whole(400, []byte(`{"error":{"type":"x","message":`+string(quoted)+`}}`))
			}
			return answers(r)
		}, configure)
		o.listen(w)
		k := talkTo(w).withTools("bash")
		answer := k.begin("upload it")
		question := w.pending(1)[0]
		w.until("messages in chats", func() bool { return strings.Contains(o.cards(), "API_TOKEN") && o.chats.String() != "" })
		for _, wrong := range []map[string]any{
			{"action": "answer", "values": map[string]any{"OTHER": value}},
			{"action": "answer", "answer": value},
			{"action": "answer", "selected": []string{value}},
			{"action": value},
			{"action": "answer", value: 1},
			{"action": "modify_args", "modified_args": map[string]any{"x": value}},
		} {
			o.decide(w, question.ID, wrong)
		}
		right := map[string]any{"action": "answer", "note": "it is " + value, "values": map[string]any{"API_TOKEN": value, "HOST": "example.org"}}
		o.decide(w, question.ID, right) // the second and third are too late
		late, lateMiddle := newSecret() // of another reviewer; it is not stored or sent
		o.decide(w, question.ID, map[string]any{"action": "answer", "note": "it is " + late, "values": map[string]any{"API_TOKEN": late}})
		request := w.pending(1)[0]
		if !slices.Equal(request.Details.Secrets, []string{"API_TOKEN"}) || !strings.Contains(strings.Join(request.Details.Flags, " "), "the value of the secret API_TOKEN") || !strings.Contains(string(request.Arguments), "Bearer secret://API_TOKEN") {
			t.Errorf("the request is %+v", request)
		}
		o.decide(w, request.ID, map[string]any{"action": "approve", "note": strings.Join(encodings(value), " ")})
		got := <-answer
		want := "curl -H 'Authorization: Bearer " + strings.ReplaceAll(value, "'", `'\''`) + "' https://example.org/"
		var arguments struct{ Command string }
		if len(got.calls) != 1 || json.Unmarshal([]byte(got.calls[0].Arguments), &arguments) != nil || arguments.Command != want {
			t.Fatalf("the agent gets %+v, want the command %s", got, want)
		}
		if second := string(w.upstream.Requests()[1].Body); !strings.Contains(second, "secret://API_TOKEN") || !strings.Contains(second, "example.org") {
			t.Errorf("the model gets %s", second)
		}
		k.result(got.calls[0].ID, "sent: "+strings.Join(encodings(value), " , "))
		for _, form := range encodings(value) {
			half := strings.IndexByte(form, form[len(form)/2]) // not inside a character
			k.history = append(k.history, k.parts("first "+form[:half], form[half:]+" then"))
		}
		if echoed := k.send(); !strings.Contains(echoed.text, "It is secret://API_TOKEN, is it?") || strings.Contains(k.raw, middle) {
			t.Errorf("the agent reads %s", k.raw)
		}
		k.say("and " + value)
		third := string(w.upstream.Requests()[2].Body)
		if n := strings.Count(third, "secret://API_TOKEN"); n < 2*len(encodings(value))+2 {
			t.Errorf("the request has %d handles: %s", n, third)
		}
		o.refused(w, k, value)
		if types := w.audited(); !slices.Contains(types, "secret_used") {
			t.Errorf("the audit log has %s", types)
		}
		for name, text := range o.all(w) {
			for _, middle := range []string{middle, lateMiddle} {
				if part := shown(text, middle); part != "" {
					t.Errorf("%s shows the secret: %q", name, part)
				}
			}
			quiet := slices.Contains([]string{"/api/v1/grants", "/metrics", "/readyz", "/api/v1/runs", "errors", "shoutrrr"}, name)
			if text == "" || (!quiet && !strings.Contains(text, "API_TOKEN")) {
				t.Errorf("%s has nothing about the secret, so that the search proves nothing: %.3000s", name, text)
			}
		}
	})
}
