package proxy

import (
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/valyala/fasthttp"
)

const (
	// A body up to this size costs nothing until it is read: it needs no admission.
	smallBody = headerBuffer
	// fasthttp allocates and clears what Content-Length announces before it reads. A
	// body above this size is read here first, so that memory grows with what arrives.
	largeBody = 1 << 20
	// The pieces that a large body is read in, and how long each may take.
	bodyPiece     = 256 << 10
	pieceTimeout  = 10 * time.Second
	continueBytes = "HTTP/1.1 100 Continue\r\n\r\n"
)

// headerUnexpected marks a request that expects 100 Continue only because
// [headerReceived] made it.
const headerUnexpected = "X-Heldcall-Unexpected"

// memoryBudget bounds the bytes that all requests have in memory: their bodies, while
// they arrive and while they are answered, and large calls that people are asked
// about.
type memoryBudget struct {
	limit int64
	used  atomic.Int64
}

// take reserves n bytes. It reports false, and reserves none, where they are not
// left.
func (b *memoryBudget) take(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *memoryBudget) give(n int64) { b.used.Add(-n) }

// errOverloaded refuses a body for which the budget has no room.
var errOverloaded = &intercept.Error{Code: intercept.CodeOverloaded, Reason: "the requests being served need all of proxy.memory; send the request again later"}

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
// request. A body in chunks may grow to proxy.max_body, because fasthttp allocates
// what a chunk announces.
func (p *Proxy) admitBody(ctx *fasthttp.RequestCtx) int {
	conn, ok := ctx.Conn().(*agentConn)
	if !ok {
		return fasthttp.StatusContinue
	}
	h := &ctx.Request.Header
	n := h.ContentLength()
	waits := !hasHeader(h, headerUnexpected)
	deleteHeader(h, fasthttp.HeaderExpect)
	deleteHeader(h, headerUnexpected)
	if err := p.admit(conn, n, waits); err != nil {
		p.refuseUnreadable(ctx, err)
		return ctx.Response.StatusCode()
	}
	return fasthttp.StatusContinue
}

// admit reserves memory for a body of n bytes on a connection. An agent that waits
// for 100 Continue gets it before a large body is read here.
func (p *Proxy) admit(conn *agentConn, n int, waits bool) error {
	if n > p.options.MaxBody {
		return fasthttp.ErrBodyTooLarge
	}
	if waits && n > largeBody {
		if _, err := conn.Write([]byte(continueBytes)); err != nil {
			return err
		}
	}
	conn.muteContinue = !waits || n > largeBody
	return conn.admit(&p.memory, n, p.options.MaxBody)
}

// admit reserves memory for a body of n bytes, -1 for one in chunks of up to limit
// bytes in all. The error is errOverloaded, or that of the connection.
func (a *agentConn) admit(b *memoryBudget, n, limit int) error {
	a.giveBody()
	if n > largeBody {
		return a.readAhead(b, n-headerBuffer-a.ahead.buffered())
	}
	within := pieceTimeout * time.Duration(n/bodyPiece+1)
	if n < 0 {
		n, within = limit, readTimeout // a slow body must not keep so much from others
	}
	if !a.reserve(b, n) {
		return errOverloaded
	}
	return a.Conn.SetReadDeadline(time.Now().Add(within))
}

// readAhead reads n bytes of a body, piece by piece. What fasthttp has in its
// buffer is at most headerBuffer bytes, so no byte of a later request is read.
func (a *agentConn) readAhead(b *memoryBudget, n int) error {
	if !a.reserve(b, headerBuffer) {
		return errOverloaded
	}
	for n > 0 {
		size := min(n, bodyPiece)
		if !a.reserve(b, size) {
			return errOverloaded
		}
		if err := a.Conn.SetReadDeadline(time.Now().Add(pieceTimeout)); err != nil {
			return err
		}
		piece := make([]byte, size)
		if _, err := io.ReadFull(a.Conn, piece); err != nil {
			return err
		}
		a.pieces = append(a.pieces, piece)
		n -= size
	}
	return a.Conn.SetReadDeadline(time.Now().Add(pieceTimeout))
}

// readPieces takes bytes of the pieces that were read.
func (a *agentConn) readPieces(p []byte) int {
	n := copy(p, a.pieces[0])
	if a.pieces[0] = a.pieces[0][n:]; len(a.pieces[0]) == 0 {
		a.pieces[0] = nil
		a.pieces = a.pieces[1:]
	}
	return n
}

// reserve takes n bytes of a budget for the connection's request.
func (a *agentConn) reserve(b *memoryBudget, n int) bool {
	if !b.take(int64(n)) {
		return false
	}
	a.budget = b
	a.reserved.Add(int64(n))
	return true
}

// giveBody returns what is reserved for the body of the connection's request.
func (a *agentConn) giveBody() {
	if n := a.reserved.Swap(0); n > 0 {
		a.budget.give(n)
	}
}
