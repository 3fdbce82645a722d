package proxy

import "github.com/heldcall/heldcall/intercept"

// wholeUpTo is the largest body of known length that is read before it is
// written, so that it goes out in one piece.
const wholeUpTo = 64 << 10

// passUngated hands a request of a route without calls on, and its answer back,
// untouched both ways; but its errors do not show the key.
func (x *exchange) passUngated() *intercept.Error {
	x.outcome = "ungated"
	u, h := x.route.Upstream, &x.fasthttp.Request.Header
	ask := x.envelope()
	up, err := u.Do(x.ctx, u.AppendRequestHead(nil, h, ask, false, x.spans.asks(x, ask)), ask.Body)
	if err != nil {
		return noAnswer(err)
	}
	x.up = up
	x.spans.headCame(up.Head.StatusCode())
	u.CopyResponseHead(&x.fasthttp.Response.Header, up.Head, false)
	length, known := up.Body.Length()
	switch status := up.Head.StatusCode(); {
	case x.fasthttp.IsHead():
		x.passHead()
	case status < 200 || status > 299:
		x.passError()
	case known && length <= wholeUpTo:
		x.passWhole()
	case known:
		x.begun, x.next = true, (*exchange).copyOn
		x.stream(int(length))
	default:
		x.begun, x.next = true, (*exchange).copyOn
		x.stream(unknownLength)
	}
	return nil
}

func (x *exchange) passWhole() {
	defer x.close()
	whole, err := x.up.Body.ReadAll(wholeUpTo)
	if err != nil {
		x.refuse(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's answer was cut off before its end", Err: err})
		return
	}
	x.whole(whole)
}

// passError passes upstream's own error on, but for the key that it may quote.
func (x *exchange) passError() {
	defer x.close()
	resp, redactor := &x.fasthttp.Response, x.route.Upstream.Redactor
	body, err := x.up.Body.ReadAll(x.p.options.MaxBody)
	if err != nil {
		x.refuse(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's error was cut off or is too large", Err: err})
		return
	}
	resp.SetBodyRaw(body)
	if len(redactor) == 0 {
		return
	}
	if !plain(resp.Header.ContentEncoding()) {
		if body, err = resp.BodyUncompressedWithLimit(x.p.options.MaxBody); err != nil {
			x.refuse(intercept.NotUnderstood("it is an error (status %d) in a coding that heldcall cannot look into", resp.StatusCode()))
			return
		}
	}
	if redactor.Contains(body) {
		resp.Header.Del("Content-Encoding")
		resp.SetBodyRaw(redactor.Redact(body))
	}
}

func (x *exchange) refuse(e *intercept.Error) {
	clearResponse(&x.fasthttp.Response)
	x.spans.failed(e)
	x.p.refuse(x.fasthttp, nil, e)
}

// passHead answers with a head alone. The length in it is that of a body which
// does not come.
func (x *exchange) passHead() {
	defer x.close()
	if length, known := x.up.Body.Length(); known {
		x.fasthttp.Response.Header.SetContentLength(int(length))
	}
	x.up.Body.SetEmpty()
}
