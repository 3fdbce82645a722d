package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/proxy"
	"github.com/heldcall/heldcall/proxy/turn"
)

// canned serves the same bytes to every request of fixed length on its
// connections.
func canned(b *testing.B, answer []byte) string {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for {
					if err := skipRequest(r); err != nil {
						return
					}
					if _, err := conn.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return ln.Addr().String()
}

func skipRequest(r *bufio.Reader) error {
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			_, err = io.CopyN(io.Discard, r, int64(length))
			return err
		}
		if bytes.HasPrefix(line, []byte("Content-Length: ")) {
			fmt.Sscan(string(line[16:]), &length)
		}
	}
}

// emptyKeeper stores held turns; here is none.
type emptyKeeper struct{ turn.Keeper }

func (emptyKeeper) Any() bool             { return false }
func (emptyKeeper) Await(context.Context) {}

func benchmarkProxy(b *testing.B, tools string, answer []byte, end string) {
	o := proxy.Options{
		Listen: "127.0.0.1:0", Upstreams: []proxy.Upstream{{Prefix: "/v1", URL: "http://" + canned(b, answer) + "/v1"}},
		Keepalive: time.Minute, MaxBody: 64 << 20, MaxContinuations: 8, Dialects: []intercept.Dialect{chat.Dialect{}},
		Services: proxy.Services{Gate: turn.Stateless{}, Turns: turn.Stateless{}, Keeper: emptyKeeper{}},
	}
	rules, err := policy.Parse("policy.yaml", []byte("default: allow\n"))
	if err != nil {
		b.Fatal(err)
	}
	o.Judge = func(string) proxy.Judge { return judge.NewRules(rules) }
	p, err := proxy.New(o)
	if err != nil {
		b.Fatal(err)
	}
	if err := p.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	body := `{"model":"gpt-4o-mini","stream":true,` + tools + `"messages":[{"role":"system","content":"You are helpful."},{"role":"user","content":"` + strings.Repeat("word ", 100) + `"}]}`
	request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk-x\r\nUser-Agent: bench\r\nAccept: application/json\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	block := make([]byte, 64<<10)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		var tail []byte
		for !bytes.HasSuffix(tail, []byte(end)) {
			n, err := conn.Read(block)
			if err != nil {
				b.Fatal(err)
			}
			tail = append(tail, block[max(0, n-len(end)):n]...)
			tail = tail[max(0, len(tail)-len(end)):]
		}
	}
}

// BenchmarkWhole is one whole answer of 1.5 KB on one connection.
func BenchmarkWhole(b *testing.B) {
	body := `{"id":"chatcmpl-1","object":"chat.completion","created":1763712000,"model":"gpt-4o-mini","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("word ", 240) + `","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}`
	benchmarkProxy(b, "", fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: req_1\r\nContent-Length: %d\r\n\r\n%s", len(body), body), body[len(body)-40:])
}

// BenchmarkStream is a stream of 200 events in one write of upstream.
func BenchmarkStream(b *testing.B) { benchmarkStream(b, "") }

// BenchmarkStreamWithTools is the same for an agent that offers tools: the answer is kept
// until its end.
func BenchmarkStreamWithTools(b *testing.B) {
	benchmarkStream(b, `"tools":[{"type":"function","function":{"name":"bash"}}],`)
}

func benchmarkStream(b *testing.B, tools string) {
	var chunks strings.Builder
	for i := range 200 {
		event := fmt.Sprintf(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763712000,"model":"gpt-4o-mini","service_tier":"default","system_fingerprint":"fp_5c1ed0ca11","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"obfuscation":"x%d"}`, i, i) + "\n\n"
		fmt.Fprintf(&chunks, "%x\r\n%s\r\n", len(event), event)
	}
	const done = "data: [DONE]\n\n"
	fmt.Fprintf(&chunks, "%x\r\n%s\r\n0\r\n\r\n", len(done), done)
	benchmarkProxy(b, tools, []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks.String()), "\r\n0\r\n\r\n")
}
