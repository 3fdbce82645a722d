package proxy

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/valyala/fasthttp"
)

// Headers that heldcall reads from agents and strips.
const (
	headerSession = "X-Heldcall-Session"
	headerRun     = "X-Heldcall-Run"
	headerUser    = "X-Heldcall-User"
	headerAgent   = "X-Heldcall-Agent"
	headerTenant  = "X-Heldcall-Tenant"
	headerTurn    = "X-Heldcall-Turn" // on every response
	ownPrefix     = "x-heldcall-"
)

// hopByHop reports the headers of one connection (RFC 9110 section 7.6.1), and
// those that frame a message, which each leg writes anew.
func hopByHop(lower []byte) bool {
	switch string(lower) {
	case "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
		"te", "trailer", "transfer-encoding", "upgrade", "content-length", "expect":
		return true
	}
	return false
}

// header is the value of the first header with a name, in any letter case. It
// stands in for fasthttp's Peek, which compares bytes when names are kept as
// they came: many clients send lower-case names.
func header(h *fasthttp.RequestHeader, name string) []byte {
	for k, v := range h.AllInOrder() {
		if len(k) == len(name) && strings.EqualFold(string(k), name) {
			return v
		}
	}
	return nil
}

// hasHeader reports whether there is a header with a name, in any letter case.
func hasHeader(h *fasthttp.RequestHeader, name string) bool { return header(h, name) != nil }

// headers iterates over the headers of a message, duplicates included.
type headers = func(yield func(k, v []byte) bool)

// endToEnd walks the headers of a message that go on: all but those of the
// connection and those that a Connection header names.
func endToEnd(all headers, yield func(lower, k, v []byte)) {
	named := connectionNames(all)
	var scratch [64]byte
	all(func(k, v []byte) bool {
		lower := appendLower(scratch[:0], k)
		if !hopByHop(lower) && !named[string(lower)] && bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
			yield(lower, k, v)
		}
		return true
	})
}

// connectionNames are the names that all Connection headers together list, in
// lower case.
func connectionNames(all headers) (named map[string]bool) {
	all(func(k, v []byte) bool {
		if len(k) != len("Connection") || !strings.EqualFold(string(k), "Connection") {
			return true
		}
		if named == nil {
			named = make(map[string]bool)
		}
		for name := range strings.SplitSeq(string(v), ",") {
			named[strings.ToLower(strings.TrimSpace(name))] = true
		}
		return true
	})
	return named
}

func appendLower(dst, k []byte) []byte {
	for _, c := range k {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// appendRequestHead writes the head of the upstream request: the agent's headers
// in their order, spelling and number.
func (u *upstream) appendRequestHead(dst []byte, req *fasthttp.RequestHeader, e intercept.Envelope, gated bool) []byte {
	dst = append(append(dst, e.Method...), ' ')
	dst = append(append(dst, u.base...), e.Path...)
	if len(e.Query) > 0 {
		dst = append(append(dst, '?'), e.Query...)
	}
	dst = append(append(append(dst, " HTTP/1.1\r\nHost: "...), u.host...), "\r\n"...)
	endToEnd(headers(req.AllInOrder()), func(lower, k, v []byte) {
		if u.replaces(lower, gated) {
			return
		}
		dst = append(append(append(append(dst, k...), ": "...), v...), "\r\n"...)
	})
	if gated {
		dst = append(dst, "Accept-Encoding: identity\r\n"...)
	}
	if u.apiKey != "" {
		dst = u.appendKey(dst, req)
	}
	if e.Method != string(req.Method()) { // heldcall's own: the agent sent no body
		dst = append(dst, "Content-Type: application/json\r\n"...)
	}
	if len(e.Body) > 0 || e.Method != http.MethodGet && e.Method != http.MethodHead {
		dst = append(fasthttp.AppendUint(append(dst, "Content-Length: "...), len(e.Body)), "\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// keyHeader is the header in which the provider at a host expects its key, in
// lower case; empty where the agent's own choice is as good as any.
func keyHeader(configured, host string) string {
	host = strings.ToLower(host)
	switch {
	case configured != "" && configured != "auto":
		return configured
	case host == "anthropic.com" || strings.HasSuffix(host, ".anthropic.com"):
		return "x-api-key"
	case strings.HasSuffix(host, ".azure.com") || strings.HasSuffix(host, ".azure-api.net"):
		return "api-key"
	}
	return ""
}

// appendKey writes the upstream's key in place of the agent's.
func (u *upstream) appendKey(dst []byte, req *fasthttp.RequestHeader) []byte {
	name := u.keyHeader
	for _, own := range [...]string{"x-api-key", "api-key"} {
		if name == "" && hasHeader(req, own) && !hasHeader(req, "Authorization") {
			name = own
		}
	}
	if name == "" || name == "authorization" {
		return append(append(append(dst, "Authorization: Bearer "...), u.apiKey...), "\r\n"...)
	}
	return append(append(append(append(dst, name...), ": "...), u.apiKey...), "\r\n"...)
}

// clearResponse takes back what was set of a response. fasthttp's own Reset would
// also bring its default headers back.
func clearResponse(resp *fasthttp.Response) {
	var names []string
	for k := range resp.Header.All() {
		names = append(names, string(k))
	}
	for _, name := range names {
		resp.Header.Del(name)
	}
	resp.Header.SetStatusMessage(nil)
	resp.SetStatusCode(fasthttp.StatusOK)
	resp.ImmediateHeaderFlush = false
	resp.ResetBody()
}

// replaces reports the agent's headers that do not go upstream as they are.
func (u *upstream) replaces(lower []byte, gated bool) bool {
	switch string(lower) {
	case "host":
		return true
	case "accept-encoding", "range", "if-range": // a part of an answer is not judged
		return gated
	case "authorization", "api-key", "x-api-key":
		return u.apiKey != ""
	case "x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url":
		return true // some servers route by them: heldcall has routed by what they would replace
	}
	return bytes.HasPrefix(lower, []byte(ownPrefix))
}

// leadsAway reports a header that sends the agent to another address, where nothing
// would be held.
func leadsAway(lower, v []byte) bool {
	switch string(lower) {
	case "location", "content-location", "operation-location", "azure-asyncoperation":
		return len(v) == 0 || v[0] != '/' || len(v) > 1 && (v[1] == '/' || v[1] == '\\')
	case "alt-svc", "refresh":
		return true
	}
	return false
}

// copyResponseHead passes upstream's head on, without the key that it may quote and,
// of a gated route, without what leads away. Framing is the server's own.
func (u *upstream) copyResponseHead(to, from *fasthttp.ResponseHeader, gated bool) {
	to.SetStatusCode(from.StatusCode())
	if message := from.StatusMessage(); !bytes.Equal(message, []byte(fasthttp.StatusMessage(from.StatusCode()))) {
		to.SetStatusMessage(u.mask.hide(message))
	}
	endToEnd(headers(from.All()), func(lower, k, v []byte) {
		if string(lower) != "x-heldcall-turn" && !u.mask.shows(k) && !(gated && leadsAway(lower, v)) {
			to.AddBytesKV(k, u.mask.hide(v))
		}
	})
}
