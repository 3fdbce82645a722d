package proxy

import (
	"bytes"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/trace"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/valyala/fasthttp"
)

// Headers that heldcall reads from agents and strips.
const (
	headerSession = "X-Heldcall-Session"
	headerRun     = turn.HeaderRun
	headerUser    = "X-Heldcall-User"
	headerAgent   = "X-Heldcall-Agent"
	headerTenant  = "X-Heldcall-Tenant"
	headerTurn    = "X-Heldcall-Turn" // on every response
)

const (
	// headerRetries has how often the SDKs of OpenAI and Anthropic have sent a request
	// before.
	headerRetries = "X-Stainless-Retry-Count"
	// headerIdempotency names a request that a client may send several times.
	headerIdempotency = "Idempotency-Key"
)

// agentRequest is what heldcall reads of an agent's request. Bytes alias the request's
// memory.
type agentRequest struct {
	method string
	path   string // as sent
	query  string
	body   []byte

	session, run        string // as the headers name them, "" without
	user, agent, tenant string
	idempotencyKey      string
	retried             bool // the client declares that it has sent the request before
	apiKey              []byte
	userAgent           []byte

	isHTTP11, folded, otherCharset                            bool
	transferEncoding, contentLength, upgrade, contentEncoding bool
}

// readRequest reads a request once, in one pass over its header lines: what fasthttp has
// parsed lacks some of them.
func readRequest(req *fasthttp.Request) (r agentRequest) {
	h := &req.Header
	r.folded = folded(h.RawHeaders()) // before anything reads them: fasthttp joins folded lines in place
	r.isHTTP11 = bytes.Equal(h.Protocol(), []byte("HTTP/1.1"))
	r.method, r.path, r.query = string(h.Method()), string(req.URI().PathOriginal()), string(req.URI().QueryString())
	r.body, r.userAgent = req.Body(), h.UserAgent()
	var keys apiKeys
	for k, v := range h.AllInOrder() {
		r.readHeader(k, v, &keys)
	}
	r.apiKey = keys.first()
	return r
}

// readHeader reads one header line. Of several with a name, the first counts.
func (r *agentRequest) readHeader(k, v []byte, keys *apiKeys) {
	if len(k) >= len(readHeaders) {
		return
	}
	for _, wanted := range readHeaders[len(k)] {
		if is(k, wanted.name) {
			wanted.read(r, v, keys)
		}
	}
}

// apiKeys are the values of the headers in which agents send their key.
type apiKeys struct{ authorization, xAPIKey, apiKey []byte }

// first returns the agent's key: a bearer token, else that of another header.
func (k *apiKeys) first() []byte {
	const bearer = "bearer "
	if a := k.authorization; len(a) > len(bearer) && strings.EqualFold(string(a[:len(bearer)]), bearer) {
		if token := bytes.TrimSpace(a[len(bearer):]); len(token) > 0 {
			return token
		}
	}
	if len(k.xAPIKey) > 0 {
		return k.xAPIKey
	}
	return k.apiKey
}

// wantedHeader is a header that is read.
type wantedHeader struct {
	name string
	read func(r *agentRequest, v []byte, keys *apiKeys)
}

// readHeaders are the headers that are read, by the length of their names: most header
// lines have a length that none of them has.
var readHeaders = [...][]wantedHeader{
	len("Api-Key"): {
		{"Api-Key", func(_ *agentRequest, v []byte, keys *apiKeys) { setFirst(&keys.apiKey, v) }},
		{"Upgrade", func(r *agentRequest, _ []byte, _ *apiKeys) { r.upgrade = true }},
	},
	len("X-Api-Key"): {
		{"X-Api-Key", func(_ *agentRequest, v []byte, keys *apiKeys) { setFirst(&keys.xAPIKey, v) }},
	},
	len("Content-Type"): {
		{"Content-Type", func(r *agentRequest, v []byte, _ *apiKeys) {
			r.otherCharset = r.otherCharset || !turn.ASCIICompatible(v)
		}},
	},
	len("Authorization"): {
		{"Authorization", func(_ *agentRequest, v []byte, keys *apiKeys) { setFirst(&keys.authorization, v) }},
	},
	len("Content-Length"): {
		{"Content-Length", func(r *agentRequest, _ []byte, _ *apiKeys) { r.contentLength = true }},
		{headerRun, func(r *agentRequest, v []byte, _ *apiKeys) { setFirstText(&r.run, v) }},
	},
	len(headerUser): {
		{headerUser, func(r *agentRequest, v []byte, _ *apiKeys) { setFirstText(&r.user, v) }},
		{headerIdempotency, func(r *agentRequest, v []byte, _ *apiKeys) { setFirstText(&r.idempotencyKey, v) }},
	},
	len("Content-Encoding"): {
		{"Content-Encoding", func(r *agentRequest, _ []byte, _ *apiKeys) { r.contentEncoding = true }},
		{headerAgent, func(r *agentRequest, v []byte, _ *apiKeys) { setFirstText(&r.agent, v) }},
	},
	len("Transfer-Encoding"): {
		{"Transfer-Encoding", func(r *agentRequest, _ []byte, _ *apiKeys) { r.transferEncoding = true }},
		{headerTenant, func(r *agentRequest, v []byte, _ *apiKeys) { setFirstText(&r.tenant, v) }},
	},
	len(headerSession): {
		{headerSession, func(r *agentRequest, v []byte, _ *apiKeys) { setFirstText(&r.session, v) }},
	},
	len(headerRetries): {
		{headerRetries, func(r *agentRequest, v []byte, _ *apiKeys) { r.retried = r.retried || (len(v) > 0 && string(v) != "0") }},
	},
}

// setFirst sets a value that is not set yet.
func setFirst(value *[]byte, v []byte) {
	if *value == nil {
		*value = v
	}
}

// setFirstText sets a text that is not set yet.
func setFirstText(text *string, v []byte) {
	if *text == "" {
		*text = string(v)
	}
}

// envelope is the request as it goes upstream if nothing is changed.
func (r *agentRequest) envelope(path string) intercept.Envelope {
	return intercept.Envelope{Method: r.method, Path: path, Query: r.query, Body: r.body}
}

// traceContext reads the trace context of a request. Of two traceparent headers none is
// used; several tracestate headers are one list.
func traceContext(h *fasthttp.RequestHeader) (c trace.Context) {
	var parents, states []string
	for k, v := range h.AllInOrder() {
		switch {
		case is(k, "traceparent"):
			parents = append(parents, string(v))
		case is(k, "tracestate"):
			states = append(states, string(v))
		}
	}
	if len(parents) == 1 {
		c.Parent = parents[0]
	}
	c.State = strings.Join(states, ",")
	return c
}

// is reports whether a header has a name, in any letter case.
func is(k []byte, name string) bool {
	return len(k) == len(name) && strings.EqualFold(string(k), name)
}

// header is the value of the first header with a name, in any letter case. fasthttp's
// Peek compares bytes where names are kept as sent, and many clients send them in lower
// case.
func header(h *fasthttp.RequestHeader, name string) []byte {
	for k, v := range h.All() {
		if is(k, name) {
			return v
		}
	}
	return nil
}

// hasHeader reports whether there is a header with a name, in any letter case.
func hasHeader(h *fasthttp.RequestHeader, name string) bool { return header(h, name) != nil }

// folded reports whether a line of a head's header lines continues the one before it
// (obs-fold, RFC 9112 section 5.2). Servers read such a header in different ways.
func folded(lines []byte) bool {
	for i := 0; i < len(lines); {
		if lines[i] == ' ' || lines[i] == '\t' {
			return true
		}
		n := bytes.IndexByte(lines[i:], '\n')
		if n < 0 {
			return false
		}
		i += n + 1
	}
	return false
}
