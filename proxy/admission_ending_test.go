package proxy

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/internal/memory"
)

// Finding 23: however a request ends, its memory is returned while its connection stays
// open.
func TestEveryEndingReturnsItsMemory(t *testing.T) {
	body := chatBody(100 << 10)
	post := func(path, body string) string {
		return strings.Replace(head(len(body), ""), "/v1/chat/completions", path, 1) + body
	}
	held := "default: ask\n"
	for name, tt := range map[string]struct {
		dialect intercept.Dialect // nil: chat
		rules   string
		request string
		status  int // 0: the request is held when the agent leaves or the proxy stops
		end     func(*bed, io.Closer)
	}{
		"answered":           {rules: "default: allow\n", request: post("/v1/chat/completions", body), status: http.StatusOK},
		"without a gate":     {rules: held, request: post("/v1/embeddings", body), status: http.StatusOK},
		"route not gated":    {rules: held, request: post("/v1/unknown", body), status: http.StatusNotImplemented},
		"not JSON":           {rules: held, request: post("/v1/chat/completions", body[1:]), status: http.StatusBadRequest},
		"panic in request":   {dialect: newFaulty("request"), rules: held, request: post("/v1/chat/completions", body), status: http.StatusBadGateway},
		"panic in the relay": {dialect: newFaulty("write"), rules: held, request: post("/v1/chat/completions", body), status: http.StatusBadGateway},
		"upgrade": {
			rules: held, status: http.StatusNotImplemented,
			request: head(len(body), "Connection: upgrade\r\nUpgrade: websocket\r\n") + body,
		},
		"the agent leaves": {
			rules: held, request: post("/v1/chat/completions", body),
			end: func(_ *bed, conn io.Closer) { conn.Close() },
		},
		"shutdown": {
			rules: held, request: post("/v1/chat/completions", body),
			end: func(b *bed, _ io.Closer) { _ = b.Shutdown(context.WithoutCancel(b.t.Context())) },
		},
		"shutdown within a body": {
			rules: held, request: post("/v1/chat/completions", body)[:50<<10],
			end: func(b *bed, _ io.Closer) { _ = b.Shutdown(context.WithoutCancel(b.t.Context())) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.dialect == nil {
				tt.dialect = chat.Dialect{}
			}
			b := newBed(t, tt.dialect, tt.rules, callBash)
			b.memory = memory.NewBudget(1 << 30)
			if tt.end == nil {
				b.turns.Limits.Keepalive = time.Hour // a heartbeat would begin the answer with 200
			}
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer b.Shutdown(context.WithoutCancel(t.Context()))
			conn := b.dial()
			if _, err := io.WriteString(conn, tt.request); err != nil {
				t.Fatal(err)
			}
			if tt.end == nil {
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil || resp.StatusCode != tt.status {
					t.Fatalf("%v %v, want %d", err, resp, tt.status)
				}
			} else {
				waitFor(t, "the body to be admitted", func() bool { return b.memory.Used() >= int64(len(body)) })
				if len(tt.request) > len(body) {
					waitFor(t, "the call to be held", func() bool {
						page, err := b.gate.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
						return err == nil && len(page.Items) == 1
					})
				}
				tt.end(b, conn)
			}
			waitFor(t, "the budget to be free", func() bool { return b.memory.Used() == 0 })
		})
	}
}
