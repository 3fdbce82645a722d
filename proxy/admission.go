package proxy

import (
	"errors"
	"strings"

	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/valyala/fasthttp"
)

// A body up to this size costs nothing until it is read: it needs no admission.
const smallBody = headerBuffer

// headerUnexpected marks a request that expects 100 Continue only because
// [headerReceived] made it.
const headerUnexpected = "X-Heldcall-Unexpected"

// headerReceived makes fasthttp ask [Proxy.admitBody] before it allocates memory
// for a body: it does so for requests that expect 100 Continue, in just these
// letters.
func headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	expects := header(h, fasthttp.HeaderExpect)
	n := h.ContentLength()
	if n == 0 || (n > 0 && n <= smallBody && expects == nil) {
		return fasthttp.RequestConfig{}
	}
	unexpected := !strings.EqualFold(string(expects), "100-continue")
	deleteHeader(h, fasthttp.HeaderExpect)
	deleteHeader(h, headerUnexpected)
	h.Set(fasthttp.HeaderExpect, "100-continue")
	if unexpected {
		h.Set(headerUnexpected, "1")
	}
	return fasthttp.RequestConfig{}
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
	if err := p.admit(a.conn, n, waits); err != nil {
		p.refuseUnreadable(a, err)
		return a.response().StatusCode()
	}
	return fasthttp.StatusContinue
}

// admit reserves memory for a body of n bytes on a connection.
func (p *Proxy) admit(conn *agentconn.Conn, n int, waits bool) error {
	if n > p.options.MaxBody {
		return fasthttp.ErrBodyTooLarge
	}
	err := conn.AdmitBody(n, p.options.MaxBody, waits)
	if errors.Is(err, agentconn.ErrNoMemory) {
		return turn.ErrOverloaded
	}
	return err
}
