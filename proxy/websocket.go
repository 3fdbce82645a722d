package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/heldcall/heldcall/proxy/socket"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/oklog/ulid/v2"
	"github.com/valyala/fasthttp"
)

// socketDialect is the dialect whose requests for new answers may come over WebSocket.
const socketDialect = "responses"

// agentSocket serves the requests that an agent sends over one WebSocket. What the handshake has in its headers
// counts for all of them.
type agentSocket struct {
	proxy  *Proxy
	header fasthttp.Request // a POST with the headers of the handshake
	route  route
	peer   string
}

// isSocket reports whether a request opens a WebSocket for a gated route, and returns the route of the requests on it.
func (p *Proxy) isSocket(r *agentRequest, h *fasthttp.RequestHeader) (route, bool) {
	asks := r.method == http.MethodGet && strings.EqualFold(r.text(idUpgrade), "websocket") && len(header(h, "Sec-WebSocket-Key")) > 0
	if !asks || r.folded || !r.isHTTP11 {
		return route{}, false
	}
	path, err := normalPath(r.path)
	if err != nil {
		return route{}, false
	}
	found, refusal := p.router.find(http.MethodPost, path, r.hasChatGPT())
	return found, refusal == nil && found.dialect != nil && found.dialect.Name() == socketDialect && strings.HasSuffix(found.path, "/responses")
}

// openSocket opens the upstream's WebSocket, and then the agent's. An upstream that refuses it refuses the agent.
func (x *agentExchange) openSocket(r *agentRequest, req *fasthttp.Request) *intercept.Error {
	s := &agentSocket{proxy: x.proxy, route: x.route, peer: x.agent.peer()}
	req.Header.CopyTo(&s.header.Header)
	s.header.Header.SetMethod(http.MethodPost)
	s.header.SetRequestURI(r.path)
	s.header.URI().SetQueryString(r.query)
	conn, head, err := x.route.upstream.DialSocket(x.agent.ctx, s.handshake(), x.proxy.options.MaxBody)
	x.release()
	if err != nil {
		return x.refusedSocket(err)
	}
	opened := http.Header{}
	var passed fasthttp.ResponseHeader
	passed.DisableNormalizing()
	x.route.upstream.CopyResponseHead(&passed, head, true)
	for name, value := range passed.All() {
		if !strings.HasPrefix(strings.ToLower(string(name)), "sec-websocket-") {
			opened.Add(string(name), string(value))
		}
	}
	opened.Set(headerTurn, x.id)
	handshake := httpRequest(&req.Header)
	protocol := conn.Subprotocol()
	x.agent.fasthttp.HijackSetNoResponse(true)
	x.proxy.sockets.Add(1)
	under := x.agent.fasthttp.Conn()
	x.agent.fasthttp.Hijack(func(c net.Conn) {
		defer x.proxy.sockets.Done()
		_ = c.SetDeadline(time.Time{})
		agent, err := websocket.Accept(&upgrade{conn: &closable{c, under}, header: opened}, handshake, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{protocol}})
		if err != nil {
			_ = conn.CloseNow()
			return
		}
		agent.SetReadLimit(int64(s.proxy.options.MaxBody))
		s.serve(agent, conn)
	})
	return nil
}

// noSocket are the statuses of upstreams that know no WebSocket. Codex tries seven times after them, and uses HTTP at
// once after 426.
var noSocket = []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUpgradeRequired, http.StatusNotImplemented}

// refusedSocket passes the refusal of the upstream on.
func (x *agentExchange) refusedSocket(err error) *intercept.Error {
	var refused *upstream.SocketRefused
	if !errors.As(err, &refused) {
		return noAnswer(err)
	}
	status := refused.Head.StatusCode()
	switch {
	case status < 400, slices.Contains(noSocket, status):
		return &intercept.Error{Code: intercept.CodeRouteNotGated, Reason: "the upstream opens no WebSocket; use HTTP streaming", HTTP: http.StatusUpgradeRequired}
	case !x.route.dialect.SafeError(refused.Body):
		return intercept.NotUnderstood("it is an error (status %d) that could hold a call", status)
	}
	x.route.upstream.CopyResponseHead(x.agent.Head(), refused.Head, true)
	x.agent.response().SetBody(x.route.upstream.Redactor().Redact(refused.Body))
	return nil
}

// handshake is the request with which the upstream's WebSocket is opened.
func (s *agentSocket) handshake() *upstream.Request {
	header := &fasthttp.RequestHeader{}
	s.header.Header.CopyTo(header)
	header.SetMethod(http.MethodGet)
	return &upstream.Request{Header: header, Envelope: intercept.Envelope{Method: http.MethodGet, Path: s.route.path, Query: string(s.header.URI().QueryString())}}
}

// serve serves the agent until its connection ends.
func (s *agentSocket) serve(agent, model *websocket.Conn) {
	session := &socket.Session{
		Agent: agent, First: model, Dial: s.dial, Answer: s.answer, Error: s.route.dialect.Error, Stopping: s.proxy.service.stopped,
		Redact:  func(p []byte) []byte { return s.route.upstream.Redactor().Redact(p) },
		Reserve: func(n int) bool { return s.proxy.memory.Reserve(int64(n)) },
		Return:  func(n int) { s.proxy.memory.Release(int64(n)) },
	}
	session.Serve(s.proxy.base, agentconn.ErrDisconnected)
}

// dial opens another connection to the upstream: the model APIs close theirs after an hour.
func (s *agentSocket) dial(ctx context.Context) (*websocket.Conn, *intercept.Error) {
	conn, _, err := s.route.upstream.DialSocket(ctx, s.handshake(), s.proxy.options.MaxBody)
	var refused *upstream.SocketRefused
	switch {
	case errors.As(err, &refused):
		return nil, &intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream has closed the WebSocket and opens no other; connect again", Err: err}
	case err != nil:
		return nil, noAnswer(err)
	}
	return conn, nil
}

// answer answers one request, as [agentExchange] does one of HTTP.
func (s *agentSocket) answer(ctx context.Context, request socket.Request) {
	p := s.proxy
	if !p.service.begin() {
		request.Lane.Refuse(ctx, p.service.refusal(turn.ErrShuttingDown))
		return
	}
	defer p.service.end()
	var t *turn.Turn
	defer func() {
		if fault := recover(); fault != nil {
			if t != nil {
				t.Panicked(fault)
			} else {
				p.log.Error("panic while serving a request", "panic", fault, "stack", string(debug.Stack()))
			}
			request.Lane.Refuse(ctx, &intercept.Error{Code: intercept.CodeAnswerNotUnderstood, Reason: "internal error; heldcall's log has the details"})
		}
	}()
	var r agentRequest
	r.read(&s.header)
	r.body = request.Body
	x := agentExchange{proxy: p, route: s.route, id: ulid.Make().String(), began: time.Now()}
	var answer *socket.Answer
	var refusal *intercept.Error
	t, answer, refusal = s.begin(ctx, &x, &r, request.Lane)
	if refusal != nil {
		p.metrics.refused(refusal.Code)
		p.metrics.request(s.route.label, refusal.Status())
		x.spans.Failed(refusal)
		x.spans.End(refusal.Status(), "")
		request.Lane.Refuse(ctx, refusal)
		return
	}
	defer func() { x.spans.End(http.StatusOK, t.Outcome()) }()
	p.metrics.openStreams.Inc()
	defer p.metrics.openStreams.Dec()
	answer.Run(t, turn.Explain)
	p.metrics.request(s.route.label, http.StatusOK)
}

// begin begins the turn of an exchange.
func (s *agentSocket) begin(ctx context.Context, x *agentExchange, r *agentRequest, lane *socket.Lane) (t *turn.Turn, answer *socket.Answer, refusal *intercept.Error) {
	p := s.proxy
	if x.client, x.who, refusal = p.identify(r, &s.header.Header); refusal == nil {
		refusal = maskHead(ctx, p.options.Secrets, x.who, r, &s.header.Header)
	}
	x.beginSpans(r, &s.header.Header)
	if refusal != nil {
		return nil, nil, refusal
	}
	r.body = r.masker.JSON(r.body)
	request := x.turnRequestFrom(r, &s.header.Header, s.peer)
	request.Envelope.Connected = true
	answer = lane.NewAnswer(ctx)
	up := &maskedUpstream{
		gatedUpstream: gatedUpstream{client: s.route.upstream, header: &s.header.Header, lane: lane},
		secrets:       p.options.Secrets, limit: p.options.MaxBody, who: request.Principal, masked: r.body, masker: r.masker,
	}
	t, refusal = p.turns.Begin(ctx, &request, answer, up, x.spans)
	return t, answer, refusal
}

// httpRequest is the handshake of an agent for the WebSocket's library.
func httpRequest(h *fasthttp.RequestHeader) *http.Request {
	r := &http.Request{Method: http.MethodGet, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Host: string(h.Host())}
	for name, value := range h.All() {
		r.Header.Add(string(name), string(value))
	}
	return r
}

// closable is a connection that fasthttp has given away, and that Close ends: fasthttp's own ends it only when the one who
// has got it returns, who may be reading from it.
type closable struct {
	net.Conn
	under net.Conn
}

// Close implements [net.Conn].
func (c *closable) Close() error { return c.under.Close() }

// upgrade writes the answer to a handshake on the agent's connection.
type upgrade struct {
	conn   net.Conn
	header http.Header
}

// Header implements [http.ResponseWriter].
func (u *upgrade) Header() http.Header { return u.header }

// WriteHeader implements [http.ResponseWriter].
func (u *upgrade) WriteHeader(status int) {
	head := bufio.NewWriter(u.conn)
	_, _ = io.WriteString(head, fmt.Sprintf("HTTP/1.1 %d %s\r\n", status, http.StatusText(status)))
	_ = u.header.Write(head)
	_, _ = io.WriteString(head, "\r\n")
	_ = head.Flush() // an error is that of the first read
}

// Write implements [http.ResponseWriter]: the text of an error.
func (u *upgrade) Write(p []byte) (int, error) { return u.conn.Write(p) }

// Hijack implements [http.Hijacker].
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return u.conn, bufio.NewReadWriter(bufio.NewReader(u.conn), bufio.NewWriter(u.conn)), nil
}
