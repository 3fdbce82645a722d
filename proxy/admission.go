package proxy

import (
	"errors"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/valyala/fasthttp"
)

// A body up to this size costs nothing until it is read: it needs no admission.
const smallBody = headerBuffer

// headerUnexpected marks a request that expects 100 Continue only because
// [headerReceived] made it.
const headerUnexpected = "X-Heldcall-Unexpected"

// errOverloaded refuses a body for which the budget has no room.
var errOverloaded = &intercept.Error{Code: intercept.CodeOverloaded, Reason: "the requests being served need all of proxy.memory; send the request again later"}

// headerReceived makes fasthttp ask [Proxy.admitBody] before it allocates memory
// for a body: it does so for requests that expect 100 Continue.
func headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if n := h.ContentLength(); (n > smallBody || n == -1) && !hasHeader(h, fasthttp.HeaderExpect) {
		h.Set(fasthttp.HeaderExpect, "100-continue")
		h.Set(headerUnexpected, "1")
	}
	return fasthttp.RequestConfig{}
}

// admitBody reserves memory for a request's body, and waits until a large one has
// arrived. It returns 100 Continue, or the status of the error that refuses the
// request. A body in chunks may grow to proxy.max_body, because fasthttp allocates
// what a chunk announces.
func (p *Proxy) admitBody(ctx *fasthttp.RequestCtx) int {
	conn, ok := ctx.Conn().(*agentconn.Conn)
	n := ctx.Request.Header.ContentLength()
	if !ok || n > p.options.MaxBody { // fasthttp refuses it
		return fasthttp.StatusContinue
	}
	if h := &ctx.Request.Header; hasHeader(h, headerUnexpected) {
		h.Del(fasthttp.HeaderExpect)
		h.Del(headerUnexpected)
		conn.SkipContinue()
	}
	if err := conn.AdmitBody(p.memory, n, p.options.MaxBody); err != nil {
		if errors.Is(err, agentconn.ErrNoMemory) {
			err = errOverloaded
		}
		p.refuseUnreadable(ctx, err)
		return ctx.Response.StatusCode()
	}
	return fasthttp.StatusContinue
}
