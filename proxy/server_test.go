package proxy

import (
	"net"
	"testing"

	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/valyala/fasthttp"
)

// sink is a connection that records writes.
type sink struct {
	net.Conn
	got string
}

func (s *sink) Write(p []byte) (int, error) {
	s.got += string(p)
	return len(p), nil
}

// An error instead of a whole answer has another length: nothing waits for the rest.
func TestErrorInsteadOfWholeAnswer(t *testing.T) {
	sent := &sink{}
	conn := &agentconn.Conn{Conn: sent}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init2(conn, nil, true)
	a := newAgent(ctx)
	a.Finish([]byte("answer"))
	if _, err := conn.Write([]byte("the head of the answer")); err != nil || sent.got != "" {
		t.Fatalf("a small answer does not go out with its head, which was written as %q, %v", sent.got, err)
	}
	(&Proxy{}).answerError(&a, chat.Dialect{}, badRequest("it is bad"))
	if _, err := conn.Write([]byte("error")); err != nil || sent.got != "error" {
		t.Errorf("wrote %q, %v; want the error alone, at once", sent.got, err)
	}
}
