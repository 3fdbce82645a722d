package proxy

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/heldcall/heldcall/proxy/packed"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/valyala/fasthttp"
)

// unknownLength is the length of a body that goes out in chunks.
const unknownLength = -1

// exchangeBytes is about how much memory an exchange takes beside the bodies: the connection with its buffers, the
// turn, and the connection to the upstream.
const exchangeBytes = 24 << 10

// pooledBody is the size of the largest body that the server keeps for a later request. Larger ones are garbage at
// once: bytes that are not reserved must not stay in use.
const pooledBody = 64 << 10

// maxCorked is how long a whole answer may be that is copied after its head to be sent
// with it.
const maxCorked = 7 << 10

// agent writes an answer to the client of one request, by fasthttp. It implements
// [turn.Agent]. fasthttp writes the head of a streamed answer when the handler has
// returned: until then bytes of the body are kept.
type agent struct {
	fasthttp *fasthttp.RequestCtx
	conn     *agentconn.Conn // nil on connections of other listeners
	ctx      context.Context // ends when the agent disconnects, or at shutdown; nil before watch
	cancel   context.CancelCauseFunc
	unwatch  func()

	w       io.Writer // of the body, nil while the handler runs
	body    agentconn.BodyWriter
	started bool   // the agent has to get the head now
	chunked bool   // the body is written in chunks
	pending []byte // for the agent, once w is there
	written int64  // bytes of the body
}

// newAgent makes the agent of a request.
func newAgent(ctx *fasthttp.RequestCtx) (a agent) {
	a.fasthttp = ctx
	a.conn, _ = ctx.Conn().(*agentconn.Conn)
	return a
}

// peer returns the agent's address without the port.
func (a *agent) peer() string { return a.fasthttp.RemoteIP().String() }

// request is what the agent has sent.
func (a *agent) request() *fasthttp.Request { return &a.fasthttp.Request }

// response is what the agent gets.
func (a *agent) response() *fasthttp.Response { return &a.fasthttp.Response }

// watch begins to watch for the agent's disconnect. base ends at shutdown. The error refuses a request for which
// there is no memory.
func (a *agent) watch(base context.Context) *intercept.Error {
	a.ctx, a.cancel = context.WithCancelCause(base)
	if a.conn == nil {
		return nil
	}
	a.unwatch = a.conn.OnDisconnect(a.cancel)
	if !a.conn.ResizeMemory(exchangeBytes + len(a.request().Body())) {
		return turn.ErrOverloaded
	}
	return nil
}

// reserveCopy reserves memory for a body that was made of the agent's, unless it is the same.
func (a *agent) reserveCopy(body, of []byte) *intercept.Error {
	if !same(body, of) && !a.Reserve(len(body)) {
		return turn.ErrOverloaded
	}
	return nil
}

// release ends the watch, and returns the memory of the request.
func (a *agent) release() {
	if a.unwatch != nil {
		a.unwatch()
	}
	if a.conn != nil {
		a.conn.ReleaseMemory()
		if len(a.request().Body()) > pooledBody {
			a.request().SwapBody(nil)
		}
	}
	if a.cancel != nil {
		a.cancel(nil)
	}
}

func (a *agent) Head() packed.HeadWriter { return &a.response().Header }
func (a *agent) Started() bool           { return a.started }
func (a *agent) Start()                  { a.started = true }
func (a *agent) Writable() bool          { return a.w != nil }
func (a *agent) Reserve(n int) bool      { return a.conn == nil || a.conn.ReserveMemory(n) }
func (a *agent) Return(n int) {
	if a.conn != nil {
		a.conn.ReturnMemory(n)
	}
}

// ResetHead deletes the headers: fasthttp's own Reset would also restore its default ones.
func (a *agent) ResetHead() {
	resp := a.response()
	var names []string
	for k := range resp.Header.All() {
		names = append(names, string(k))
	}
	for _, name := range names {
		resp.Header.Del(name)
	}
	resp.Header.SetStatusMessage(nil)
	resp.SetStatusCode(fasthttp.StatusOK)
	resp.ImmediateHeaderFlush = false
	resp.ResetBody()
}

// Discard implements [turn.Agent].
func (a *agent) Discard() {
	a.ResetHead()
	a.started, a.pending = false, nil
}

func (a *agent) Write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	a.started = true
	if a.w == nil {
		if a.pending == nil {
			a.pending = p
		} else {
			a.pending = slices.Concat(a.pending, p)
		}
		return nil
	}
	if _, err := a.body.Write(p); err != nil {
		a.cancel(agentconn.ErrDisconnected)
		return err
	}
	a.written += int64(len(p))
	return nil
}

// Finish sends a small answer with its head.
func (a *agent) Finish(body []byte) {
	a.response().SetBodyRaw(body)
	if a.conn != nil && len(body) > 0 && len(body) <= maxCorked {
		a.conn.BufferAnswer(len(body))
	}
}

// OnSent implements [turn.Agent].
func (a *agent) OnSent(done func(error)) {
	if a.conn == nil {
		done(nil)
		return
	}
	if !a.started && !a.streams() { // Body would read a stream: it would run the exchange within itself
		if n := len(a.response().Body()); n > 0 {
			a.conn.BufferAnswer(n) // whose end it knows
		}
	}
	a.conn.OnSent(done)
}

// answered calls done when the last byte of the answer has been sent, or the connection has ended.
func (a *agent) answered(done func()) {
	if a.conn == nil {
		done()
		return
	}
	a.conn.OnSent(func(error) { done() })
}

func (a *agent) Refuse(status int, body []byte) {
	a.ResetHead()
	a.setError(status, body)
}

// setError sets an error as the answer, in place of one that may be buffered. It keeps the
// head.
func (a *agent) setError(status int, body []byte) {
	if a.conn != nil {
		a.conn.DiscardBuffered()
	}
	resp := a.response()
	resp.ResetBody()
	resp.SetStatusCode(status)
	resp.Header.SetContentType("application/json")
	if status == fasthttp.StatusServiceUnavailable {
		resp.Header.Set(fasthttp.HeaderRetryAfter, retryAfter)
	}
	resp.SetBody(body)
}

// retryAfter is how many seconds clients are asked to wait after status 503.
const retryAfter = "2"

// close makes the connection end after the answer.
func (a *agent) close() { a.response().Header.SetConnectionClose() }

// streams reports whether the body is, or will be, written by [relay].
func (a *agent) streams() bool { return a.response().IsBodyStream() }

// stream lets the rest of the body be written by r.
func (a *agent) stream(r *relay, length int) {
	a.chunked = length == unknownLength
	corked := a.conn != nil && a.chunked && len(a.pending) > 0
	if corked {
		a.conn.BufferHead() // the head goes with the first chunk
	}
	a.response().ImmediateHeaderFlush = corked || len(a.pending) == 0
	a.response().SetBodyStream(r, length)
}

// begin makes the answer writable, and writes the pending bytes.
func (a *agent) begin(w io.Writer) error {
	a.w = w
	a.body.Begin(a.conn, w, a.chunked)
	pending := a.pending
	a.pending = nil
	return a.Write(pending)
}

// end ends the body of an answer in chunks. fasthttp writes the last chunk in two pieces.
func (a *agent) end() error {
	if a.conn == nil || !a.chunked {
		return nil
	}
	return a.conn.BufferLastChunk()
}

// errPanic ends the connection of a request in which heldcall failed.
var errPanic = errors.New("internal error")

// relay is the body of an answer that continues while it is written. fasthttp sends each
// Write as one chunk at once.
type relay struct{ x *agentExchange }

// SupportsBodyWriteTo lets fasthttp use WriteTo: each Write is flushed as read.
func (r *relay) SupportsBodyWriteTo() bool { return true }

// WriteTo runs the rest of the exchange. An error ends the connection without the end of
// the chunked coding, so that no client takes an incomplete answer for a complete one.
func (r *relay) WriteTo(w io.Writer) (n int64, err error) {
	x := r.x
	defer func() {
		if fault := recover(); fault != nil {
			x.panicked(fault)
			err = errPanic
		}
		x.finish()
	}()
	err = x.resume(w)
	return x.agent.written, err
}

// Close ends the exchange of an agent that disconnected before its head could be written,
// so that WriteTo was not called.
func (r *relay) Close() error {
	if r.x.open {
		r.x.disconnected()
		r.x.finish()
	}
	return nil
}

// Read is never used; see [relay.WriteTo].
func (r *relay) Read([]byte) (int, error) { return 0, errors.New("the relay is written, not read") }
