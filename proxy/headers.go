package proxy

import (
	"bytes"
	"strings"

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
)

// is reports whether a header has a name, in any letter case.
func is(k []byte, name string) bool {
	return len(k) == len(name) && strings.EqualFold(string(k), name)
}

// header is the value of the first header with a name, in any letter case. It
// stands in for fasthttp's Peek, which compares bytes when names are kept as
// they came: many clients send lower-case names.
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

// framingHeaders are those of a request that say where its body ends and how it is
// to be read.
type framingHeaders struct{ transferEncoding, contentLength, upgrade, contentEncoding bool }

// framingOf looks for them among the lines as they came: what fasthttp has parsed
// lacks some of them.
func framingOf(h *fasthttp.RequestHeader) (has framingHeaders) {
	for k := range h.AllInOrder() {
		switch len(k) { // most names are of another length
		case len("Upgrade"):
			has.upgrade = has.upgrade || is(k, "Upgrade")
		case len("Content-Length"):
			has.contentLength = has.contentLength || is(k, "Content-Length")
		case len("Content-Encoding"):
			has.contentEncoding = has.contentEncoding || is(k, "Content-Encoding")
		case len("Transfer-Encoding"):
			has.transferEncoding = has.transferEncoding || is(k, "Transfer-Encoding")
		}
	}
	return has
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
