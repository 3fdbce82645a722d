package upstream

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/valyala/fasthttp"
)

// ownPrefix is that of the headers that heldcall reads from agents and strips.
const ownPrefix = "x-heldcall-"

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

// is reports whether a header has a name, in any letter case.
func is(k []byte, name string) bool {
	return len(k) == len(name) && strings.EqualFold(string(k), name)
}

// hasHeader reports whether there is a header with a name, in any letter case.
// fasthttp's Peek compares bytes when names are kept as they were sent.
func hasHeader(h *fasthttp.RequestHeader, name string) bool {
	for k := range h.All() {
		if is(k, name) {
			return true
		}
	}
	return false
}

// goesOn reports whether a header is not one of the connection, and none that a
// Connection header names: end to end they go on.
func goesOn(lower, v []byte, named map[string]bool) bool {
	return !hopByHop(lower) && !named[string(lower)] && bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0
}

// addNames adds the names that a Connection header lists, in lower case.
func addNames(named map[string]bool, list []byte) map[string]bool {
	if named == nil {
		named = make(map[string]bool)
	}
	for name := range strings.SplitSeq(string(list), ",") {
		named[strings.ToLower(strings.TrimSpace(name))] = true
	}
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

// AppendRequestHead writes the head of the upstream request: the agent's headers
// in their order, spelling and number, but for their trace context where l stands in
// its place.
func (u *Client) AppendRequestHead(dst []byte, req *fasthttp.RequestHeader, e intercept.Envelope, gated bool, l TraceContext) []byte {
	dst = append(append(dst, e.Method...), ' ')
	dst = append(append(dst, u.Base...), e.Path...)
	if len(e.Query) > 0 {
		dst = append(append(dst, '?'), e.Query...)
	}
	dst = append(append(append(dst, " HTTP/1.1\r\nHost: "...), u.host...), "\r\n"...)
	var named map[string]bool
	for k, v := range req.All() {
		if is(k, "Connection") {
			named = addNames(named, v)
		}
	}
	var scratch [64]byte
	for k, v := range req.AllInOrder() {
		if lower := appendLower(scratch[:0], k); goesOn(lower, v, named) && !u.replaces(lower, gated) && !l.replaces(lower) {
			dst = append(append(append(append(dst, k...), ": "...), v...), "\r\n"...)
		}
	}
	if gated {
		dst = append(dst, "Accept-Encoding: identity\r\n"...)
	}
	if u.apiKey != "" {
		dst = u.appendKey(dst, req)
	}
	dst = l.Append(dst)
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
func (u *Client) appendKey(dst []byte, req *fasthttp.RequestHeader) []byte {
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

// replaces reports the agent's headers that do not go upstream as they are.
func (u *Client) replaces(lower []byte, gated bool) bool {
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

// CopyResponseHead passes upstream's head on, without the key that it may quote and,
// of a gated route, without what leads away. Framing is the server's own.
func (u *Client) CopyResponseHead(to, from *fasthttp.ResponseHeader, gated bool) {
	to.SetStatusCode(from.StatusCode())
	if message := from.StatusMessage(); !bytes.Equal(message, []byte(fasthttp.StatusMessage(from.StatusCode()))) {
		to.SetStatusMessage(u.Mask.Hide(message))
	}
	var named map[string]bool
	for k, v := range from.All() {
		if is(k, "Connection") {
			named = addNames(named, v)
		}
	}
	var scratch [64]byte
	for k, v := range from.All() {
		lower := appendLower(scratch[:0], k)
		if goesOn(lower, v, named) && string(lower) != "x-heldcall-turn" && !u.Mask.Shows(k) && !(gated && leadsAway(lower, v)) {
			to.AddBytesKV(k, u.Mask.Hide(v))
		}
	}
}
