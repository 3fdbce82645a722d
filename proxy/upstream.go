package proxy

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/coding"
	"github.com/heldcall/heldcall/proxy/socket"
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
	limits coding.Limits           // of answers that are compressed
	lane   *socket.Lane            // of a WebSocket, nil for HTTP
}

func (u *gatedUpstream) Addr() string { return u.client.Addr }
func (u *gatedUpstream) ID() string {
	return strings.Join([]string{u.client.Prefix, u.client.Addr, u.client.BasePath}, " ")
}
func (u *gatedUpstream) Redact(p []byte) []byte { return u.client.Redactor().Redact(p) }
func (u *gatedUpstream) Send(ctx context.Context, e intercept.Envelope, c trace.Context) (turn.Response, bool, *intercept.Error) {
	if u.lane != nil && e.Connected && e.Method == fasthttp.MethodPost {
		r, sent, refusal := u.lane.Send(ctx, e)
		if refusal != nil {
			return nil, sent, refusal
		}
		return r, sent, nil
	}
	r, err := u.client.Do(ctx, &upstream.Request{Header: u.header, Envelope: e, Gated: true, Limits: u.limits, Trace: upstream.TraceContext(c)})
	if err != nil {
		return nil, !errors.Is(err, upstream.ErrNotSent), noAnswer(err)
	}
	return r, true, nil
}

// noAnswer is the error for a request that upstream did not answer, or with a head that
// cannot be read.
func noAnswer(err error) *intercept.Error {
	if fault := upstream.MalformedHead(err); fault != nil {
		return intercept.NotUnderstood("its head is malformed: %v", fault)
	}
	reason := cmp.Or(upstream.Cause(err), "the upstream did not answer; check proxy.upstreams and the network")
	return &intercept.Error{Code: intercept.CodeUpstreamUnreachable, Reason: reason, Err: err}
}
