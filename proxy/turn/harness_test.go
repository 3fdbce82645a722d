package turn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/memstore"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/packed"
	"github.com/heldcall/heldcall/proxy/trace"
)

// recorder is an agent that records its answer.
type recorder struct {
	header   http.Header
	status   int
	started  bool
	writable bool
	body     []byte
	gone     bool // writing fails
	memory   int  // bytes that can be reserved
}

func newRecorder() *recorder {
	return &recorder{header: http.Header{}, status: http.StatusOK, writable: true, memory: 1 << 30}
}

func (r *recorder) SetStatusCode(code int)  { r.status = code }
func (r *recorder) SetStatusMessage([]byte) {}
func (r *recorder) AddBytesKV(k, v []byte)  { r.header.Add(string(k), string(v)) }
func (r *recorder) Head() packed.HeadWriter { return r }
func (r *recorder) ResetHead()              { r.header, r.status = http.Header{}, http.StatusOK }
func (r *recorder) Discard()                { r.ResetHead(); r.started, r.body = false, nil }
func (r *recorder) Started() bool           { return r.started }
func (r *recorder) Start()                  { r.started = true }
func (r *recorder) Writable() bool          { return r.writable }
func (r *recorder) Finish(body []byte)      { r.body = append(r.body, body...) }
func (r *recorder) Refuse(s int, b []byte)  { r.status, r.body = s, b }
func (r *recorder) OnSent(done func(error)) { done(nil) }
func (r *recorder) Reserve(n int) bool      { r.memory -= n; return r.memory >= 0 }
func (r *recorder) Return(n int)            { r.memory += n }
func (r *recorder) Write(p []byte) error {
	r.started = true
	if r.gone {
		return io.ErrClosedPipe
	}
	r.body = append(r.body, p...)
	return nil
}

// canned is an answer of the upstream.
type canned struct {
	status      int // 0 means 200
	contentType string
	encoding    string
	body        []byte
	cut         error // what ends the body, nil for io.EOF
	unanswered  *intercept.Error
	unsent      bool
}

// model is an upstream that gives canned answers in their order.
type model struct {
	mu      sync.Mutex
	answers []canned
	got     []intercept.Envelope
}

func (m *model) Addr() string { return "model:1" }
func (m *model) ID() string   { return "/v1 model:1" }
func (m *model) Redact(p []byte) []byte {
	return bytes.ReplaceAll(p, []byte("sk-secret"), []byte("[key]"))
}
func (m *model) requests() int { m.mu.Lock(); defer m.mu.Unlock(); return len(m.got) }
func (m *model) Send(_ context.Context, e intercept.Envelope, _ trace.Context) (Response, bool, *intercept.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = append(m.got, e)
	if len(m.answers) == 0 {
		return nil, true, &intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "no more answers"}
	}
	c := m.answers[0]
	m.answers = m.answers[1:]
	if c.unanswered != nil {
		return nil, !c.unsent, c.unanswered
	}
	return &reader{canned: c}, true, nil
}

// reader reads a canned answer in blocks of 64 bytes.
type reader struct {
	canned
	read int
}

func (r *reader) Status() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}
func (r *reader) ContentType() []byte       { return []byte(r.contentType) }
func (r *reader) ContentEncoding() []byte   { return []byte(r.encoding) }
func (r *reader) Buffered() bool            { return false }
func (r *reader) Framed() bool              { return true }
func (r *reader) SetReadDeadline(time.Time) {}
func (r *reader) Close()                    {}
func (r *reader) CopyHead(to packed.HeadWriter) {
	to.SetStatusCode(r.Status())
	to.AddBytesKV([]byte("Content-Type"), []byte(r.contentType))
}

func (r *reader) Next() ([]byte, error) {
	if r.read == len(r.body) {
		if r.cut != nil {
			return nil, r.cut
		}
		return nil, io.EOF
	}
	p := slices.Clone(r.body[r.read:min(r.read+64, len(r.body))])
	r.read += len(p)
	return p, nil
}

func (r *reader) ReadAll(limit int) ([]byte, error) {
	if r.cut != nil || len(r.body) > limit {
		return nil, errors.Join(r.cut, errors.New("cut"))
	}
	return r.body, nil
}

// answerTo is the scripted answer to a request.
func answerTo(e intercept.Envelope, a fakemodel.Answer) canned {
	reply := a.Reply(&fakemodel.Request{Method: e.Method, Path: "/v1" + e.Path, Target: "/v1" + e.Path, Body: e.Body})
	c := canned{status: reply.Status}
	for _, f := range reply.Header {
		if f.Name == "Content-Type" {
			c.contentType = f.Value
		}
	}
	for _, w := range reply.Body {
		c.body = append(c.body, w.Bytes...)
	}
	return c
}

// stubGate is a gate without people.
type stubGate struct {
	Stateless
	states map[string]approvals.RunState
	at     time.Time // when runs were steered
	failed error     // of Record
	events []approvals.Event
}

func (g *stubGate) Steered() bool { return len(g.states) > 0 }
func (g *stubGate) RunState(run string, _ approvals.Principal) (approvals.RunState, time.Time) {
	if s, ok := g.states[run]; ok {
		return s, g.at
	}
	return approvals.RunRunning, time.Time{}
}

func (g *stubGate) Cancel(context.Context, string, string) error { return approvals.ErrUnknownRequest }

func (g *stubGate) Record(_ context.Context, events ...approvals.Event) error {
	g.events = append(g.events, events...)
	return g.failed
}

// records is a store in memory.
type records struct {
	kept   map[string][][]byte
	failed error
}

func (s *records) AnyTurns() bool                           { return len(s.kept) > 0 }
func (s *records) AwaitTurns(context.Context) (bool, error) { return true, nil }

func (s *records) HasTurns(session string) bool { return len(s.kept[session]) > 0 }
func (s *records) Turns(_ context.Context, session string) ([][]byte, error) {
	return s.kept[session], s.failed
}

func (s *records) PutTurn(_ context.Context, session, _ string, value []byte) error {
	if s.failed == nil {
		s.kept[session] = append(s.kept[session], value)
	}
	return s.failed
}

func (s *records) TakeTurn(ctx context.Context, session, id string, value []byte) (bool, error) {
	if s.failed == nil && s.HasTurns(session) {
		return false, nil
	}
	return s.failed == nil, s.PutTurn(ctx, session, id, value)
}

func (s *records) DropTurn(_ context.Context, session, _ string) error {
	delete(s.kept, session)
	return s.failed
}

// bench is an engine with what a test looks at.
type bench struct {
	*Engine
	gate  *stubGate
	store *records
}

// newBench makes an engine with a policy and without people.
func newBench(t *testing.T, rules string) *bench {
	t.Helper()
	b := &bench{gate: &stubGate{}, store: &records{kept: map[string][][]byte{}}}
	b.Engine = NewEngine(options(t, rules, b.gate, b.store), nil)
	return b
}

func options(t testing.TB, rules string, g Gate, s Store) Options {
	t.Helper()
	parsed, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	judged := judge.NewRules(parsed)
	return Options{
		Limits: Limits{MaxBody: 1 << 20, MaxContinuations: 3, Keepalive: 5 * time.Millisecond, AbortRest: time.Minute},
		Gate:   g, Store: s, Dialects: []intercept.Dialect{chat.Dialect{}},
		Judge:  func(string) Judge { return judged },
		Keeper: &keeper{}, Log: slog.New(slog.DiscardHandler),
	}
}

// newGate starts a real gate.
func newGate(t *testing.T) (*gate.Gate, *memstore.Turns) {
	t.Helper()
	s := memstore.New(memstore.Options{})
	g := gate.New(gate.Options{Store: s.ForGate()})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = g.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return g, s.Turns
}

// chatRequest is a request of chat.
func chatRequest(streamed bool) *Request {
	body := `{"model":"m","messages":[{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"bash"}},{"type":"function","function":{"name":"ls"}},{"type":"function","function":{"name":"rm"}},{"type":"function","function":{"name":"mv"}}]}`
	if streamed {
		body = `{"model":"m","stream":true,"messages":[{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"bash"}},{"type":"function","function":{"name":"ls"}},{"type":"function","function":{"name":"rm"}},{"type":"function","function":{"name":"mv"}}]}`
	}
	return requestTo(chat.Dialect{}, "/chat/completions", body)
}

func requestTo(d intercept.Dialect, path, body string) *Request {
	return &Request{
		Turn: "turn1", Began: time.Now(), Route: d.Name(), Dialect: d, Principal: approvals.Principal{Tenant: conversation.DefaultTenant},
		Envelope: intercept.Envelope{Method: http.MethodPost, Path: path, Body: []byte(body)},
	}
}

// prepared is the conversation of a request that was read.
func (b *bench) prepared(t *testing.T, r *Request) *conversation.Conversation {
	t.Helper()
	c := new(conversation.Conversation)
	c.Init(&b.Conversations, r)
	if refusal := c.Begin(t.Context()); refusal != nil {
		t.Fatal(refusal)
	}
	return c
}

// callBash is an answer with one call.
func callBash(arguments string) fakemodel.Answer {
	return fakemodel.Answer{Text: "Let me look.", Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: arguments}}}
}
