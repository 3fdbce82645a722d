package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/heldcall/heldcall/proxy/agentconn"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/valyala/fasthttp"
)

var _ turn.Agent = (*agent)(nil)

// newTestAgent is an agent without a connection.
func newTestAgent(t *testing.T) *agent {
	t.Helper()
	a := newAgent(&fasthttp.RequestCtx{})
	if refusal := a.watch(t.Context()); refusal != nil {
		t.Fatal(refusal)
	}
	t.Cleanup(a.release)
	return &a
}

// Bytes that are written before the body can be are sent first.
func TestAgentKeepsWhatIsWrittenTooEarly(t *testing.T) {
	a := newTestAgent(t)
	if a.Started() || a.Writable() {
		t.Error("the answer has started")
	}
	if err := errors.Join(a.Write(nil)); err != nil || a.Started() {
		t.Errorf("%v, started %t by nothing", err, a.Started())
	}
	if err := errors.Join(a.Write([]byte("one ")), a.Write([]byte("two "))); err != nil || !a.Started() {
		t.Errorf("%v, started %t", err, a.Started())
	}
	a.stream(&relay{}, unknownLength)
	if !a.streams() || a.response().ImmediateHeaderFlush {
		t.Error("the head must go with the first bytes")
	}
	var body bytes.Buffer
	if err := a.begin(&body); err != nil || !a.Writable() {
		t.Fatal(err)
	}
	if err := errors.Join(a.Write([]byte("three")), a.end()); err != nil || body.String() != "one two three" || a.written != 13 {
		t.Errorf("%v, wrote %q", err, body.String())
	}
}

// An agent that cannot be written to has disconnected.
func TestAgentThatCannotBeWrittenTo(t *testing.T) {
	a := newTestAgent(t)
	reader, writer := io.Pipe()
	reader.Close()
	if err := a.begin(writer); err != nil {
		t.Fatal(err)
	}
	if err := a.Write([]byte("x")); err == nil || !errors.Is(context.Cause(a.ctx), agentconn.ErrDisconnected) {
		t.Errorf("%v, cause %v", err, context.Cause(a.ctx))
	}
}

// An error takes the place of what was set of the answer.
func TestAgentRefuse(t *testing.T) {
	a := newTestAgent(t)
	a.Head().SetStatusCode(201)
	a.Head().SetStatusMessage([]byte("Made"))
	a.Head().AddBytesKV([]byte("X-Request-Id"), []byte("req_1"))
	a.Finish([]byte("answer"))
	a.Refuse(503, []byte("error"))
	resp := a.response()
	if resp.StatusCode() != 503 || string(resp.Body()) != "error" || len(resp.Header.Peek("X-Request-Id")) > 0 || len(resp.Header.StatusMessage()) > 0 {
		t.Errorf("the agent gets %s", resp)
	}
}
