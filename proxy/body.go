package proxy

import (
	"errors"
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/coding"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/valyala/fasthttp"
)

// readBody makes the body of a request what heldcall judges and sends: decoded, and without the secrets of the
// agent's principal. That of a route without calls stays as it came, unless it has secrets.
func (x *agentExchange) readBody(r *agentRequest, req *fasthttp.Request) (refusal *intercept.Error) {
	body, gated := r.body, x.route.dialect != nil
	if r.has(idContentEncoding) && (gated || r.masker != nil) {
		if body, refusal = x.decode(r.contentEncodings(&req.Header), body); refusal != nil {
			return refusal
		}
	}
	masked := r.masker.JSON(body)
	if refusal := x.agent.reserveCopy(masked, body); refusal != nil {
		return refusal
	}
	decoded := !same(body, r.body)
	switch {
	case decoded && gated: // what was sent is not needed any more
		x.agent.Return(len(r.body))
		req.SwapBody(body)
	case decoded && same(masked, body):
		return nil
	}
	r.body, r.decoded = masked, decoded
	return nil
}

// decode takes the codings off a body. The decoded bytes are reserved.
func (x *agentExchange) decode(encodings [][]byte, body []byte) ([]byte, *intercept.Error) {
	codings, err := coding.Parse(encodings...)
	if err != nil {
		return nil, badRequest(fmt.Sprintf("the request body cannot be decoded: %v; its Content-Encoding may have %s", err, coding.Accepted))
	}
	if len(codings) == 0 {
		return body, nil
	}
	decoded, err := codings.Decode(body, x.codingLimits())
	var memory *coding.MemoryError
	switch {
	case err == nil:
		return decoded, nil
	case errors.Is(err, coding.ErrTooLarge):
		return nil, &intercept.Error{Code: intercept.CodeRequestTooLarge, Reason: fmt.Sprintf("the request body is larger than proxy.max_body (%d bytes) when it is decoded", x.proxy.options.MaxBody)}
	case errors.As(err, &memory) && int64(memory.Needed+len(body)) > x.proxy.memory.Most():
		return nil, &intercept.Error{Code: intercept.CodeRequestTooLarge, Reason: "the request body needs more memory, when it is decoded, than heldcall may use (proxy.memory, or half of its control group); send less, or give it more"}
	case errors.As(err, &memory):
		return nil, turn.ErrOverloaded
	}
	return nil, badRequest(fmt.Sprintf("the request body cannot be decoded as its Content-Encoding names: %v", err))
}

// codingLimits bound what decoding takes.
func (x *agentExchange) codingLimits() coding.Limits {
	return coding.Limits{Bytes: x.proxy.options.MaxBody, Account: &x.agent}
}

// same reports whether two bodies are the same bytes in memory.
func same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
