package proxy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/valyala/fasthttp"
)

// A body up to this size costs nothing until it is read: it needs no admission.
const smallBody = headerBuffer

// headerUnexpected marks a request that expects 100 Continue only because
// [Proxy.headerReceived] made it.
const headerUnexpected = "X-Heldcall-Unexpected"

// headerReceived makes fasthttp ask [Proxy.admitBody] before it allocates memory
// for a body: it does so for requests that expect 100 Continue, in just these
// letters.
func (p *Proxy) headerReceived(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	expects := header(h, fasthttp.HeaderExpect)
	n := h.ContentLength()
	if n == 0 || (n > 0 && n <= smallBody && expects == nil) {
		return c
	}
	if n < 0 {
		c.MaxRequestBodySize = min(p.options.MaxBody, agentconn.MostChunked(p.memory))
	}
	unexpected := !strings.EqualFold(string(expects), "100-continue")
	deleteHeader(h, fasthttp.HeaderExpect)
	deleteHeader(h, headerUnexpected)
	h.Set(fasthttp.HeaderExpect, "100-continue")
	if unexpected {
		h.Set(headerUnexpected, "1")
	}
	return c
}

// deleteHeader deletes every header with a name, in any letter case.
func deleteHeader(h *fasthttp.RequestHeader, name string) {
	var names []string
	for k := range h.All() {
		if is(k, name) {
			names = append(names, string(k))
		}
	}
	for _, k := range names {
		h.Del(k)
	}
}

// admitBody reserves memory for a request's body, and waits until a large one has
// arrived. It returns 100 Continue, or the status of the error that refuses the
// request. A body in chunks may grow to proxy.max_body, because fasthttp allocates the
// announced size of a chunk.
func (p *Proxy) admitBody(a agent) int {
	if a.conn == nil {
		return fasthttp.StatusContinue
	}
	h := &a.request().Header
	if _, refusal := p.web.admit(h); refusal != nil { // before its body is read
		p.refuseUnreadable(a, refusal)
		return a.response().StatusCode()
	}
	n := h.ContentLength()
	waits := !hasHeader(h, headerUnexpected)
	deleteHeader(h, fasthttp.HeaderExpect)
	deleteHeader(h, headerUnexpected)
	if waits { // 100 Continue would be an answer
		if refusal := p.awaitStart(a); refusal != nil {
			p.refuseUnreadable(a, refusal)
			return a.response().StatusCode()
		}
	}
	if err := p.admit(a.conn, n, waits); err != nil {
		p.refuseUnreadable(a, err)
		return a.response().StatusCode()
	}
	if n > pooledBody { // else the server would allocate the next power of two
		a.request().SwapBody(make([]byte, 0, n))
	}
	return fasthttp.StatusContinue
}

// awaitStart waits until requests are served, before the body of one is read.
func (p *Proxy) awaitStart(a agent) *intercept.Error {
	defer a.release()
	if refusal := a.watch(p.base); refusal != nil {
		return refusal
	}
	return p.service.await(a.ctx)
}

// admit reserves memory for a body of n bytes on a connection.
func (p *Proxy) admit(conn *agentconn.Conn, n int, waits bool) error {
	if n > p.options.MaxBody {
		return fasthttp.ErrBodyTooLarge
	}
	err := conn.AdmitBody(n, p.options.MaxBody, waits)
	switch {
	case errors.Is(err, agentconn.ErrNoMemory):
		return turn.ErrOverloaded
	case errors.Is(err, agentconn.ErrNeverFits):
		return &intercept.Error{Code: intercept.CodeRequestTooLarge, Reason: fmt.Sprintf("the request body (%d bytes) needs more memory than heldcall may use (proxy.memory, or half of its control group); send less, or give it more", n)}
	}
	return err
}
