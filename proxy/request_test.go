package proxy

import (
	"bufio"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/proxy/trace"
	"github.com/valyala/fasthttp"
)

// parsed is a request with these header lines, as the server reads it.
func parsed(t *testing.T, lines ...string) *fasthttp.Request {
	t.Helper()
	var req fasthttp.Request
	req.Header.DisableNormalizing()
	text := "POST /v1/x?a=b HTTP/1.1\r\nHost: x\r\n"
	for _, line := range lines {
		text += line + "\r\n"
	}
	if err := req.Read(bufio.NewReader(strings.NewReader(text + "Content-Length: 2\r\n\r\n{}"))); err != nil {
		t.Fatal(err)
	}
	return &req
}

// read reads such a request.
func read(t *testing.T, lines ...string) *agentRequest {
	t.Helper()
	var r agentRequest
	r.read(parsed(t, lines...))
	return &r
}

func TestReadRequest(t *testing.T) {
	r := read(t, "x-heldcall-session: s1", "X-Heldcall-Session: s2", "X-HELDCALL-RUN: r1", "Idempotency-Key: k", "User-Agent: SDK/1")
	if r.method != "POST" || r.path != "/v1/x" || r.query != "a=b" || string(r.body) != "{}" || !r.isHTTP11 || string(r.userAgent) != "SDK/1" {
		t.Errorf("read %+v", r)
	}
	for id, want := range map[headerID]string{idSession: "s1", idRun: "r1", idIdempotency: "k", idUser: "", idTenant: ""} {
		if got := r.text(id); got != want {
			t.Errorf("header %d is %q, want %q", id, got, want)
		}
	}
	if !r.has(idContentLength) || r.has(idTransferEncoding) || r.has(idUpgrade) {
		t.Error("the framing is read wrongly")
	}
}

// Every header of the table is found by the length of its name, in any letter case.
func TestEveryHeaderIsRead(t *testing.T) {
	seen := make(map[headerID]bool)
	for length, row := range headers {
		for _, h := range row {
			if len(h.name) != length || seen[h.id] {
				t.Errorf("%s is in row %d", h.name, length)
			}
			seen[h.id] = true
			var r agentRequest
			r.readHeader([]byte(strings.ToUpper(h.name)), nil)
			if !r.has(h.id) {
				t.Errorf("%s without a value is not read", h.name)
			}
		}
	}
	if len(seen) != int(headerIDs) {
		t.Errorf("%d of %d headers are in the table", len(seen), headerIDs)
	}
}

func TestAPIKey(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{nil, ""},
		{[]string{"Authorization: Bearer sk-1"}, "sk-1"},
		{[]string{"authorization: bearer  sk-1 "}, "sk-1"},
		{[]string{"Authorization: Basic sk-1"}, ""},
		{[]string{"Authorization: Bearer "}, ""},
		{[]string{"X-Api-Key: sk-2"}, "sk-2"},
		{[]string{"api-key: sk-3"}, "sk-3"},
		{[]string{"Api-Key: sk-3", "X-Api-Key: sk-2"}, "sk-2"},
		{[]string{"Api-Key: sk-3", "Authorization: Bearer sk-1"}, "sk-1"},
	} {
		if got := string(read(t, tt.lines...).apiKey()); got != tt.want {
			t.Errorf("%q: %q", tt.lines, got)
		}
	}
}

func TestRetriedAndCharset(t *testing.T) {
	for _, tt := range []struct {
		line         string
		retried      bool
		otherCharset bool
	}{
		{"X-Stainless-Retry-Count: 0", false, false},
		{"x-stainless-retry-count: 2", true, false},
		{"Content-Type: application/json; charset=utf-8", false, false},
		{"Content-Type: application/json; charset=utf-16", false, true},
	} {
		if r := read(t, tt.line); r.retried() != tt.retried || r.otherCharset != tt.otherCharset {
			t.Errorf("%s: retried %t, other charset %t", tt.line, r.retried(), r.otherCharset)
		}
	}
	if r := read(t, "Content-Type: application/json", "content-type: text/x; charset=utf-7"); !r.otherCharset {
		t.Error("a second label is not read")
	}
}

// A request is read without an allocation for its headers.
func TestReadingAllocatesLittle(t *testing.T) {
	req := parsed(t, "Authorization: Bearer sk-1", "X-Stainless-Retry-Count: 0", "Content-Type: application/json", "X-Other: 1")
	var r agentRequest
	if n := testing.AllocsPerRun(100, func() { r = agentRequest{}; r.read(req) }); n > 3 { // method, path and query
		t.Errorf("%v allocations", n)
	}
}

func TestTraceContext(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  trace.Context
	}{
		{nil, trace.Context{}},
		{[]string{"traceparent: p", "tracestate: a=1", "Tracestate: b=2"}, trace.Context{Parent: "p", State: "a=1,b=2"}},
		{[]string{"traceparent: p", "Traceparent: q"}, trace.Context{}},
	} {
		if got := traceContext(&parsed(t, tt.lines...).Header); got != tt.want {
			t.Errorf("%q: %+v", tt.lines, got)
		}
	}
}

// Who the agent acts for: its client, or what trusted headers name.
func TestPrincipal(t *testing.T) {
	const digest = "d3c24a36fe3cee0c00a2d2ae26e4c7d4cb7e0b1d5b7f8ff5a3b6c7a0a0f2b1c3" // of no key
	known := approvals.Principal{Tenant: "acme", User: "u", Agent: "a"}
	named := []string{"X-Heldcall-User: v", "X-Heldcall-Tenant: other"}
	for name, tt := range map[string]struct {
		client string
		trust  bool
		lines  []string
		want   approvals.Principal
	}{
		"unknown":                      {want: approvals.Principal{Tenant: DefaultTenant}},
		"a client":                     {client: digest, want: known},
		"headers":                      {lines: named, want: approvals.Principal{Tenant: DefaultTenant}},
		"trusted headers":              {trust: true, lines: named, want: approvals.Principal{Tenant: "other", User: "v"}},
		"trusted headers and a client": {client: digest, trust: true, lines: named, want: approvals.Principal{Tenant: "other", User: "v", Agent: "a"}},
	} {
		p := &Proxy{}
		p.options.TrustHeaders = tt.trust
		if got := p.principal(newClients([]Client{{KeySHA256: digest, Principal: known}}, nil), tt.client, read(t, tt.lines...)); !cmp.Equal(got, tt.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A client is known by the digest of its key alone.
func TestClient(t *testing.T) {
	const digest = "c775e7b757ede630cd0aa1113bd102661ab38829ca52a6422ab782862f268646" // of 1234567890
	p := &Proxy{}
	p.clients.Store(newClients([]Client{{KeySHA256: digest}}, nil))
	for line, want := range map[string]string{"Authorization: Bearer 1234567890": digest, "X-Api-Key: 1234567890": digest, "X-Api-Key: 123": "", "X-Other: 1234567890": ""} {
		if got, _, refusal := p.identify(read(t, line), &fasthttp.RequestHeader{}); got != want || refusal != nil {
			t.Errorf("%s: %q, %v", line, got, refusal)
		}
	}
}
