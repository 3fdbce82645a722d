package proxy

import (
	"errors"
	"io"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/coding"
	"github.com/heldcall/heldcall/proxy/trace"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/valyala/fasthttp"
)

// wholeUpTo is the largest body of known length that is read before it is
// written, so that it goes out in one piece.
const wholeUpTo = 64 << 10

// passUngated sends a request of a route without calls on, and its answer back, untouched
// both ways; but its errors do not show the key.
func (x *agentExchange) passUngated(request *agentRequest, h *fasthttp.RequestHeader) *intercept.Error {
	x.outcome = "ungated"
	e := request.envelope(x.route.path)
	r, err := x.route.upstream.Do(x.agent.ctx, &upstream.Request{Header: h, Envelope: e, Decoded: request.decoded, Trace: upstream.TraceContext(x.traceUngated(e))})
	if err != nil {
		return noAnswer(err)
	}
	x.copied = r
	x.spans.UpstreamHead(r.Status())
	r.CopyHead(x.agent.Head())
	length, known := r.Body.Length()
	switch status := r.Status(); {
	case e.Method == fasthttp.MethodHead:
		x.passHead()
	case status < 200 || status > 299:
		x.passError()
	case known && length <= wholeUpTo:
		x.passWhole()
	case known:
		x.agent.Start()
		x.stream(int(length))
	default:
		x.agent.Start()
		x.stream(unknownLength)
	}
	return nil
}

// traceUngated begins the span of the upstream request.
func (x *agentExchange) traceUngated(e intercept.Envelope) trace.Context {
	return x.spans.UpstreamRequest(trace.UpstreamRequest{Envelope: e, Addr: x.route.upstream.Addr, Route: x.route.label})
}

// copyBody copies the upstream's body to the agent as it is.
func (x *agentExchange) copyBody() error {
	for {
		p, err := x.copied.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := x.agent.Write(p); err != nil {
			return err
		}
	}
}

func (x *agentExchange) passWhole() {
	defer x.end()
	whole, err := x.copied.ReadAll(wholeUpTo)
	if err != nil {
		x.refuseUngated(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's answer was cut off before its end", Err: err})
		return
	}
	x.agent.Finish(whole)
}

// passError passes upstream's own error on, but for the key that it may quote.
func (x *agentExchange) passError() {
	defer x.end()
	resp, redactor, limit := x.agent.response(), x.route.upstream.Redactor(), x.proxy.options.MaxBody
	body, err := x.copied.ReadAll(limit)
	if err != nil {
		x.refuseUngated(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's error was cut off or is too large", Err: err})
		return
	}
	resp.SetBodyRaw(body)
	if len(redactor) == 0 {
		return
	}
	codings, err := coding.Parse(resp.Header.ContentEncoding())
	if err == nil && len(codings) > 0 {
		body, err = codings.Decode(body, x.codingLimits())
	}
	if err != nil {
		x.refuseUngated(intercept.NotUnderstood("it is an error (status %d) in a coding that heldcall cannot look into", resp.StatusCode()))
		return
	}
	if redactor.Contains(body) {
		resp.Header.Del("Content-Encoding")
		resp.SetBodyRaw(redactor.Redact(body))
	}
}

// refuseUngated answers with an error in place of upstream's answer.
func (x *agentExchange) refuseUngated(e *intercept.Error) {
	x.agent.ResetHead()
	x.refuse(e)
}

// passHead answers with a head alone. The length in it is that of a body which is not
// sent.
func (x *agentExchange) passHead() {
	defer x.end()
	if length, known := x.copied.Body.Length(); known {
		x.agent.response().Header.SetContentLength(int(length))
	}
	x.copied.Body.SetEmpty()
}
