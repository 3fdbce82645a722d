package proxy

import (
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/trace"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/oklog/ulid/v2"
	"github.com/valyala/fasthttp"
)

// exchange is one HTTP exchange with an agent: a request and its answer. A request on a
// gated route is answered by a turn, one without calls by copying.
type agentExchange struct {
	proxy  *Proxy
	agent  agent
	route  route
	page   string // origin of the web page that sent the request, "" for other programs
	client string // the configured client that the agent is, by the SHA-256 of its key, or ""
	who    approvals.Principal
	id     string // of the turn
	began  time.Time
	spans  *trace.Spans // nil while tracing is off

	upstream maskedUpstream
	request  turn.Request
	turn     *turn.Turn         // nil on a route without calls
	copied   *upstream.Response // whose body is copied, nil on a gated route
	outcome  string             // of an exchange without a turn
	open     bool               // it is counted as an open stream
	counted  bool               // it is counted by the service
}

// serve answers one request, top to bottom: read it, route it, and let a turn answer it as
// far as it goes before the agent gets its first byte. The rest runs while the body is
// written: see [relay].
func (p *Proxy) serve(a agent) {
	x := &agentExchange{proxy: p, agent: a, route: route{label: unknownRoute}, id: ulid.Make().String(), began: time.Now()}
	defer func() {
		if r := recover(); r != nil {
			x.panicked(r)
			x.agent.ResetHead()
			p.answerError(&x.agent, x.route.dialect, &intercept.Error{Code: intercept.CodeAnswerNotUnderstood, Reason: "internal error; heldcall's log has the details"})
		}
		x.agent.response().Header.Set(headerTurn, x.id)
		if x.page != "" {
			letRead(&x.agent.response().Header, x.page)
		}
		p.metrics.request(x.route.label, x.agent.response().StatusCode())
		if !x.agent.streams() { // else the relay does
			x.finish()
		}
	}()
	if refusal := x.start(x.agent.request()); refusal != nil {
		x.release()
		x.refuse(refusal)
	}
}

// start admits the request, routes it, and begins the answer. The error refuses the request
// before upstream was asked.
func (x *agentExchange) start(req *fasthttp.Request) (refusal *intercept.Error) {
	if refusal = x.enter(); refusal != nil {
		return refusal
	}
	if x.page, refusal = x.proxy.web.admit(&req.Header); refusal != nil {
		return refusal
	}
	if req.Header.IsOptions() {
		answerPreflight(&req.Header, x.agent.response())
		x.release()
		return nil
	}
	var r agentRequest
	r.read(req)
	if x.client, x.who, refusal = x.proxy.identify(&r, &req.Header); refusal == nil {
		refusal = maskHead(x.agent.ctx, x.proxy.options.Secrets, x.who, &r, &req.Header)
	}
	opens := false
	if refusal == nil {
		if x.route, opens = x.proxy.isSocket(&r, &req.Header); !opens {
			x.route, refusal = x.proxy.route(&r)
		}
	}
	x.beginSpans(&r, &req.Header)
	if refusal == nil {
		refusal = x.readBody(&r, req)
	}
	if refusal != nil {
		return refusal
	}
	switch {
	case x.route.hook != nil:
		return x.answerHook(&r, &req.Header)
	case x.route.label == proofRoute:
		return x.answerProof(&req.Header)
	case x.route.dialect == nil:
		return x.passUngated(&r, &req.Header)
	case opens:
		return x.openSocket(&r, req)
	}
	if r.otherCharset {
		return badRequest("the character set of the request body is not UTF-8")
	}
	x.request = x.turnRequest(&r, &req.Header)
	x.upstream = maskedUpstream{gatedUpstream: gatedUpstream{client: x.route.upstream, header: &req.Header, limits: x.codingLimits()}, secrets: x.proxy.options.Secrets, limit: x.proxy.options.MaxBody, who: x.request.Principal, masked: r.body, masker: r.masker}
	if x.turn, refusal = x.proxy.turns.Begin(x.agent.ctx, &x.request, &x.agent, &x.upstream, x.spans); refusal != nil {
		return refusal
	}
	x.id = x.request.Turn
	x.answer()
	return nil
}

// enter watches the agent and waits until requests are served. The error refuses one that comes while
// heldcall stops, that has waited for too long, or for which there is no memory.
func (x *agentExchange) enter() *intercept.Error {
	if x.counted = x.proxy.service.begin(); !x.counted {
		x.agent.close()
		return x.proxy.service.refusal(turn.ErrShuttingDown)
	}
	if refusal := x.agent.watch(x.proxy.base); refusal != nil || x.proxy.service.isOpen() {
		return refusal
	}
	refusal := x.proxy.service.await(x.agent.ctx)
	x.began = time.Now() // the wait is no work on the request
	return refusal
}

// turnRequest is the agent's request as a turn answers it.
func (x *agentExchange) turnRequest(r *agentRequest, header *fasthttp.RequestHeader) turn.Request {
	return x.turnRequestFrom(r, header, x.agent.peer())
}

// turnRequestFrom is turnRequest for an agent at an address.
func (x *agentExchange) turnRequestFrom(r *agentRequest, header *fasthttp.RequestHeader, peer string) turn.Request {
	p := x.proxy
	return turn.Request{
		Turn: x.id, Began: x.began, Route: x.route.label, Dialect: x.route.dialect, Envelope: r.envelope(x.route.path),
		Client: x.client, APIKey: r.apiKey(), Principal: x.who, Session: r.text(idSession), Run: r.text(idRun),
		UserAgent: string(r.userAgent), ClientRequest: r.text(idClientRequest), ReadSessionHeaders: func() []conversation.SessionHeader { return sessionHeaders(header) },
		Patience: r.patience(), Retried: r.retried(), IdempotencyKey: r.text(idIdempotency), Peer: peer,
		Pulse: p.heartbeat(x.route.dialect.Name(), r.userAgent), Silent: p.options.Heartbeat == HeartbeatOff,
	}
}

// answer lets the turn answer, in the handler.
func (x *agentExchange) answer() {
	ended, err := x.turn.Run()
	if !ended {
		x.stream(unknownLength)
		return
	}
	x.end()
	if err != nil {
		x.agent.ResetHead()
		x.agent.close()
		x.proxy.answerError(&x.agent, x.route.dialect, turn.Explain(err))
	}
}

// stream lets the rest of the exchange run while the body is written.
func (x *agentExchange) stream(length int) {
	x.proxy.metrics.openStreams.Inc()
	x.proxy.reclaimer.streamBegan()
	x.open = true
	x.agent.stream(&relay{x}, length)
}

// resume runs the rest of the exchange: the body is written to w. After an error
// the answer must not end properly.
func (x *agentExchange) resume(w io.Writer) error {
	if err := x.agent.begin(w); err != nil {
		x.disconnected()
		return err
	}
	var err error
	if x.turn != nil {
		_, err = x.turn.Run()
	} else {
		err = x.copyBody()
	}
	x.end()
	if err != nil {
		return err
	}
	return x.agent.end()
}

// disconnected ends an exchange whose agent has disconnected.
func (x *agentExchange) disconnected() {
	if x.turn != nil {
		x.turn.Disconnected()
	} else {
		x.outcome = "agent_gone"
	}
	x.end()
}

// panicked ends an exchange after a panic.
func (x *agentExchange) panicked(fault any) {
	if x.turn != nil {
		x.turn.Panicked(fault)
	} else {
		x.proxy.log.Error("panic while serving a request", "turn", x.id, "panic", fault, "stack", string(debug.Stack()))
		x.outcome = "failed"
	}
	x.end()
}

// end ends an exchange of which upstream was asked, and counts it. A turn counts itself.
func (x *agentExchange) end() {
	x.release()
	if x.turn == nil {
		x.proxy.turns.Ended(x.route.label, x.outcome)
	}
}

// release returns everything that the exchange has. A turn does so for itself.
func (x *agentExchange) release() {
	if x.copied != nil { // before its context ends, so that the connection can be kept
		x.copied.Close()
		x.copied = nil
	}
	x.agent.release()
	if x.open {
		x.proxy.metrics.openStreams.Dec()
		x.proxy.reclaimer.streamEnded()
		x.open = false
	}
}

// refuse answers with an error of heldcall's own.
func (x *agentExchange) refuse(e *intercept.Error) {
	x.spans.Failed(e)
	x.proxy.metrics.refused(e.Code)
	x.proxy.log.Debug("request refused", "code", e.Code, "error", e)
	x.proxy.answerError(&x.agent, x.route.dialect, e)
}

// beginSpans begins the span of the request.
func (x *agentExchange) beginSpans(read *agentRequest, h *fasthttp.RequestHeader) {
	o := x.proxy.options.Tracing
	if o.Tracer == nil {
		return
	}
	r := trace.Request{Method: read.method, Path: read.path, Route: x.route.label, Turn: x.id, Began: x.began, Parent: traceContext(h)}
	if x.route.upstream != nil {
		r.Redactor = x.route.upstream.Redactor()
	}
	x.spans = trace.Begin(o, r)
}

// finish ends the exchange, for the service when its answer has been sent: what is recorded then needs
// the store.
func (x *agentExchange) finish() {
	x.endSpans()
	if x.counted {
		x.agent.answered(x.proxy.service.end)
	}
}

// endSpans ends the span of the request.
func (x *agentExchange) endSpans() {
	outcome := x.outcome
	if x.turn != nil {
		outcome = x.turn.Outcome()
	}
	x.spans.End(x.agent.response().StatusCode(), outcome)
}

// route finds where a request goes. Requests whose framing or target two servers could
// read in different ways go nowhere.
func (p *Proxy) route(r *agentRequest) (route, *intercept.Error) {
	none := route{label: unknownRoute}
	switch {
	case r.folded:
		return none, badRequest("a header of the request is folded over several lines")
	case !r.isHTTP11:
		return none, badRequest("the protocol is not HTTP/1.1, which streamed answers need (nginx: proxy_http_version 1.1)")
	case r.has(idTransferEncoding) && r.has(idContentLength):
		return none, badRequest("the request has both Transfer-Encoding and Content-Length")
	case r.upgrades():
		return none, refusedUpgrade(r.path)
	}
	path, err := normalPath(r.path)
	if err != nil {
		return none, badRequest(err.Error())
	}
	if own := ownRoute(path); own.label != "" {
		return own, nil
	}
	return p.router.find(r.method, path, r.hasChatGPT())
}

// refusedUpgrade is the error for an agent that wants to leave HTTP. Codex tries a
// WebSocket first: after 426 it continues with POST at once, after any other status it
// tries again for seconds.
func refusedUpgrade(path string) *intercept.Error {
	e := &intercept.Error{Code: intercept.CodeRouteNotGated, Reason: "protocol upgrades (WebSocket) can carry tool calls that heldcall does not gate; use HTTP streaming"}
	if strings.HasSuffix(strings.ToLower(strings.TrimRight(path, "/")), "/responses") {
		e.HTTP = http.StatusUpgradeRequired
	}
	return e
}

func badRequest(reason string) *intercept.Error {
	return &intercept.Error{Code: intercept.CodeBadRequest, Reason: reason}
}
