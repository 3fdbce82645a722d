package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
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
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// Exchanges that end unexpectedly leave nothing over: no pending request,
// no connection, no goroutine, no count of a stream that is open.

const soon = 90 * time.Second

// bed is a proxy with a real gate and store in front of a scripted upstream.
type bed struct {
	*Proxy
	t        *testing.T
	gate     *gate.Gate
	upstream *fakemodel.Server
	log      bytes.Buffer // read it when the proxy has stopped
}

// newBed starts everything but the proxy's own listener.
func newBed(t *testing.T, d intercept.Dialect, rules string, script fakemodel.Script) *bed {
	t.Helper()
	b := &bed{t: t}
	s := memstore.New(memstore.Options{})
	b.gate = gate.New(gate.Options{Store: s.ForGate()})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = b.gate.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	upstream, err := fakemodel.New(script)
	if err != nil {
		t.Fatal(err)
	}
	b.upstream = upstream
	t.Cleanup(b.upstream.Close)
	judged, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	b.Proxy, err = New(Options{
		Listen: "127.0.0.1:0", Upstreams: []Upstream{{Prefix: "/v1", URL: b.upstream.URL()}},
		Heartbeat: HeartbeatAuto, Keepalive: 20 * time.Millisecond, MaxBody: 1 << 20, MaxContinuations: 8, ShutdownGrace: time.Second,
		Dialects: []intercept.Dialect{d}, Services: Services{Judge: func(string) Judge { return judge.NewRules(judged) }, Gate: b.gate, Turns: s.Turns},
		Log: slog.New(slog.NewTextHandler(&b.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ended checks that nothing is left.
func (b *bed) ended() {
	b.t.Helper()
	page, err := b.gate.Requests(b.t.Context(), approvals.Filter{Status: approvals.StatusPending})
	if err != nil || len(page.Items) > 0 {
		b.t.Errorf("%d requests are still pending, %v", len(page.Items), err)
	}
	if n := testutil.ToFloat64(b.metrics.openStreams); n != 0 {
		b.t.Errorf("%v streams are counted as open", n)
	}
	b.router.upstreams[0].Close() // the idle connections
	for _, r := range b.upstream.Requests() {
		select {
		case <-r.Gone():
		case <-time.After(soon):
			b.t.Error("a request is still open upstream")
		}
	}
}

func (b *bed) until(what string, ok func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("never: %s", what)
		}
	}
}

func chatRequest(streamed string) string {
	return `{"model":"m","stream":` + streamed + `,"messages":[{"role":"user","content":"do it"}],"tools":[{"type":"function","function":{"name":"bash"}}]}`
}

func callBash(r *fakemodel.Request) fakemodel.Reply {
	return fakemodel.Answer{Text: "Let me look.", Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{}`}}}.Reply(r)
}

// recast is a dialect that reads answers with another codec than its own.
type recast struct {
	chat.Dialect
	codec func(intercept.Codec) intercept.Codec
}

func (d recast) Request(e intercept.Envelope) (intercept.Request, error) {
	r, err := d.Dialect.Request(e)
	return recastRequest{r, d.codec}, err
}

type recastRequest struct {
	intercept.Request
	codec func(intercept.Codec) intercept.Codec
}

func (r recastRequest) Codec(l intercept.Limits) intercept.Codec {
	return r.codec(r.Request.Codec(l))
}

// faulty is a dialect that panics at one place.
type faulty struct {
	recast
	at string
}

func newFaulty(at string) faulty {
	return faulty{recast{codec: func(c intercept.Codec) intercept.Codec { return faultyCodec{c, at} }}, at}
}

func (d faulty) Request(e intercept.Envelope) (intercept.Request, error) {
	if d.at == "request" {
		panic("a fault in request")
	}
	return d.recast.Request(e)
}

type faultyCodec struct {
	intercept.Codec
	at string
}

func (c faultyCodec) Heartbeat(h intercept.Heartbeat) []intercept.Event {
	if c.at == "heartbeat" {
		panic("a fault in heartbeat")
	}
	return c.Codec.Heartbeat(h)
}

func (c faultyCodec) Begin() intercept.Traits {
	if c.at == "write" {
		panic("a fault in write")
	}
	return c.Codec.Begin()
}

func (c faultyCodec) Plan(p *intercept.Plan) (intercept.Resolution, error) {
	if c.at == "settle" {
		panic("a fault in settle")
	}
	return c.Codec.Plan(p)
}

func TestPanicsLeaveNothingOpen(t *testing.T) {
	for _, at := range []string{"request", "write", "heartbeat", "settle"} {
		for _, streamed := range []string{"true", "false"} {
			if at == "heartbeat" && streamed == "false" {
				continue // blanks keep a whole answer alive, without the codec
			}
			t.Run(at+" streamed "+streamed, func(t *testing.T) {
				rules := "default: ask\n"
				if at == "settle" {
					rules = "profiles: none\nrules:\n  - allow: [\"bash(*)\"]\n"
				}
				b := newBed(t, newFaulty(at), rules, func(r *fakemodel.Request) fakemodel.Reply {
					reply := callBash(r)
					if at == "write" {
						reply.Body, reply.Framing, reply.End = reply.Body[:1], fakemodel.Chunked, fakemodel.EndStall
					}
					return reply
				})
				if err := b.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.Addr()+"/v1/chat/completions", strings.NewReader(chatRequest(streamed)))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("User-Agent", "AsyncOpenAI/Python 1") // whose heartbeats are events
				resp, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				switch resp.StatusCode {
				case http.StatusBadGateway:
					if err != nil || !bytes.Contains(body, []byte("internal error")) {
						t.Errorf("got %v %s", err, body)
					}
				case http.StatusOK:
					if !errors.Is(err, io.ErrUnexpectedEOF) || bytes.Contains(body, []byte("bash")) {
						t.Errorf("the answer ended as if it were whole: %v %s", err, body)
					}
				default:
					t.Errorf("status %d", resp.StatusCode)
				}
				b.until("the exchange has ended", func() bool { return testutil.ToFloat64(b.metrics.openStreams) == 0 })
				b.ended()
				if err := b.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if log := b.log.String(); !strings.Contains(log, "a fault in "+at) || !strings.Contains(log, "ending_test.go") {
					t.Errorf("logged %s", log)
				}
			})
		}
	}
}

// deaf is a connection on which the agent's bytes arrive and nothing can be
// written.
type deaf struct{ net.Conn }

func (d deaf) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// one is a listener of one connection.
type one struct {
	conn chan net.Conn
	done chan struct{}
}

func (l one) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conn:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l one) Addr() net.Addr { return &net.TCPAddr{} }
func (l one) Close() error   { close(l.done); return nil }

func TestHeadThatCannotBeWritten(t *testing.T) {
	for _, streamed := range []string{"true", "false"} {
		b := newBed(t, chat.Dialect{}, "default: ask\n", callBash)
		agent, conn := net.Pipe()
		l := one{make(chan net.Conn, 1), make(chan struct{})}
		l.conn <- deaf{conn}
		var serving sync.WaitGroup
		serving.Go(func() { _ = b.server.Serve(l) })
		body := chatRequest(streamed)
		if _, err := io.WriteString(agent, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body); err != nil {
			t.Fatal(err)
		}
		_, err := agent.Read(make([]byte, 1)) // until it is closed
		if !errors.Is(err, io.EOF) {
			t.Errorf("the agent read %v", err)
		}
		b.until("the stream is closed", func() bool { return testutil.ToFloat64(b.metrics.openStreams) == 0 })
		if err := b.server.Shutdown(); err != nil {
			t.Error(err)
		}
		serving.Wait()
		b.ended()
	}
}
