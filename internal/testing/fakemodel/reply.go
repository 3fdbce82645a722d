package fakemodel

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Write is one piece of a body: one write to the socket, and one HTTP chunk
// where the framing is [Chunked].
type Write struct {
	Bytes []byte
	Delay time.Duration   // to wait before it
	Gate  <-chan struct{} // to wait for before it, after the delay; nil does not wait
}

// Framing is how the client finds the end of a body.
type Framing int

// The framings. Chunked is the zero value, as it is on every streamed answer.
const (
	Chunked        Framing = iota // one HTTP chunk a write
	ContentLength                 // the length of all writes together
	CloseDelimited                // the end of the connection
)

// End is what happens after the last write.
type End int

// The ends of a reply.
const (
	EndClean      End = iota // as the framing wants it; the connection is kept where it can be
	EndMidChunk              // closed inside the last chunk, which announced 64 bytes more
	EndAtBoundary            // closed between two chunks, without the last one
	EndReset                 // reset (TCP RST) in the place of a clean end
	EndStall                 // nothing more is sent; open until the client leaves
)

// Reply is what the script answers. The zero value is an empty 200.
type Reply struct {
	Status   int             // 0 means 200
	Header   []Field         // sent as they are, before the framing's own field
	HeadGate <-chan struct{} // to wait for before the head; nil does not wait
	Body     []Write
	Framing  Framing
	End      End
	Close    bool // ask the client to close, and close after the reply
}

// Whole is a reply with a content length and one write, as JSON.
func Whole(status int, body []byte) Reply {
	return Reply{
		Status:  status,
		Header:  []Field{{"Content-Type", "application/json"}},
		Body:    []Write{{Bytes: body}},
		Framing: ContentLength,
	}
}

// Events is a streamed reply: chunked, labelled as an event stream.
func Events(writes ...Write) Reply {
	return Reply{
		Header: []Field{{"Content-Type", "text/event-stream; charset=utf-8"}},
		Body:   writes,
	}
}

// Fail is a reply in the shape of OpenAI's errors.
func Fail(status int, code, message string) Reply {
	return Whole(status, encode(map[string]any{
		"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": code},
	}))
}

// sender is the state of one reply on its way out.
type sender struct {
	ctx  context.Context
	req  *Request
	conn net.Conn
}

// send writes the reply and reports whether the connection can carry another
// request.
func (p *Reply) send(ctx context.Context, r *Request, conn net.Conn) bool {
	s := &sender{ctx, r, conn}
	if !s.wait(0, p.HeadGate) {
		return false
	}
	// What needs no waiting leaves with the head, as servers do.
	pending := p.head()
	for i, w := range p.Body {
		if w.Delay > 0 || w.Gate != nil {
			if !s.write(pending) {
				return false
			}
			pending = nil
			if !s.wait(w.Delay, w.Gate) {
				return false
			}
		}
		last := i == len(p.Body)-1
		if !s.write(append(pending, p.frame(w.Bytes, last)...)) {
			return false
		}
		pending = nil
	}
	return s.write(pending) && s.end(p)
}

func (p *Reply) head() []byte {
	status := p.Status
	if status == 0 {
		status = http.StatusOK
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, f := range p.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	switch p.Framing {
	case Chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case ContentLength:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", p.length())
	}
	if p.Close || p.Framing == CloseDelimited {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// length is what a content length announces: one byte more than is sent where
// the reply is not to end well.
func (p *Reply) length() int {
	n := 0
	for _, w := range p.Body {
		n += len(w.Bytes)
	}
	if p.End != EndClean {
		n++
	}
	return n
}

func (p *Reply) frame(body []byte, last bool) []byte {
	if p.Framing != Chunked || len(body) == 0 {
		return body
	}
	if last && p.End == EndMidChunk {
		return append(fmt.Appendf(nil, "%x\r\n", len(body)+64), body...)
	}
	chunk := fmt.Appendf(nil, "%x\r\n", len(body))
	chunk = append(chunk, body...)
	return append(chunk, "\r\n"...)
}

func (s *sender) end(p *Reply) bool {
	switch p.End {
	case EndMidChunk, EndAtBoundary:
		return false
	case EndReset:
		if tcp, ok := s.conn.(*net.TCPConn); ok {
			// A zero linger turns the close into a reset.
			_ = tcp.SetLinger(0)
		}
		return false
	case EndStall:
		s.wait(0, make(chan struct{}))
		return false
	}
	if p.Framing == Chunked && !s.write([]byte("0\r\n\r\n")) {
		return false
	}
	return !p.Close && p.Framing != CloseDelimited && !strings.EqualFold(s.req.Get("Connection"), "close")
}

// wait returns false when the client or the server went away before the time.
func (s *sender) wait(delay time.Duration, gate <-chan struct{}) bool {
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.req.gone:
			return false
		case <-s.ctx.Done():
			return false
		}
	}
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-s.req.gone:
		return false
	case <-s.ctx.Done():
		return false
	}
}

func (s *sender) write(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	_, err := s.conn.Write(b)
	return err == nil
}
