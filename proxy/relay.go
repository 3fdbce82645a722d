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
		conn.KeepHead() // the head goes with the first chunk
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
	pending := x.pending
	x.pending = nil
	if x.emit(pending) {
		x.run()
	}
	x.close()
	if conn, ok := x.fasthttp.Conn().(*agentconn.Conn); ok && x.broken == nil && x.chunked {
		if err := conn.Flush(); err != nil {
			return x.written, err
		}
		conn.KeepEnd() // fasthttp writes the end in two pieces
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
func (x *exchange) emit(p []byte) bool { return x.deliver(x.route.upstream.mask.hide(p)) }

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
	if err := x.write(p); err != nil {
		x.cancel(agentconn.ErrGone)
		x.broken = agentconn.ErrGone
		return false
	}
	x.written += int64(len(p))
	return true
}

// write sends bytes straight to the agent's connection, as a chunk where the body is
// in chunks. The first one goes with the head that the connection keeps back, or else
// through fasthttp.
func (x *exchange) write(p []byte) error {
	conn, ok := x.fasthttp.Conn().(*agentconn.Conn)
	switch {
	case x.agent.Begun():
		return x.agent.Write(p)
	case ok && !x.chunked:
		return conn.WriteNow(p)
	case ok && conn.Kept():
		x.agent.Begin(conn)
		return x.agent.Write(p)
	}
	_, err := x.w.Write(p)
	if ok && err == nil {
		x.agent.Begin(conn)
	}
	return err
}
