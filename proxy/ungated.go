package proxy

import "github.com/heldcall/heldcall/intercept"

// wholeUpTo is the largest body of known length that is read before it is
// written, so that it goes out in one piece.
const wholeUpTo = 64 << 10

// passUngated hands a request of a route without calls on, and its answer back,
// untouched both ways; but its errors do not show the key.
func (x *exchange) passUngated() *intercept.Error {
	x.outcome = "ungated"
	u, h := x.route.upstream, &x.fasthttp.Request.Header
	ask := x.route.envelope(x.fasthttp)
	up, err := u.do(x.ctx, u.appendRequestHead(nil, h, ask, false, x.spans.asks(x, ask)), ask.Body)
	if err != nil {
		return noAnswer(err)
	}
	x.up = up
	x.spans.headCame(up.head.StatusCode())
	u.copyResponseHead(&x.fasthttp.Response.Header, up.head, false)
	switch status := up.head.StatusCode(); {
	case x.fasthttp.IsHead():
		x.passHead()
	case status < 200 || status > 299:
		x.passError()
	case up.body.framing == byLength && up.body.left <= wholeUpTo:
		x.passWhole()
	case up.body.framing == byLength:
		x.begun, x.next = true, (*exchange).copyOn
		x.stream(int(up.body.left))
	default:
		x.begun, x.next = true, (*exchange).copyOn
		x.stream(unknownLength)
	}
	return nil
}

func (x *exchange) passWhole() {
	defer x.close()
	whole, err := x.up.body.whole(wholeUpTo)
	if err != nil {
		x.refuse(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's answer was cut off before its end", Err: err})
		return
	}
	x.whole(whole)
}

// passError passes upstream's own error on, but for the key that it may quote.
func (x *exchange) passError() {
	defer x.close()
	resp, mask := &x.fasthttp.Response, x.route.upstream.mask
	body, err := x.up.body.whole(x.p.options.MaxBody)
	if err != nil {
		x.refuse(&intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's error was cut off or is too large", Err: err})
		return
	}
	resp.SetBodyRaw(body)
	if len(mask) == 0 {
		return
	}
	if !plain(resp.Header.ContentEncoding()) {
		if body, err = resp.BodyUncompressedWithLimit(x.p.options.MaxBody); err != nil {
			x.refuse(intercept.NotUnderstood("it is an error (status %d) in a coding that heldcall cannot look into", resp.StatusCode()))
			return
		}
	}
	if mask.shows(body) {
		resp.Header.Del("Content-Encoding")
		resp.SetBodyRaw(mask.hide(body))
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
	if x.up.body.framing == byLength {
		x.fasthttp.Response.Header.SetContentLength(int(x.up.body.left))
	}
	x.up.body.none()
}
