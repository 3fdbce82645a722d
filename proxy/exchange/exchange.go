// Package exchange has two users: the turns, for which it is the HTTP exchange with the upstream (a
// request and its answer, one after another), and package proxy, which reads the heads of
// messages by the same rules (mediatype.go). It finds errors of an upstream that quote hidden text
// (quotation.go).
package exchange

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/packed"
	"github.com/heldcall/heldcall/proxy/trace"
)

// Upstream is the model API, for the requests of one agent. It is safe for concurrent use.
type Upstream interface {
	// Addr is the host:port of the upstream.
	Addr() string
	// ID tells the upstreams of the configuration apart: several may be at one host.
	ID() string
	// Send sends a request once and reads the head of its answer. It reports whether a byte
	// of the request was sent; the error is the one for the agent.
	Send(ctx context.Context, e intercept.Envelope, c trace.Context) (r Response, sent bool, err *intercept.Error)
	// Redact returns p without the upstream's configured key.
	Redact(p []byte) []byte
}

// Response is an answer of the upstream whose body is still to be read.
type Response interface {
	Status() int
	// ContentType and ContentEncoding are valid until Close.
	ContentType() []byte
	ContentEncoding() []byte
	// CopyHead copies the part of the head that the agent may get.
	CopyHead(to packed.HeadWriter)
	// Buffered reports whether bytes of the body have arrived with the head.
	Buffered() bool
	// Framed reports whether the framing marks the end of the body.
	Framed() bool
	// Next returns the next block of the body, without the upstream's configured key and valid
	// until the next call, or io.EOF. After
	// os.ErrDeadlineExceeded the next call continues.
	Next() ([]byte, error)
	// ReadAll reads the rest of a body of at most limit bytes.
	ReadAll(limit int) ([]byte, error)
	// SetReadDeadline bounds the reads from now on; the zero time removes the bound.
	SetReadDeadline(time.Time)
	Close()
}

// Exchange is the current HTTP exchange with the upstream: a request and its answer. One
// turn has several, one after another.
type Exchange struct {
	Upstream Upstream

	Next     intercept.Envelope // the request to send
	Count    int                // requests so far
	Sent     time.Time          // when the last of them was sent
	Pending  chan Reply         // to a request that is under way beside the turn, else nil
	cancel   context.CancelFunc // of that request
	Response Response           // whose body is being read, else nil

	Unread bool      // nothing of the body was read, and the answer does not know of it
	drain  time.Time // how long the body, which is complete, has to end; zero: it is not complete

	Kept *packed.Answers // nil: answers are not kept
}

// Reply is how an upstream request ended.
type Reply struct {
	Response Response
	Sent     bool
	Err      *intercept.Error
}

// drainFor is how long an upstream may take to end a body that is complete, before the
// connection is closed.
const drainFor = time.Second

// Drain marks that the body is complete: only its end is still waited for, not for long.
func (x *Exchange) Drain() {
	if x.drain.IsZero() {
		x.drain = time.Now().Add(drainFor)
	}
}

// Drained reports whether the end of a complete body was waited for long enough.
func (x *Exchange) Drained() bool { return !x.drain.IsZero() && !time.Now().Before(x.drain) }

// Within bounds the next read of the body: by the deadline, or earlier if it is complete.
func (x *Exchange) Within(deadline time.Time) {
	if !x.drain.IsZero() && x.drain.Before(deadline) {
		deadline = x.drain
	}
	x.Response.SetReadDeadline(deadline)
}

// Send sends the request and waits for the head of its answer. If the agent's answer has
// started, it must not time out meanwhile: the request is sent beside the turn then.
func (x *Exchange) Send(ctx context.Context, c trace.Context, started bool) (r Reply, done bool) {
	x.Count++
	x.Sent = time.Now()
	if x.Count == 1 && !started {
		r.Response, r.Sent, r.Err = x.Upstream.Send(ctx, x.Next, c)
		return r, true
	}
	ctx, x.cancel = context.WithCancel(ctx)
	pending, next := make(chan Reply, 1), x.Next
	x.Pending = pending
	go func() {
		var r Reply
		r.Response, r.Sent, r.Err = x.Upstream.Send(ctx, next, c)
		pending <- r
	}()
	return Reply{}, false
}

// Answered takes over the answer of a request.
func (x *Exchange) Answered(r Response) {
	x.Response, x.Unread, x.drain = r, true, time.Time{}
}

// End closes the response after the whole body.
func (x *Exchange) End() {
	if x.Response != nil {
		x.Response.Close()
		x.Response = nil
	}
}

// Close ends the exchange wherever it is, and stops keeping answers.
func (x *Exchange) Close() {
	x.Kept.Close()
	x.End()
	if x.Pending != nil {
		x.cancel()
		if r := <-x.Pending; r.Response != nil {
			r.Response.Close()
		}
		x.Pending = nil
	}
	if x.cancel != nil {
		x.cancel()
		x.cancel = nil
	}
}

// Trace begins the span of an upstream request of the conversation.
func (x *Exchange) Trace(spans *trace.Spans, c *conversation.Conversation, e intercept.Envelope) trace.Context {
	if spans == nil {
		return trace.Context{}
	}
	info := c.Info()
	return spans.UpstreamRequest(trace.UpstreamRequest{
		Envelope: e, Addr: x.Upstream.Addr(), Route: c.Request.Route, Continuation: x.Count,
		Dialect: c.Request.Dialect.Name(), Model: info.Model, Session: c.Identity().Session, Streamed: info.Streamed,
	})
}

// HasKey reports whether a call contains the upstream's key. Each event of the answer has
// lost it, so the call has it in pieces, which no person, log or agent may read as a whole.
func (x *Exchange) HasKey(c intercept.Call) bool {
	text := []byte(c.Name + "\n" + c.Arguments)
	return !bytes.Equal(x.Upstream.Redact(text), text)
}

// Readable reports whether the body of the response is text in which the words of a call could be found. Text in
// UTF-16 has bytes that are zero, and some clients find out by them that it is.
func (x *Exchange) Readable(body []byte) bool {
	r := x.Response
	return IdentityEncoded(r.ContentEncoding()) && ASCIICompatible(r.ContentType()) && bytes.IndexByte(body, 0) < 0
}

// Redirects reports the statuses that clients follow to another address.
func Redirects(status int) bool {
	return status >= 300 && status < 400 && status != http.StatusNotModified
}
