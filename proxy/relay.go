package proxy

import (
	"errors"
	"io"
	"slices"

	"github.com/heldcall/heldcall/proxy/agentconn"
)

// unknownLength is the length of a body that goes out in chunks.
const unknownLength = -1

// stream lets the rest of the exchange run while the body is written.
func (x *exchange) stream(length int) {
	x.p.metrics.openStreams.Inc()
	x.streams = true
	x.chunked = length == unknownLength
	conn, ok := x.fasthttp.Conn().(*agentconn.Conn)
	if ok = ok && x.chunked && len(x.pending) > 0; ok {
		conn.BufferHead() // the head goes with the first chunk
	}
	x.fasthttp.Response.ImmediateHeaderFlush = ok || len(x.pending) == 0
	x.fasthttp.Response.SetBodyStream(&relay{x}, length)
}

// relay is the body of an answer that goes on while it is written. fasthttp
// sends each Write as one chunk at once.
type relay struct{ x *exchange }

// SupportsBodyWriteTo lets fasthttp use WriteTo: each Write is flushed as read.
func (r *relay) SupportsBodyWriteTo() bool { return true }

// errFault ends the connection of an exchange in which heldcall failed.
var errFault = errors.New("internal error")

// WriteTo runs the rest of the exchange. An error ends the connection without
// the end of the chunked coding, so that no client takes a cut answer for a
// whole one.
func (r *relay) WriteTo(w io.Writer) (n int64, err error) {
	x := r.x
	defer func() { x.spans.end(x) }()
	defer func() {
		if fault := recover(); fault != nil {
			x.panicked(fault)
			err = errFault
		}
	}()
	x.w = w
	conn, ok := x.fasthttp.Conn().(*agentconn.Conn)
	x.agent.Begin(conn, w, x.chunked)
	pending := x.pending
	x.pending = nil
	if x.emit(pending) {
		x.run()
	}
	x.close()
	if ok && x.broken == nil && x.chunked {
		if err := conn.BufferLastChunk(); err != nil { // fasthttp writes it in two pieces
			return x.written, err
		}
	}
	return x.written, x.broken
}

// Close ends the exchange of an agent that left before its head could be
// written, so that WriteTo was not called.
func (r *relay) Close() error {
	if r.x.streams {
		r.x.lost()
		r.x.close()
		r.x.spans.end(r.x)
	}
	return nil
}

// Read is never used; see [relay.WriteTo].
func (r *relay) Read([]byte) (int, error) { return 0, errors.New("the relay is written, not read") }

// emit gives the agent bytes, without the key that upstream may quote in them. It
// reports false when the agent has left.
func (x *exchange) emit(p []byte) bool { return x.deliver(x.route.Upstream.Redactor.Redact(p)) }

// deliver gives the agent bytes as they are.
func (x *exchange) deliver(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	x.begun = true
	if x.w == nil {
		// The bytes stay valid: nothing is read before they are written.
		if x.pending == nil {
			x.pending = p
		} else {
			x.pending = slices.Concat(x.pending, p)
		}
		return true
	}
	if _, err := x.agent.Write(p); err != nil {
		x.cancel(agentconn.ErrDisconnected)
		x.broken = agentconn.ErrDisconnected
		return false
	}
	x.written += int64(len(p))
	return true
}
