package proxy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/mask"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/heldcall/heldcall/proxy/exchange"
	"github.com/heldcall/heldcall/proxy/trace"
	"github.com/heldcall/heldcall/proxy/upstream"
	"github.com/valyala/fasthttp"
)

// Headers that heldcall reads from agents and strips.
const (
	headerSession = "X-Heldcall-Session"
	headerRun     = conversation.HeaderRun
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
	// headerTimeout and headerReadTimeout have after how many seconds an SDK of OpenAI or
	// Anthropic gives up.
	headerTimeout     = "X-Stainless-Timeout"
	headerReadTimeout = "X-Stainless-Read-Timeout"
	// headerClientRequest names a request; pi names its session by it.
	headerClientRequest = "X-Client-Request-Id"
	// headerProtocols has the key of a web page's WebSocket, which can set no other header.
	headerProtocols = "Sec-WebSocket-Protocol"
	// headerChatGPT names the account of a login for ChatGPT.
	headerChatGPT = "ChatGPT-Account-ID"
)

// headers are the headers that are read, by the length of their names: most header lines
// have a length that none of them has.
var headers = [...][]struct {
	name string
	id   headerID
}{
	7:  {{"Api-Key", idAPIKey}, {"Upgrade", idUpgrade}},
	9:  {{"X-Api-Key", idXAPIKey}},
	12: {{"Content-Type", idContentType}},
	13: {{"Authorization", idAuthorization}},
	14: {{"Content-Length", idContentLength}, {headerRun, idRun}},
	15: {{headerUser, idUser}, {headerIdempotency, idIdempotency}},
	16: {{"Content-Encoding", idContentEncoding}, {headerAgent, idAgent}},
	17: {{"Transfer-Encoding", idTransferEncoding}, {headerTenant, idTenant}},
	18: {{headerSession, idSession}, {headerChatGPT, idChatGPT}},
	19: {{headerTimeout, idTimeout}, {headerClientRequest, idClientRequest}},
	22: {{headerProtocols, idProtocols}},
	23: {{headerRetries, idRetries}},
	24: {{headerReadTimeout, idReadTimeout}},
}

type headerID int

const (
	idAPIKey headerID = iota
	idXAPIKey
	idAuthorization
	idUpgrade
	idContentType
	idContentLength
	idContentEncoding
	idTransferEncoding
	idSession
	idRun
	idUser
	idAgent
	idTenant
	idIdempotency
	idRetries
	idTimeout
	idReadTimeout
	idClientRequest
	idProtocols
	idChatGPT
	headerIDs
)

// agentRequest is what heldcall reads of an agent's request. Bytes alias the request's
// memory.
type agentRequest struct {
	method    string
	path      string // as sent
	query     string
	body      []byte
	userAgent []byte
	values    [headerIDs][]byte // of the first header with the name, nil for none

	isHTTP11     bool
	folded       bool // a header is folded over several lines
	otherCharset bool // a Content-Type names a character set that is not like ASCII
	decoded      bool // the body is without the codings of Content-Encoding

	masker *mask.Masker // that masked the body; nil: there are no secrets
}

// read reads a request once, in one pass over its header lines: what fasthttp has
// parsed lacks some of them.
func (r *agentRequest) read(req *fasthttp.Request) {
	h := &req.Header
	r.folded = folded(h.RawHeaders()) // before anything reads them: fasthttp joins folded lines in place
	r.isHTTP11 = bytes.Equal(h.Protocol(), []byte("HTTP/1.1"))
	r.method, r.path, r.query = string(h.Method()), string(req.URI().PathOriginal()), string(req.URI().QueryString())
	r.body, r.userAgent = req.Body(), h.UserAgent()
	for k, v := range h.AllInOrder() {
		r.readHeader(k, v)
	}
}

// readHeader reads one header line.
func (r *agentRequest) readHeader(k, v []byte) {
	if len(k) >= len(headers) {
		return
	}
	for _, h := range headers[len(k)] {
		if !is(k, h.name) {
			continue
		}
		if r.values[h.id] == nil {
			r.values[h.id] = v
			if v == nil {
				r.values[h.id] = []byte{}
			}
		}
		if h.id == idContentType {
			r.otherCharset = r.otherCharset || !exchange.ASCIICompatible(v)
		}
	}
}

func (r *agentRequest) has(id headerID) bool    { return r.values[id] != nil }
func (r *agentRequest) text(id headerID) string { return string(r.values[id]) }

// contentEncodings are the values of all headers Content-Encoding, in their order.
func (r *agentRequest) contentEncodings(h *fasthttp.RequestHeader) (values [][]byte) {
	for k, v := range h.AllInOrder() {
		if is(k, fasthttp.HeaderContentEncoding) {
			values = append(values, v)
		}
	}
	return values
}

// apiKey is the agent's key: a bearer token, else that of another header. It is nil if
// the agent sent none.
func (r *agentRequest) apiKey() []byte {
	if token := r.bearer(); len(token) > 0 {
		return token
	}
	for _, id := range []headerID{idXAPIKey, idAPIKey} {
		if len(r.values[id]) > 0 {
			return r.values[id]
		}
	}
	return socketKey(r.values[idProtocols])
}

// socketKey is the key in a list of protocols of a WebSocket, nil for none.
func socketKey(protocols []byte) []byte {
	for member := range bytes.SplitSeq(protocols, []byte(",")) {
		if key, found := bytes.CutPrefix(bytes.TrimSpace(member), []byte(upstream.KeyProtocol)); found && len(key) > 0 {
			return key
		}
	}
	return nil
}

// bearer is the token in Authorization, empty if there is none.
func (r *agentRequest) bearer() []byte {
	const scheme = "bearer "
	if a := r.values[idAuthorization]; len(a) > len(scheme) && strings.EqualFold(string(a[:len(scheme)]), scheme) {
		return bytes.TrimSpace(a[len(scheme):])
	}
	return nil
}

// hasChatGPT reports whether the request has a login for ChatGPT in place of an API key, as Codex sends it: with the header
// of the account, or with a token that OpenAI issued for one.
func (r *agentRequest) hasChatGPT() bool {
	token := r.bearer()
	if r.has(idChatGPT) && len(r.values[idAuthorization]) > 0 {
		return !bytes.HasPrefix(token, []byte("sk-")) // an API key or its stand-in
	}
	return isChatGPT(token)
}

// isChatGPT reports whether a token is a JWT with OpenAI's claim about an account.
func isChatGPT(token []byte) bool {
	parts := bytes.Split(token, []byte("."))
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(string(parts[1]))
	var claims struct {
		Account json.RawMessage `json:"https://api.openai.com/auth"`
	}
	return err == nil && json.Unmarshal(payload, &claims) == nil && claims.Account != nil
}

// retried reports whether the client declares that it has sent the request before.
func (r *agentRequest) retried() bool {
	retries := r.values[idRetries]
	return len(retries) > 0 && string(retries) != "0"
}

// patience is how long the client waits for its answer, as far as it declares it; 0 for
// not.
func (r *agentRequest) patience() (least time.Duration) {
	for _, id := range []headerID{idTimeout, idReadTimeout} {
		if !r.has(id) {
			continue
		}
		seconds, err := strconv.ParseFloat(r.text(id), 64)
		if d := time.Duration(seconds * float64(time.Second)); err == nil && d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// upgrades reports whether the agent asks to leave HTTP/1.1. Java's HTTP client offers HTTP/2
// with its first request to a server, which may ignore that (RFC 9110 section 7.8).
func (r *agentRequest) upgrades() bool {
	return r.has(idUpgrade) && !strings.EqualFold(r.text(idUpgrade), "h2c")
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
