package proxy

import (
	"context"
	"errors"
	"sync"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/trace"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/valyala/fasthttp"
)

// gatedUpstream is the upstream of a gated request, with the agent's headers. It
// implements [turn.Upstream].
type gatedUpstream struct {
	client *upstream.Client
	header *fasthttp.RequestHeader // of the agent
}

func (u *gatedUpstream) Addr() string           { return u.client.Addr }
func (u *gatedUpstream) Redact(p []byte) []byte { return u.client.Redactor.Redact(p) }
func (u *gatedUpstream) Send(ctx context.Context, e intercept.Envelope, c trace.Context) (turn.Response, bool, *intercept.Error) {
	r, err := send(ctx, u.client, u.header, e, true, c)
	if err != nil {
		return nil, !errors.Is(err, upstream.ErrNotSent), noAnswer(err)
	}
	return r, true, nil
}

// heads are buffers for the heads of upstream requests, and small bodies.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// send sends a request with the agent's headers and reads the head of its answer.
func send(ctx context.Context, u *upstream.Client, h *fasthttp.RequestHeader, e intercept.Envelope, gated bool, c trace.Context) (*upstream.Response, error) {
	buffer := heads.Get().(*[]byte)
	defer heads.Put(buffer)
	head := u.AppendRequestHead((*buffer)[:0], h, e, gated, upstream.TraceContext(c))
	r, err := u.Do(ctx, head, e.Body)
	if r != nil && gated {
		r.SetGated()
	}
	return r, err
}

// noAnswer is the error for a request that upstream did not answer, or with a head that
// cannot be read.
func noAnswer(err error) *intercept.Error {
	if fault := upstream.MalformedHead(err); fault != nil {
		return intercept.NotUnderstood("its head is malformed: %v", fault)
	}
	return &intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: "the upstream did not answer; check proxy.upstreams and the network", Err: err}
}
