package proxy

import (
	"bytes"
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/heldcall/heldcall/proxy/route"
	"github.com/oklog/ulid/v2"
	"github.com/valyala/fasthttp"
)

// serve takes one request, top to bottom: route, identify, read, splice, and
// then the exchange with upstream, as far as it goes before the agent gets its
// first byte. The rest of it runs while the body is written.
func (p *Proxy) serve(ctx *fasthttp.RequestCtx) {
	x := p.newExchange(ctx)
	defer func() {
		if r := recover(); r != nil {
			x.panicked(r)
			clearResponse(&ctx.Response)
			p.answerError(ctx, x.route.Dialect, &intercept.Error{Code: intercept.CodeAnswerNotUnderstood, Reason: "internal error; heldcall's log has the details"})
		}
		ctx.Response.Header.Set(headerTurn, x.turn)
		p.metrics.request(x.route.Label, ctx.Response.StatusCode())
		if !ctx.Response.IsBodyStream() { // else the relay does
			x.spans.end(x)
		}
	}()
	if refusal := x.start(); refusal != nil {
		x.release()
		x.spans.failed(refusal)
		p.refuse(ctx, x.route.Dialect, refusal)
	}
}

// newExchange is the exchange of a request that has not been looked at.
func (p *Proxy) newExchange(ctx *fasthttp.RequestCtx) *exchange {
	x := &exchange{p: p, fasthttp: ctx, route: route.Route{Label: route.Unknown}, turn: ulid.Make().String(), began: time.Now()}
	x.ctx, x.cancel = context.WithCancelCause(p.base)
	x.unwatch = func() {}
	return x
}

// start finds the request's way and goes it. An error of heldcall's own refuses
// the request before upstream was asked.
func (x *exchange) start() (refusal *intercept.Error) {
	x.route, refusal = x.p.route(x.fasthttp)
	x.spans = x.p.beginSpans(x)
	if refusal != nil {
		return refusal
	}
	if conn, ok := x.fasthttp.Conn().(*agentconn.Conn); ok {
		x.unwatch = conn.OnDisconnect(x.cancel)
		conn.ShrinkMemory(len(x.fasthttp.Request.Body()))
	}
	if x.route.Dialect == nil {
		return x.passUngated()
	}
	if refusal := x.prepare(); refusal != nil {
		return refusal
	}
	x.pulse = x.p.pulse(x.route.Dialect.Name(), &x.fasthttp.Request.Header)
	x.serve()
	return nil
}

// panicked ends an exchange at a fault of heldcall's own.
func (x *exchange) panicked(fault any) {
	x.p.log.Error("panic while serving a request", "turn", x.turn, "panic", fault, "stack", string(debug.Stack()))
	x.outcome = "failed"
	x.close()
}

func (p *Proxy) refuse(ctx *fasthttp.RequestCtx, d intercept.Dialect, e *intercept.Error) {
	p.metrics.refused(e.Code)
	p.log.Debug("request refused", "code", e.Code, "error", e)
	p.answerError(ctx, d, e)
}

// route finds where a request goes. Requests whose framing or target two servers
// could read in different ways go nowhere.
func (p *Proxy) route(ctx *fasthttp.RequestCtx) (route.Route, *intercept.Error) {
	none := route.Route{Label: route.Unknown}
	h := &ctx.Request.Header
	isFolded := folded(h.RawHeaders()) // before anything reads them: fasthttp joins folded lines in place
	has := framingOf(h)
	switch {
	case isFolded:
		return none, badRequest("a header of the request is folded over several lines")
	case !bytes.Equal(h.Protocol(), []byte("HTTP/1.1")):
		return none, badRequest("the protocol is not HTTP/1.1, which streamed answers need (nginx: proxy_http_version 1.1)")
	case has.transferEncoding && has.contentLength:
		return none, badRequest("the request has both Transfer-Encoding and Content-Length")
	case has.upgrade:
		return none, refusedUpgrade(string(ctx.URI().PathOriginal()))
	case has.contentEncoding:
		return none, badRequest("the request body is compressed; send it as it is")
	}
	path, err := route.NormalPath(string(ctx.URI().PathOriginal()))
	if err != nil {
		return none, badRequest(err.Error())
	}
	return p.router.Find(string(h.Method()), path)
}

// refusedUpgrade is the error for an agent that wants to leave HTTP. Codex tries
// a WebSocket first: 426 lets it go on with POST at once, where any other status
// makes it try again for seconds.
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

// envelope is the request as it goes upstream if nothing is changed.
func (x *exchange) envelope() intercept.Envelope {
	ctx := x.fasthttp
	return intercept.Envelope{
		Method: string(ctx.Method()), Path: x.route.Path, Query: string(ctx.URI().QueryString()), Body: ctx.Request.Body(),
	}
}

// prepare reads the agent's request, looks up what it goes on from, and makes of
// it what goes upstream.
func (x *exchange) prepare() *intercept.Error {
	if x.isDraining() {
		return &intercept.Error{Code: intercept.CodeShuttingDown, Reason: "it is shutting down; send the request again"}
	}
	if !readAlike(&x.fasthttp.Request.Header) {
		return badRequest("the character set of the request body is not UTF-8")
	}
	var err error
	if x.req, err = x.route.Dialect.Request(x.envelope()); err != nil {
		return asError(err, intercept.CodeBadRequest)
	}
	if refusal := x.follow(); refusal != nil {
		return refusal
	}
	if refusal := x.admit(); refusal != nil {
		return refusal
	}
	x.spans.identified(x)
	if refusal := x.splice(); refusal != nil {
		return refusal
	}
	x.countOffer()
	if refusal := x.judgeOffer(x.req); refusal != nil {
		return refusal
	}
	if refusal := x.spend(); refusal != nil {
		return refusal
	}
	x.answer = intercept.NewAnswer(x.req, intercept.Limits{
		Pass: x.passByName, MaxBytes: x.p.options.MaxBody, MaxContinuations: x.p.options.MaxContinuations, TurnID: x.turn,
	})
	return nil
}
