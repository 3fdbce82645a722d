package proxy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/internal/memory"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// newRoomyBed is a bed whose requests may have bodies of 64 MiB.
func newRoomyBed(t *testing.T, bytes int64) *bed {
	t.Helper()
	b := newBed(t, chat.Dialect{}, "default: allow\n", func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Text: fmt.Sprint(len(r.Body))}.Reply(r)
	})
	b.options.MaxBody = 64 << 20
	b.memory = memory.NewBudget(bytes)
	b.server = b.newServer()
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Shutdown(context.WithoutCancel(t.Context())) })
	return b
}

// quick is less than the time-outs of a body.
const quick = 5 * time.Second

func (b *bed) dial() net.Conn {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.Addr())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(soon)); err != nil {
		b.t.Fatal(err)
	}
	return conn
}

// chatBody is a request whose body has n bytes.
func chatBody(n int) string {
	const frame, tools = `{"model":"m","messages":[{"role":"user","content":"%s"}]%s}`, `,"tools":[{"type":"function","function":{"name":"bash"}}]`
	if n < 200 {
		return fmt.Sprintf(frame, strings.Repeat("x", n-len(frame)+4), "")
	}
	return fmt.Sprintf(frame, strings.Repeat("x", n-len(frame)-len(tools)+4), tools)
}

func head(announced int, fields string) string {
	return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", announced, fields)
}

// Finding 23: memory grows with the bytes of a body that arrive, not with its announced length.
func TestAnnouncedBodiesTakeNoMemory(t *testing.T) {
	b := newRoomyBed(t, 1<<30)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const connections = 24
	for range connections {
		if _, err := io.WriteString(b.dial(), head(67_000_000, "")+"{"); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the bodies to be admitted", func() bool { return b.memory.Used() >= connections*headerBuffer })
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > connections<<20 {
		t.Errorf("%d announcements allocated %d bytes", connections, grown)
	}
}

// Finding 23: the bodies of all requests share a budget, and what ends gives its
// part back.
func TestBodiesShareABudget(t *testing.T) {
	b := newRoomyBed(t, 10<<20)
	first := b.dial()
	body := chatBody(4 << 20) // which is in memory twice at its end
	if _, err := io.WriteString(first, head(len(body), "")+body[:3<<20]); err != nil {
		t.Fatal(err)
	}
	// Of what was sent the server has some in its buffer: 11 pieces are complete, and
	// the twelfth is reserved.
	waitFor(t, "the first body", func() bool { return b.memory.Used() >= headerBuffer+12*256<<10 })
	second := b.dial()
	larger := chatBody(4<<20 + 300<<10)
	go func() { _, _ = io.WriteString(second, head(len(larger), "")+larger) }()
	resp, err := http.ReadResponse(bufio.NewReader(second), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || !bytes.Contains(text, []byte("overloaded")) {
		t.Errorf("beyond the budget: %v %d %s", err, resp.StatusCode, text)
	}
	if _, err := io.WriteString(first, body[3<<20:]); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("within the budget: %v %v", err, resp)
	}
	waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 })
}

// A chunked body reserves the most that it could have only while it arrives.
func TestChunkedBodiesKeepTheirSizeReserved(t *testing.T) {
	answer := make(chan struct{})
	b := newBed(t, chat.Dialect{}, "default: allow\n", func(r *fakemodel.Request) fakemodel.Reply {
		reply := fakemodel.Answer{Text: "Hello."}.Reply(r)
		reply.HeadGate = answer
		return reply
	})
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.Shutdown(context.WithoutCancel(t.Context()))
	body := chatBody(50 << 10)
	conn := b.dial()
	if _, err := fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the body", func() bool { return b.memory.Used() == int64(exchangeBytes+len(body)) })
	close(answer)
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v %v", err, resp)
	}
	waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 })
}

// Bodies of every size arrive whole, with and without chunks, and the request after
// one on the same connection is read as sent. Only an agent that expects 100
// Continue gets it.
func TestBodiesArriveWhole(t *testing.T) {
	b := newRoomyBed(t, 1<<30)
	for _, size := range []int{100, smallBody, smallBody + 1, 300 << 10, 1<<20 + 1, 3<<20 + 7} {
		for _, expects := range []string{"", "Expect: 100-continue\r\n"} {
			conn := b.dial()
			body := chatBody(size)
			pipelined := head(len(body), expects) + body + head(100, "") + chatBody(100)
			go func() { _, _ = io.WriteString(conn, pipelined) }()
			r := bufio.NewReader(conn)
			for _, want := range []int{size, 100} {
				resp, err := http.ReadResponse(r, nil)
				if err == nil && resp.StatusCode == http.StatusContinue {
					if expects == "" {
						t.Errorf("%d bytes: 100 Continue was not asked for", size)
					}
					resp, err = http.ReadResponse(r, nil)
				}
				if err != nil {
					t.Fatalf("%d bytes: %v", size, err)
				}
				text, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(text, fmt.Appendf(nil, `"content": "%d"`, want)) {
					t.Errorf("%d bytes: %v %d %.300s", size, err, resp.StatusCode, text)
				}
			}
		}
	}
	resp, err := http.Post("http://"+b.Addr()+"/v1/chat/completions", "application/json", struct{ io.Reader }{strings.NewReader(chatBody(3 << 20))})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || !bytes.Contains(text, fmt.Appendf(nil, `"%d"`, 3<<20)) {
		t.Errorf("in chunks: %v %s", err, text)
	}
	waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 })
}

// An agent that waits for 100 Continue gets it, however it writes the header, before
// its body is read.
func TestAgentsThatWaitGetContinue(t *testing.T) {
	b := newRoomyBed(t, 1<<30)
	for _, size := range []int{100, smallBody + 1, 1<<20 + 1, 3 << 20} {
		for _, expects := range []string{"Expect: 100-continue\r\n", "expect: 100-continue\r\n", "EXPECT: 100-Continue\r\n"} {
			conn := b.dial()
			body := chatBody(size)
			if _, err := io.WriteString(conn, head(len(body), expects)); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(conn)
			if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != http.StatusContinue {
				t.Errorf("%d bytes, %q: %v %v, not 100", size, expects, err, resp)
				continue
			}
			if _, err := io.WriteString(conn, body); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(resp.Body); err != nil || !bytes.Contains(text, fmt.Appendf(nil, `"content": "%d"`, size)) {
				t.Errorf("%d bytes, %q: %v %d %.300s", size, expects, err, resp.StatusCode, text)
			}
		}
	}
	waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 })
}

// No spelling of Expect makes a body pass the budget.
func TestNoExpectationPassesTheBudget(t *testing.T) {
	for _, expects := range []string{"expect: 100-continue\r\n", "Expect: later\r\n", "Expect:\r\n", "Expect: later\r\nExpect: 100-continue\r\n", "expect: x\r\nX-Heldcall-Unexpected: 1\r\n"} {
		for _, framing := range []string{"Content-Length: 900000", "Transfer-Encoding: chunked"} {
			b := newRoomyBed(t, 4<<20)
			const used = 3 << 20
			b.memory.Reserve(used)
			conn := b.dial()
			go func() {
				_, _ = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s\r\n", framing, expects)
			}()
			if err := conn.SetReadDeadline(time.Now().Add(quick)); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%s with %q: %v %v, not 503", framing, expects, err, resp)
			}
			waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == used })
		}
	}
}

// A body larger than proxy.max_body is refused before the agent sends it.
func TestTooLargeBodiesAreRefusedBeforeTheyAreSent(t *testing.T) {
	b := newRoomyBed(t, 1<<30)
	for _, expects := range []string{"", "Expect: 100-continue\r\n"} {
		conn := b.dial()
		if _, err := io.WriteString(conn, head(b.options.MaxBody+1, expects)); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%q: %v %v, not 413", expects, err, resp)
		}
	}
}

// A body that needs more memory than there is while nothing else uses any is refused for good, in chunks too.
func TestBodiesThatNeverFit(t *testing.T) {
	b := newRoomyBed(t, 4<<20)
	body := chatBody(3 << 20)
	for framing, request := range map[string]string{
		"with a length": head(len(body), ""),
		"in chunks":     fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", len(body), body),
	} {
		conn := b.dial()
		go func() { _, _ = io.WriteString(conn, request) }()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %v %v, not 413", framing, err, resp)
		}
	}
	waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 })
}

// Chunks of odd sizes, with extensions and trailers, arrive whole, and the request after
// them on the same connection is read as sent.
func TestOddChunksArriveWhole(t *testing.T) {
	b := newRoomyBed(t, 1<<30)
	body := chatBody(2<<20 + 3)
	for _, size := range []int{1 << 10, 4095, headerBuffer - 1, headerBuffer, headerBuffer + 1, 300<<10 + 7, len(body)} {
		for _, trailer := range []string{"", "X-Sum: 1\r\n"} {
			var chunks strings.Builder
			chunks.WriteString("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
			for rest := body; rest != ""; {
				n := min(size, len(rest))
				fmt.Fprintf(&chunks, "%04X;a=b\r\n%s\r\n", n, rest[:n])
				rest = rest[n:]
			}
			chunks.WriteString("0\r\n" + trailer + "\r\n" + head(100, "") + chatBody(100))
			conn := b.dial()
			go func() { _, _ = io.WriteString(conn, chunks.String()) }()
			r := bufio.NewReader(conn)
			for _, want := range []int{len(body), 100} {
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatalf("chunks of %d: %v", size, err)
				}
				if text, err := io.ReadAll(resp.Body); err != nil || !bytes.Contains(text, fmt.Appendf(nil, `"content": "%d"`, want)) {
					t.Errorf("chunks of %d, trailer %q: %v %d %.300s", size, trailer, err, resp.StatusCode, text)
				}
			}
		}
	}
	waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 })
}

// What an agent that leaves in the middle of its body had of the budget is given back.
func TestAgentsThatLeaveGiveTheirMemoryBack(t *testing.T) {
	b := newRoomyBed(t, 1<<30)
	for _, framing := range []string{"Content-Length: 900000", "Content-Length: 9000000", "Transfer-Encoding: chunked"} {
		for _, sent := range []string{"", "{", "10000\r\n" + strings.Repeat("x", 70_000), strings.Repeat("x", 600_000)} {
			for _, reset := range []bool{false, true} {
				conn := b.dial()
				if _, err := fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n%s", framing, sent); err != nil && framing[0] == 'C' {
					t.Fatal(err)
				}
				if tcp, ok := conn.(*net.TCPConn); ok && reset {
					_ = tcp.SetLinger(0)
				}
				_ = conn.Close()
			}
		}
	}
	waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 && b.server.GetOpenConnectionsCount() == 0 })
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// Finding 24: an answer whose calls are too large to be shown many times over is
// refused, and no reviewer is asked about it.
func TestAnswersWithHugeCallsAreRefused(t *testing.T) {
	b := newBed(t, chat.Dialect{}, "default: ask\n", func(r *fakemodel.Request) fakemodel.Reply {
		var calls []fakemodel.Call
		for i := range 10 {
			calls = append(calls, fakemodel.Call{ID: fmt.Sprint("call_", i), Name: "write", Arguments: fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 1<<20))})
		}
		return fakemodel.Answer{Calls: calls}.Reply(r)
	})
	b.options.MaxBody, b.turns.Limits.Keepalive = 64<<20, time.Hour // a heartbeat would begin the answer with 200
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.ended()
	defer b.Shutdown(context.WithoutCancel(t.Context()))
	resp, err := http.Post("http://"+b.Addr()+"/v1/chat/completions", "application/json", strings.NewReader(chatRequest("false")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusBadGateway || !bytes.Contains(text, []byte("answer_not_understood")) || len(text) > 10_000 {
		t.Errorf("%v %d %.300s", err, resp.StatusCode, text)
	}
}
