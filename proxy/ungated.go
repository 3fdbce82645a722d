package proxy

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/valyala/fasthttp"
)

// wholeUpTo is the largest body of known length that is read before it is
// written, so that it goes out in one piece.
const wholeUpTo = 64 << 10

// passUngated hands a request of a route without calls on, and its answer back,
// untouched both ways.
func (p *Proxy) passUngated(fctx *fasthttp.RequestCtx, where route) {
	x := &exchange{p: p, fasthttp: fctx, route: where, began: time.Now(), outcome: "ungated"}
	x.ctx, x.cancel = context.WithCancelCause(p.base)
	x.unwatch = func() {}
	if conn, ok := fctx.Conn().(*agentConn); ok {
		x.unwatch = conn.during(x.cancel)
	}
	ask := where.envelope(fctx)
	up, err := where.upstream.do(x.ctx, where.upstream.appendRequestHead(nil, &fctx.Request.Header, ask, false), ask.Body)
	if err != nil {
		x.close()
		p.refuse(fctx, nil, &intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream did not answer; check proxy.upstreams and the network", Err: err})
		return
	}
	x.up = up
	copyResponseHead(&fctx.Response.Header, &up.head)
	if fctx.IsHead() {
		x.passHead()
		return
	}
	length := int64(-1)
	if up.body.framing == byLength {
		length = up.body.left
	}
	if length >= 0 && length <= wholeUpTo {
		x.passWhole()
		return
	}
	x.begun, x.next = true, (*exchange).copyOn
	p.metrics.openStreams.Inc()
	fctx.Response.ImmediateHeaderFlush = true
	x.chunked = length < 0
	fctx.Response.SetBodyStream(&relay{x}, int(length))
}

func (x *exchange) passWhole() {
	defer x.close()
	whole, err := x.up.body.whole(wholeUpTo)
	if err != nil {
		clearResponse(&x.fasthttp.Response)
		x.p.refuse(x.fasthttp, nil, &intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's answer was cut off before its end", Err: err})
		return
	}
	x.fasthttp.Response.SetBodyRaw(whole)
}

// passHead answers with a head alone. The length in it is that of a body which
// does not come.
func (x *exchange) passHead() {
	defer x.close()
	if x.up.body.framing == byLength {
		x.fasthttp.Response.Header.SetContentLength(int(x.up.body.left))
	}
	x.up.body.none()
}
