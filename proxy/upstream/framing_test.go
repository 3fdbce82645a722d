package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// answering returns a client whose upstream sends the same bytes to every connection,
// after its request, and closes it if it is to; and how many connections there were.
func answering(t *testing.T, answer string, closes bool) (u *Client, connections func() int) {
	t.Helper()
	u, err := New(Config{Prefix: "/v1", URL: "http://model.example"})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dialled := 0
	u.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		dialled++
		return new(net.Dialer).DialContext(ctx, network, ln.Addr().String())
	}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for {
					if _, err := io.ReadFull(conn, make([]byte, len(ask))); err != nil {
						return
					}
					if _, err := io.WriteString(conn, answer); err != nil || closes {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() { u.Close(); ln.Close() })
	return u, func() int { return dialled }
}

const ask = "GET /v1/x HTTP/1.1\r\nHost: model.example\r\n\r\n"

// How a body ends, whether its framing marks that, and whether its connection serves
// the next request.
func TestBodyFraming(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	big := strings.Repeat("x", 100_000)
	for name, tt := range map[string]struct {
		answer string
		closes bool
		body   string
		err    error
		length int64 // -1: not known
		framed bool
		kept   bool
	}{
		"of known length":     {answer: ok + "Content-Length: 5\r\n\r\nhello", body: "hello", length: 5, framed: true, kept: true},
		"large":               {answer: ok + "Content-Length: 100000\r\n\r\n" + big, body: big, length: 100_000, framed: true, kept: true},
		"empty":               {answer: ok + "Content-Length: 0\r\n\r\n", length: 0, framed: true, kept: true},
		"no content":          {answer: "HTTP/1.1 204 No Content\r\n\r\n", length: 0, framed: true, kept: true},
		"after an interim":    {answer: "HTTP/1.1 103 Early Hints\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nhi", body: "hi", length: 2, framed: true, kept: true},
		"chunked":             {answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", body: "hello", length: -1, framed: true, kept: true},
		"until the close":     {answer: ok + "Connection: close\r\n\r\nhello", closes: true, body: "hello", length: -1},
		"of HTTP/1.0":         {answer: "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", body: "hello", length: 5, framed: true},
		"close is announced":  {answer: ok + "Connection: close\r\nContent-Length: 5\r\n\r\nhello", body: "hello", length: 5, framed: true},
		"more than its body":  {answer: ok + "Content-Length: 5\r\n\r\nhello!", body: "hello", length: 5, framed: true},
		"something after it":  {answer: ok + "Content-Length: 0\r\n\r\n!", length: 0, framed: true},
		"cut":                 {answer: ok + "Content-Length: 6\r\n\r\nhello", closes: true, err: io.ErrUnexpectedEOF, length: 6, framed: true},
		"cut in chunks":       {answer: ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", closes: true, err: io.ErrUnexpectedEOF, length: -1, framed: true},
		"broken chunks":       {answer: ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n", err: errChunk, length: -1, framed: true},
		"after its last byte": {answer: ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP", length: -1, framed: true},
	} {
		t.Run(name, func(t *testing.T) {
			u, connections := answering(t, tt.answer, tt.closes)
			r, err := u.do(t.Context(), requestHead(ask), nil)
			if err != nil {
				t.Fatal(err)
			}
			length, known := r.Body.Length()
			if known != (tt.length >= 0) || (known && length != tt.length) || r.Body.Framed() != tt.framed {
				t.Errorf("length %d, known %t, framed %t", length, known, r.Body.Framed())
			}
			body, err := r.Body.ReadAll(1 << 20)
			r.Close()
			if !errors.Is(err, tt.err) || string(body) != tt.body {
				t.Errorf("read %.20q, %v", body, err)
			}
			if r, err := u.do(t.Context(), requestHead(ask), nil); err == nil {
				r.Close()
			}
			if kept := connections() == 1; kept != tt.kept {
				t.Errorf("%d connections for two requests", connections())
			}
		})
	}
}

// The errors of a request whose answer has no head that can be read.
func TestHeadErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		is     error
		want   string
	}{
		"nothing":         {is: errNoAnswer, want: "without an answer"},
		"not HTTP":        {answer: "220 mail.example ESMTP\r\n\r\n", want: "not one of HTTP/1.1"},
		"cut":             {answer: "HTTP/1.1 200 OK\r\nA: ", want: "read the head"},
		"status 99":       {answer: "HTTP/1.1 099 Low\r\n\r\n", is: errStatus},
		"upgrade":         {answer: "HTTP/1.1 101 Switching Protocols\r\n\r\n", is: errSwitched},
		"folded":          {answer: "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", is: errFolded},
		"larger than 32K": {answer: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", headLimit) + "\r\n\r\n", want: "larger than 32768 bytes"},
	} {
		u, _ := answering(t, tt.answer, true)
		_, err := u.do(t.Context(), requestHead(ask), nil)
		if err == nil || (tt.is != nil && !errors.Is(err, tt.is)) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(err, ErrNotSent) || strings.Contains(err.Error(), "mail.example") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A body that is late loses nothing, and one that is too large is not read.
func TestBodyLimits(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
	u, _ := answering(t, head+"hello", false)
	r, err := u.do(t.Context(), requestHead(ask), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for got := ""; got != "hello"; {
		p, err := r.Body.Next()
		if err != nil {
			t.Fatal(err)
		}
		got += string(p)
	}
	r.Body.SetReadDeadline(time.Now().Add(-time.Second))
	if p, err := r.Body.Next(); len(p) > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %q, %v", p, err)
	}
	earlier, later := time.Now().Add(10*time.Millisecond), time.Now().Add(30*time.Millisecond)
	r.Body.SetReadDeadline(earlier)
	r.Body.SetReadDeadline(later)
	if p, err := r.Body.Next(); len(p) > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Now().Before(later) {
		t.Errorf("before the deadline that was moved: %q, %v", p, err)
	}
	if length, _ := r.Body.Length(); length != 5 {
		t.Errorf("%d bytes are still to come", length)
	}

	u, _ = answering(t, head+"hello world", false)
	if r, err = u.do(t.Context(), requestHead(ask), nil); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if p, err := r.Body.ReadAll(9); err == nil || p != nil {
		t.Errorf("above the limit: %q, %v", p, err)
	}
}

// The answer to HEAD has the length of a body that is not sent.
func TestSetEmpty(t *testing.T) {
	u, connections := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", false)
	for range 2 {
		r, err := u.do(t.Context(), requestHead(ask), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.SetEmpty()
		if p, err := r.Body.Next(); len(p) > 0 || !errors.Is(err, io.EOF) {
			t.Errorf("read %q, %v", p, err)
		}
		r.Close()
	}
	if connections() != 1 {
		t.Errorf("%d connections for two requests", connections())
	}
}

// A request that is cancelled returns the cause.
func TestCancelledRequest(t *testing.T) {
	u, _ := answering(t, "", false)
	cause := errors.New("the agent disconnected")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
	if _, err := u.do(ctx, requestHead(ask), nil); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}
