package proxy

import (
	"context"
	"errors"
	"os"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/mask"
	"github.com/heldcall/heldcall/proxy/trace"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/valyala/fasthttp"
)

// maskerOf returns the masker of a principal's secrets, nil if it has none.
func maskerOf(secrets Secrets, who approvals.Principal) (*mask.Masker, *intercept.Error) {
	if secrets == nil {
		return nil, nil
	}
	m, err := secrets.Masker(who)
	if err != nil {
		return nil, &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: "the stored secrets cannot be read, so that they cannot be kept from the model; heldcall's log has the cause", Err: err}
	}
	return m, nil
}

// awaitSecrets waits until this replica knows the secrets that other replicas have stored.
func awaitSecrets(ctx context.Context, secrets Secrets) *intercept.Error {
	if secrets == nil {
		return nil
	}
	err := secrets.Await(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return turn.Explain(context.Cause(ctx))
	}
	return &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: approvals.Because("it is not known which secrets must be kept from the model; try again later. The storage is not available", err), Err: err}
}

// maskHead finds the masker of the agent's principal, whose secrets must not be in the URL of its request, which is
// not changed, nor in headers. [agentExchange.readBody] replaces them in the body, before anything of it is recorded
// or sent.
func maskHead(ctx context.Context, secrets Secrets, who approvals.Principal, r *agentRequest, h *fasthttp.RequestHeader) (refusal *intercept.Error) {
	if refusal = awaitSecrets(ctx, secrets); refusal == nil {
		r.masker, refusal = maskerOf(secrets, who)
	}
	m := r.masker
	if m == nil || refusal != nil {
		return refusal
	}
	if m.Contains([]byte(r.path)) || m.Contains([]byte(r.query)) {
		r.path, r.query = m.Text(r.path), m.Text(r.query) // for the log and the spans
		return badRequest("the URL of the request has the value of a secret that heldcall keeps from the model; use its handle in a body")
	}
	for k, v := range h.All() {
		if !hasCredentials(k) && m.Contains(v) {
			return badRequest("a header of the request has the value of a secret that heldcall keeps from the model: " + string(k))
		}
	}
	return nil
}

// hasCredentials reports whether a header has a key of the agent for the model's API.
func hasCredentials(name []byte) bool {
	return is(name, "Authorization") || is(name, "X-Api-Key") || is(name, "Api-Key")
}

// maskedUpstream is the upstream of a gated request of a principal. It replaces the
// principal's secrets in what upstream gets and in what it answers: hidden turns may be
// older than a secret.
type maskedUpstream struct {
	gatedUpstream
	secrets Secrets
	limit   int // bytes of a buffered answer
	who     approvals.Principal
	masked  []byte       // the body of the agent's own request
	masker  *mask.Masker // that masked it
}

// Send implements [turn.Upstream].
func (u *maskedUpstream) Send(ctx context.Context, e intercept.Envelope, c trace.Context) (turn.Response, bool, *intercept.Error) {
	body, m, refusal := u.maskedBody(ctx, e.Body)
	if refusal != nil {
		return nil, false, refusal
	}
	e.Body = body
	r, sent, refusal := u.gatedUpstream.Send(ctx, e, c)
	switch {
	case refusal != nil:
		return nil, sent, refusal
	case m == nil:
		return r, sent, nil
	}
	return &maskedResponse{Response: r, masker: m, stream: m.NewStream(u.limit)}, sent, nil
}

// maskedBody returns a body without secrets, and the masker of the answer to it, nil for none.
func (u *maskedUpstream) maskedBody(ctx context.Context, body []byte) ([]byte, *mask.Masker, *intercept.Error) {
	original := len(body) == len(u.masked) && (len(body) == 0 || &body[0] == &u.masked[0])
	if !original { // people may have answered with secrets meanwhile, on any replica
		if refusal := awaitSecrets(ctx, u.secrets); refusal != nil {
			return nil, nil, refusal
		}
	}
	m, refusal := maskerOf(u.secrets, u.who)
	if refusal != nil || (original && m == u.masker) {
		return body, m, refusal
	}
	return m.JSON(body), m, nil
}

// maskedResponse is an answer of upstream without secrets.
type maskedResponse struct {
	turn.Response
	masker *mask.Masker
	stream *mask.Stream
	end    error // of the body, when the stream has ended
}

// Next implements [turn.Response].
func (r *maskedResponse) Next() ([]byte, error) {
	for {
		if r.end != nil {
			return nil, r.end
		}
		p, err := r.Response.Next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, err
		case err != nil:
			r.end, p = err, r.stream.End()
		default:
			p = r.stream.Write(p)
		}
		if len(p) > 0 {
			return p, nil
		}
	}
}

// ReadAll implements [turn.Response].
func (r *maskedResponse) ReadAll(limit int) ([]byte, error) {
	body, err := r.Response.ReadAll(limit)
	if err != nil {
		return nil, err
	}
	return r.masker.JSON(body), nil
}

var _ turn.Upstream = (*maskedUpstream)(nil)
