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
	"github.com/heldcall/heldcall/internal/scripted"
	"github.com/heldcall/heldcall/proxy/agentconn"
)

// newRoomyBed is a bed whose requests may have bodies of 64 MiB.
func newRoomyBed(t *testing.T, memory int64) *bed {
	t.Helper()
	b := newBed(t, chat.Dialect{}, "default: allow\n", func(r *scripted.Request) scripted.Reply {
		return scripted.Answer{Text: fmt.Sprint(len(r.Body))}.Reply(r)
	})
	b.options.MaxBody = 64 << 20
	b.memory = agentconn.NewBudget(memory)
	b.server = b.newServer()
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Shutdown(context.WithoutCancel(t.Context())) })
	return b
}

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
	const frame = `{"model":"m","messages":[{"role":"user","content":"%s"}]}`
	return fmt.Sprintf(frame, strings.Repeat("x", n-len(frame)+2))
}

func head(announced int, fields string) string {
	return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", announced, fields)
}

// Finding 23: memory grows with what arrives of a body, not with what is announced.
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
	b := newRoomyBed(t, 5<<20)
	first := b.dial()
	body := chatBody(4 << 20)
	if _, err := io.WriteString(first, head(len(body), "")+body[:3<<20]); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the first body", func() bool { return b.memory.Used() > 2<<20 })
	second := b.dial()
	go func() { _, _ = io.WriteString(second, head(len(body), "")+body) }()
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

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// Finding 24: an answer whose calls are too large to be shown many times over is
// refused, and nobody is asked about it.
func TestAnswersWithHugeCallsAreRefused(t *testing.T) {
	b := newBed(t, chat.Dialect{}, "default: ask\n", func(r *scripted.Request) scripted.Reply {
		var calls []scripted.Call
		for i := range 10 {
			calls = append(calls, scripted.Call{ID: fmt.Sprint("call_", i), Name: "write", Arguments: fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 1<<20))})
		}
		return scripted.Answer{Calls: calls}.Reply(r)
	})
	b.options.MaxBody = 64 << 20
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
