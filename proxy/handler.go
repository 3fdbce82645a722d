package proxy

import (
	"bytes"
	"context"
	"runtime/debug"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/oklog/ulid/v2"
	"github.com/valyala/fasthttp"
)

// serve takes one request, top to bottom: route, identify, read, splice, and
// then the exchange with upstream, as far as it goes before the agent gets its
// first byte. The rest of it runs while the body is written.
func (p *Proxy) serve(ctx *fasthttp.RequestCtx) {
	began := time.Now()
	turn := ulid.Make().String()
	where := route{label: "unknown"}
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("panic while serving a request", "turn", turn, "panic", r, "stack", string(debug.Stack()))
			clearResponse(&ctx.Response)
			p.answerError(ctx, nil, &intercept.Error{Code: intercept.CodeAnswerNotUnderstood, Reason: "internal error; heldcall's log has the details"})
		}
		ctx.Response.Header.Set(headerTurn, turn)
		p.metrics.request(where.label, ctx.Response.StatusCode())
	}()

	where, refusal := p.route(ctx)
	if refusal != nil {
		p.refuse(ctx, where.dialect, refusal)
		return
	}
	if where.dialect == nil {
		p.passUngated(ctx, where)
		return
	}
	x, refusal := p.newExchange(ctx, where, turn, began)
	if refusal != nil {
		p.refuse(ctx, where.dialect, refusal)
		return
	}
	x.serve()
}

func (p *Proxy) refuse(ctx *fasthttp.RequestCtx, d intercept.Dialect, e *intercept.Error) {
	p.metrics.refused(e.Code)
	p.log.Debug("request refused", "code", e.Code, "error", e)
	p.answerError(ctx, d, e)
}

// route finds where a request goes. Requests whose framing or target two servers
// could read in different ways go nowhere.
func (p *Proxy) route(ctx *fasthttp.RequestCtx) (route, *intercept.Error) {
	none := route{label: "unknown"}
	h := &ctx.Request.Header
	switch {
	case !bytes.Equal(h.Protocol(), []byte("HTTP/1.1")):
		return none, badRequest("the protocol is not HTTP/1.1, which streamed answers need (nginx: proxy_http_version 1.1)")
	case hasHeader(h, "Transfer-Encoding") && hasHeader(h, "Content-Length"):
		return none, badRequest("the request has both Transfer-Encoding and Content-Length")
	case hasHeader(h, "Upgrade"):
		return none, &intercept.Error{Code: intercept.CodeRouteNotGated, Reason: "protocol upgrades (WebSocket) can carry tool calls that heldcall does not gate; use HTTP streaming"}
	case hasHeader(h, "Content-Encoding"):
		return none, badRequest("the request body is compressed; send it as it is")
	}
	path, err := normalise(string(ctx.URI().PathOriginal()))
	if err != nil {
		return none, badRequest(err.Error())
	}
	return p.router.find(string(h.Method()), path)
}

func badRequest(reason string) *intercept.Error {
	return &intercept.Error{Code: intercept.CodeBadRequest, Reason: reason}
}

// newExchange reads the agent's request and puts hidden turns back into it.
func (p *Proxy) newExchange(ctx *fasthttp.RequestCtx, where route, turn string, began time.Time) (*exchange, *intercept.Error) {
	select {
	case <-p.draining:
		return nil, &intercept.Error{Code: intercept.CodeShuttingDown, Reason: "heldcall is shutting down; send the request again"}
	default:
	}
	req, err := where.dialect.Request(where.envelope(ctx))
	if err != nil {
		return nil, asError(err, intercept.CodeBadRequest)
	}
	x := &exchange{p: p, fasthttp: ctx, route: where, req: req, turn: turn, began: began}
	x.ctx, x.cancel = context.WithCancelCause(p.base)
	x.unwatch = func() {}
	if conn, ok := ctx.Conn().(*agentConn); ok {
		x.unwatch = conn.during(x.cancel)
	}
	if refusal := x.prepare(); refusal != nil {
		x.release()
		return nil, refusal
	}
	x.answer = req.Answer(intercept.Limits{
		Pass: x.passByName, MaxBytes: p.options.MaxBody, MaxContinuations: p.options.MaxContinuations, TurnID: turn,
	})
	return x, nil
}

// prepare looks up what the request goes on from, and makes of it what goes
// upstream.
func (x *exchange) prepare() *intercept.Error {
	if refusal := x.follow(); refusal != nil {
		return refusal
	}
	if x.aborted() {
		return x.runAborted()
	}
	if refusal := x.splice(); refusal != nil {
		return refusal
	}
	return x.judgeOffer()
}

// aborted reports whether a reviewer has stopped the request's run. Where the
// agent names no run, each message of the user begins one.
func (x *exchange) aborted() bool {
	gate := x.p.options.Gate
	return gate.Steered() && gate.RunState(x.identity().run) == approvals.RunAborted
}

// runAborted is the error for a request of a run that a reviewer has stopped. It
// says how to begin another one.
func (x *exchange) runAborted() *intercept.Error {
	who := x.identity()
	begin := "a new message of the user begins another one, and so does naming one in " + headerRun
	if who.named {
		begin = "to begin another one, name it in " + headerRun
	}
	return &intercept.Error{Code: intercept.CodeRunAborted, Reason: "the run " + who.run + " was stopped by a reviewer; " + begin}
}
