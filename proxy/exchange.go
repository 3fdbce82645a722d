package proxy

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/heldcall/heldcall/proxy/route"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/valyala/fasthttp"
)

// exchange is one agent request with all upstream requests it takes to answer
// it. It is a machine of states, because fasthttp writes the answer's head when
// the handler has returned: the states run in the handler until the agent has to
// get a byte, and go on from there while the body is written. All of it is one
// goroutine.
type exchange struct {
	p        *Proxy
	fasthttp *fasthttp.RequestCtx
	route    route.Route
	who      identity // once it was needed: see identity
	followed thread   // what the request goes on from, by the provider's ids
	uses     uses     // what of that it uses up
	turn     string
	req      intercept.Request
	says     intercept.Info // once it was needed: see info
	informed bool
	answer   *intercept.Answer
	began    time.Time
	pulse    intercept.Pulse

	ctx     context.Context // ends when the agent leaves, or at shutdown
	cancel  context.CancelCauseFunc
	unwatch func()

	next  state
	sends intercept.Envelope // the upstream request
	turns int                // upstream requests so far
	sent  time.Time          // when the last of them was
	asked chan reply         // to the one that is under way beside the exchange
	up    *upstream.Response

	unopened bool // the answer does not know of the body yet
	draining bool // the body has said its last word; it has drainFor to end

	w       io.Writer // the agent, nil while the handler runs
	agent   agentconn.BodyWriter
	begun   bool   // the agent has to get the head now
	streams bool   // the body is written as it comes
	chunked bool   // and in chunks
	pending []byte // for the agent, once w is there
	written int64  // bytes of the body
	broken  error  // the connection must end without a proper end
	outcome string // for metrics

	docket docket
	denies bool   // calls of the answer were denied
	spans  *spans // nil while tracing is off
}

// state is one step; it returns the next one, nil at the end.
type state func(*exchange) state

// serve runs the exchange in the handler.
func (x *exchange) serve() {
	x.sends = x.req.Envelope()
	x.next = (*exchange).prelude
	x.p.metrics.overhead.Observe(time.Since(x.began).Seconds())
	if !x.run() {
		x.stream(unknownLength)
		return
	}
	x.close()
	if x.broken != nil {
		clearResponse(&x.fasthttp.Response)
		x.fasthttp.Response.Header.SetConnectionClose()
		x.p.answerError(x.fasthttp, x.route.Dialect, x.why(x.broken))
	}
}

// run takes steps until the end, or until the agent has to get a byte and is
// not being written to yet.
func (x *exchange) run() (ended bool) {
	for x.next != nil {
		if x.begun && x.w == nil {
			return false
		}
		x.next = x.next(x)
	}
	return true
}

// close ends the exchange and counts how it ended.
func (x *exchange) close() {
	x.release()
	x.p.metrics.turns.WithLabelValues(x.route.Label, x.outcome).Inc()
}

// release gives up everything that the exchange holds.
func (x *exchange) release() {
	x.unwatch()
	if conn, ok := x.fasthttp.Conn().(*agentconn.Conn); ok {
		conn.ReleaseMemory()
	}
	x.docket.unspend()
	if x.up != nil {
		x.up.Close()
		x.up = nil
	}
	x.cancel(nil)
	if x.asked != nil { // ends with the context
		if r := <-x.asked; r.up != nil {
			r.up.Close()
		}
		x.asked = nil
	}
	if x.docket.hold != nil {
		x.giveUp(approvals.CancelFault)
	}
	if x.streams {
		x.p.metrics.openStreams.Dec()
		x.streams = false
	}
}

// reply is how an upstream request ended.
type reply struct {
	up  *upstream.Response
	err error
}

// send makes the upstream request of the turn. The first is waited for here; the
// agent that waits for a continuation must not time out: see await.
func (x *exchange) send() state {
	x.turns++
	x.sent = time.Now()
	u, body, buffer := x.route.Upstream, x.sends.Body, heads.Get().(*[]byte)
	head := u.AppendRequestHead((*buffer)[:0], &x.fasthttp.Request.Header, x.sends, true, x.spans.asks(x, x.sends))
	ask := func(ctx context.Context) reply {
		defer heads.Put(buffer)
		up, err := u.Do(ctx, head, body)
		return reply{up, err}
	}
	if x.turns == 1 {
		return x.answered(ask(x.ctx))
	}
	x.asked = make(chan reply, 1)
	go func(ctx context.Context, result chan<- reply) { result <- ask(ctx) }(x.ctx, x.asked)
	return (*exchange).await
}

// await lets one keep-alive period pass, or less: until the head of a
// continuation is there.
func (x *exchange) await() state {
	tick := time.NewTimer(x.p.options.Keepalive)
	defer tick.Stop()
	select {
	case r := <-x.asked:
		x.asked = nil
		return x.answered(r)
	case <-tick.C:
		return x.beat((*exchange).await)
	}
}

// answered reads the head of an upstream's answer.
func (x *exchange) answered(r reply) state {
	if r.err != nil {
		return x.unanswered(r.err)
	}
	x.up, x.unopened, x.draining = r.up, true, false
	x.p.metrics.firstByte.WithLabelValues(x.route.Label).Observe(time.Since(x.sent).Seconds())
	status := x.up.Head.StatusCode()
	x.spans.headCame(status)
	if status < 200 || status > 299 {
		return x.upstreamError(status)
	}
	x.uses.taken = nil // the request has been taken: whatever follows, nothing is given back
	switch {
	case status == fasthttp.StatusPartialContent:
		return x.fail(intercept.NotUnderstood("it is a part of an answer, which nobody asked for"))
	case !plain(x.up.Head.ContentEncoding()):
		return x.fail(intercept.NotUnderstood("it is compressed, although identity was asked for"))
	case !likeASCII(x.up.Head.ContentType()):
		return x.fail(intercept.NotUnderstood("its character set is not UTF-8"))
	}
	if x.turns == 1 {
		x.route.Upstream.CopyResponseHead(&x.fasthttp.Response.Header, x.up.Head, true)
	}
	return (*exchange).read
}

// heads are buffers for the heads of upstream requests, and small bodies.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

func plain(encoding []byte) bool {
	return len(encoding) == 0 || strings.EqualFold(string(encoding), "identity")
}

// copyOn hands the upstream's body on as it is.
func (x *exchange) copyOn() state {
	p, err := x.up.Body.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		x.broken = err
		return nil
	case !x.deliver(p):
		return nil
	}
	return (*exchange).copyOn
}

// read takes one block of the answer.
func (x *exchange) read() state {
	body := &x.up.Body
	if x.w == nil && !x.begun && !body.Buffered() && isEventStream(x.up.Head.ContentType()) {
		x.begun = true // the agent need not wait for the first event to see the head
		return (*exchange).read
	}
	beats := (x.turns > 1 || x.begun && x.answer.Holding()) && !x.draining
	if beats {
		body.SetReadDeadline(time.Now().Add(x.p.options.Keepalive))
	}
	p, err := body.Next()
	if beats && errors.Is(err, os.ErrDeadlineExceeded) {
		return x.beat((*exchange).read)
	}
	if x.unopened { // till now a heartbeat had to suit the body before it
		x.answer.Begin(string(x.up.Head.ContentType()))
		x.unopened = false
		x.spans.blockCame()
	}
	if err != nil {
		return x.endOfBody(err)
	}
	out, refused := x.answer.Write(p)
	if !x.emit(out) {
		return x.gone()
	}
	if refused != nil {
		return x.fail(asError(refused, intercept.CodeAnswerNotUnderstood))
	}
	if x.answer.Streamed() && x.w == nil {
		x.begun = true
	}
	if x.answer.Complete() && x.answer.Holding() && !x.draining {
		x.draining = true
		body.SetReadDeadline(time.Now().Add(drainFor))
	}
	return (*exchange).read
}

// drainFor is how long an upstream may take to end a body that has said its
// last word, before the connection is given up.
const drainFor = time.Second

func (x *exchange) endOfBody(err error) state {
	framed := x.up.Body.Framed() || x.answer.Complete()
	if !errors.Is(err, io.EOF) && !x.answer.Complete() {
		if x.ctx.Err() != nil {
			return x.gone()
		}
		return x.fail(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's answer was cut off before its end; what was held of it is void", Err: err})
	}
	out, refused := x.answer.End(framed)
	if !x.emit(out) {
		return x.gone()
	}
	if refused != nil {
		return x.fail(asError(refused, intercept.CodeAnswerNotUnderstood))
	}
	x.up.Close()
	x.up = nil
	x.spans.upstreamEnded("")
	return (*exchange).judge
}

func isEventStream(contentType []byte) bool {
	return strings.HasPrefix(strings.ToLower(string(contentType)), "text/event-stream")
}

// finish gives the agent the last bytes. A whole answer that has not begun gets
// its length.
func (x *exchange) finish(last []byte) state {
	if x.outcome == "" {
		x.outcome = "passed"
	}
	if x.w == nil && !x.begun {
		x.whole(x.route.Upstream.Redactor.Redact(last))
		return nil
	}
	if !x.emit(last) {
		return x.gone()
	}
	return (*exchange).end
}

// whole gives the agent a whole answer. A small one goes out with its head.
func (x *exchange) whole(answer []byte) {
	x.fasthttp.Response.SetBodyRaw(answer)
	if conn, ok := x.fasthttp.Conn().(*agentconn.Conn); ok && len(answer) > 0 && len(answer) <= corkedBody {
		conn.BufferAnswer(len(answer))
	}
}

// corkedBody is how long a whole answer may be that is copied behind its head to be
// sent with it.
const corkedBody = 7 << 10

func (x *exchange) end() state { return nil }
