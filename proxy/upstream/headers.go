package upstream

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/coding"
	"github.com/heldcall/heldcall/proxy/packed"
	"github.com/valyala/fasthttp"
)

// ownPrefix is that of the headers that heldcall reads from agents and strips.
const ownPrefix = "x-heldcall-"

// hopByHop reports the headers of one connection (RFC 9110 section 7.6.1), and
// those that frame a message, which are written for each leg.
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

// endToEnd reports whether a header is passed on: it does not concern one connection,
// neither by its name nor because a Connection header lists it.
func endToEnd(lower, v []byte, named map[string]bool) bool {
	return !hopByHop(lower) && !named[string(lower)] && bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0
}

// addListed adds the names that a Connection header lists, in lower case.
func addListed(named map[string]bool, list []byte) map[string]bool {
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

// Request is a request to an upstream.
type Request struct {
	Header   *fasthttp.RequestHeader // of the agent
	Envelope intercept.Envelope
	Gated    bool
	Decoded  bool          // the body is without the Content-Encoding of the header, as that of a gated request always is
	Limits   coding.Limits // of the answer to a gated request, which may be compressed although identity is asked for
	Trace    TraceContext
}

// heads writes the heads of requests to an upstream, and copies the heads of its answers.
type heads struct {
	BasePath string // path of the URL, no trailing slash

	keys      atomic.Pointer[keys]
	host      string // Host header
	standIn   string // see [Config]
	keyHeader string // carries the key; empty: the header that the agent uses for its own
}

// keys are the key of an upstream, and those that it had before.
type keys struct {
	current  string      // "" to leave the agent's key in place
	redactor KeyRedactor // of all
}

// UseKey replaces the upstream's key, also in the further requests of answers that have begun; "" leaves the agents' keys
// in place. Earlier keys are kept from agents as the new one is.
func (u *heads) UseKey(apiKey string) {
	next := &keys{apiKey, NewKeyRedactor(apiKey)}
	if before := u.keys.Load(); before != nil {
		if before.current == apiKey {
			return
		}
		next.redactor = append(next.redactor, before.redactor...)
	}
	u.keys.Store(next)
}

// Redactor finds the upstream's keys.
func (u *heads) Redactor() KeyRedactor { return u.keys.Load().redactor }

// appendRequestHead appends the head of the upstream request to dst: the agent's headers
// in their order, spelling and number, with the upstream's key and the trace context
// in place of the agent's. A gated request asks for a whole answer without compression.
func (u *heads) appendRequestHead(dst []byte, r *Request) []byte {
	req, e, t := r.Header, &r.Envelope, &r.Trace
	dst = append(append(dst, e.Method...), ' ')
	dst = append(append(dst, u.BasePath...), e.Path...)
	if len(e.Query) > 0 {
		dst = append(append(dst, '?'), e.Query...)
	}
	dst = append(append(append(dst, " HTTP/1.1\r\nHost: "...), u.host...), "\r\n"...)
	var named map[string]bool
	for k, v := range req.All() {
		if is(k, "Connection") {
			named = addListed(named, v)
		}
	}
	var scratch [64]byte
	key := u.keys.Load().current
	withKey := u.givesKey(key, req)
	for k, v := range req.AllInOrder() {
		if lower := appendLower(scratch[:0], k); endToEnd(lower, v, named) && !r.replaces(lower, withKey) && !t.replaces(lower) {
			dst = append(append(append(append(dst, k...), ": "...), v...), "\r\n"...)
		}
	}
	if r.Gated {
		dst = append(dst, "Accept-Encoding: identity\r\n"...)
	}
	if withKey {
		dst = u.appendKey(dst, key, req)
	}
	dst = t.Append(dst)
	if e.Method != string(req.Method()) { // heldcall's own: the agent sent no body
		dst = append(dst, "Content-Type: application/json\r\n"...)
	}
	if len(e.Body) > 0 || (e.Method != http.MethodGet && e.Method != http.MethodHead) {
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
func (u *heads) appendKey(dst []byte, key string, req *fasthttp.RequestHeader) []byte {
	name := u.keyHeader
	for _, own := range [...]string{"x-api-key", "api-key"} {
		if name == "" && hasHeader(req, own) && !hasHeader(req, "Authorization") {
			name = own
		}
	}
	if name == "" || name == "authorization" {
		return append(append(append(dst, "Authorization: Bearer "...), key...), "\r\n"...)
	}
	return append(append(append(append(dst, name...), ": "...), key...), "\r\n"...)
}

// givesKey reports whether a request goes upstream with the upstream's key.
func (u *heads) givesKey(key string, req *fasthttp.RequestHeader) bool {
	if key == "" || u.standIn == "" {
		return key != ""
	}
	var scratch [64]byte
	for k, v := range req.All() {
		before, carries := bytes.CutSuffix(v, []byte(u.standIn))
		if carries && (len(before) == 0 || before[len(before)-1] == ' ') && holdsKey(appendLower(scratch[:0], k)) {
			return true
		}
	}
	return false
}

// holdsKey reports the headers in which agents send their keys.
func holdsKey(lower []byte) bool {
	switch string(lower) {
	case "authorization", "api-key", "x-api-key":
		return true
	}
	return false
}

// replaces reports the agent's headers that do not go upstream as they are, with the upstream's key or without.
func (r *Request) replaces(lower []byte, withKey bool) bool {
	switch string(lower) {
	case "host":
		return true
	case "accept-encoding", "range", "if-range": // a part of an answer is not judged
		return r.Gated
	case "content-encoding":
		return r.Gated || r.Decoded
	}
	return (withKey && holdsKey(lower)) || bytes.HasPrefix(lower, []byte(ownPrefix)) || routes(lower)
}

// routes reports a header by which some servers route in place of the method and the
// path, by which heldcall has routed. CGI and WSGI read _ in a name as -.
func routes(lower []byte) bool {
	if bytes.IndexByte(lower, '_') >= 0 {
		lower = bytes.ReplaceAll(lower, []byte("_"), []byte("-"))
	}
	switch string(lower) {
	case "x-http-method-override", "x-http-method", "x-method-override",
		"x-original-url", "x-original-uri", "x-rewrite-url", "x-forwarded-uri", "x-forwarded-path", "x-envoy-original-path":
		return true
	}
	return false
}

// redirectsElsewhere reports a header that sends the agent to another address, where nothing
// would be held.
func redirectsElsewhere(lower, v []byte) bool {
	switch string(lower) {
	case "location", "content-location", "operation-location", "azure-asyncoperation":
		return len(v) == 0 || v[0] != '/' || (len(v) > 1 && (v[1] == '/' || v[1] == '\\'))
	case "alt-svc", "refresh":
		return true
	}
	return false
}

// CopyResponseHead copies the upstream's head, without the key that it may quote and, on
// a gated route, without headers that send the agent elsewhere. It copies no framing.
func (u *heads) CopyResponseHead(to packed.HeadWriter, from *fasthttp.ResponseHeader, gated bool) {
	to.SetStatusCode(from.StatusCode())
	if message := from.StatusMessage(); !bytes.Equal(message, []byte(fasthttp.StatusMessage(from.StatusCode()))) {
		to.SetStatusMessage(u.Redactor().Redact(message))
	}
	var named map[string]bool
	for k, v := range from.All() {
		if is(k, "Connection") {
			named = addListed(named, v)
		}
	}
	var scratch [64]byte
	for k, v := range from.All() {
		lower := appendLower(scratch[:0], k)
		if endToEnd(lower, v, named) && string(lower) != "x-heldcall-turn" && !u.Redactor().Contains(k) && !(gated && redirectsElsewhere(lower, v)) {
			to.AddBytesKV(k, u.Redactor().Redact(v))
		}
	}
}
