package upstream

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/valyala/fasthttp"
)

// checkHead finds a fault before the end of the head, however the bytes arrive, and
// leaves a head that is cut off to the parser.
func TestCheckHead(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
	for name, tt := range map[string]struct {
		head string
		err  error
	}{
		"good":                   {ok, nil},
		"folded with a blank":    {"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", errFolded},
		"folded with a tab":      {"HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\n\r\n", errFolded},
		"bare line feed":         {"HTTP/1.1 200 OK\nA: b\n\n", errBareLine},
		"one bare line feed":     {"HTTP/1.1 200 OK\r\nA: b\n\r\n", errBareLine},
		"cut off":                {ok[:len(ok)-3], nil},
		"empty":                  {"", nil},
		"fault in the body":      {ok + " folded\n", nil},
		"larger than the buffer": {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", headLimit) + "\r\n\r\n", nil},
	} {
		for _, size := range []int{1, 7, len(tt.head) + 1} {
			br := bufio.NewReaderSize(&slow{tt.head, size}, headLimit)
			if err := checkHead(br); !errors.Is(err, tt.err) {
				t.Errorf("%s in pieces of %d: %v, want %v", name, size, err, tt.err)
			}
			if MalformedHead(tt.err) != tt.err { //nolint:errorlint // it returns the very fault
				t.Errorf("%s: %v is not a fault of a head", name, tt.err)
			}
		}
	}
	if err := MalformedHead(errNoAnswer); err != nil {
		t.Errorf("no answer at all is the malformed head %v", err)
	}
}

// slow is a reader that returns a text in pieces of at most size bytes.
type slow struct {
	text string
	size int
}

func (s *slow) Read(p []byte) (int, error) {
	n, err := strings.NewReader(s.text).Read(p[:min(len(p), s.size)])
	s.text = s.text[n:]
	return n, err
}

func requestHeader(t *testing.T, lines string) *fasthttp.RequestHeader {
	t.Helper()
	var h fasthttp.RequestHeader
	h.DisableNormalizing()
	if err := h.Read(bufio.NewReader(strings.NewReader(lines + "\r\n"))); err != nil {
		t.Fatal(err)
	}
	return &h
}

// The agent's headers go upstream as they are, but for those of the connection, of
// heldcall, and what heldcall decides itself.
func TestAppendRequestHead(t *testing.T) {
	const line = "POST /x HTTP/1.1\r\nHost: agent.example\r\n"
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	post := intercept.Envelope{Method: "POST", Path: "/chat", Body: []byte("{}")}
	for name, tt := range map[string]struct {
		agent   string
		send    intercept.Envelope
		gated   bool
		key     string
		standIn string
		trace   TraceContext
		want    string
	}{
		"spelling, order and number": {
			agent: line + "x-B: 1\r\nX-a: 2\r\nx-B: 3\r\n", send: post,
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nx-B: 1\r\nX-a: 2\r\nx-B: 3\r\nContent-Length: 2\r\n\r\n",
		},
		"query": {
			agent: line, send: intercept.Envelope{Method: "POST", Path: "/chat", Query: "a=b"},
			want: "POST /base/chat?a=b HTTP/1.1\r\nHost: model.example\r\nContent-Length: 0\r\n\r\n",
		},
		"of the connection": {
			agent: line + "Connection: close, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nExpect: 100-continue\r\n", send: post,
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nContent-Length: 2\r\n\r\n",
		},
		"of heldcall, and for other routers": {
			agent: line + "X-Heldcall-User: eve\r\nx-http-method-override: GET\r\nX-Original-URL: /other\r\n", send: post,
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nContent-Length: 2\r\n\r\n",
		},
		"ungated": {
			agent: line + "Accept-Encoding: gzip\r\nRange: bytes=0-1\r\n", send: post,
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nAccept-Encoding: gzip\r\nRange: bytes=0-1\r\nContent-Length: 2\r\n\r\n",
		},
		"gated": {
			agent: line + "Accept-Encoding: gzip\r\nRange: bytes=0-1\r\n", send: post, gated: true,
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nAccept-Encoding: identity\r\nContent-Length: 2\r\n\r\n",
		},
		"the agent's key without one of its own": {
			agent: line + "Authorization: Bearer agent\r\n", send: post,
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nAuthorization: Bearer agent\r\nContent-Length: 2\r\n\r\n",
		},
		"its own key": {
			agent: line + "Authorization: Bearer agent\r\n", send: post, key: "secret",
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nAuthorization: Bearer secret\r\nContent-Length: 2\r\n\r\n",
		},
		"a stand-in for its own key": {
			agent: line + "authorization: bearer stand-in\r\nX-Api-Key: other\r\n", send: post, key: "secret", standIn: "stand-in",
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nAuthorization: Bearer secret\r\nContent-Length: 2\r\n\r\n",
		},
		"a stand-in in another header": {
			agent: line + "x-api-key: stand-in\r\n", send: post, key: "secret", standIn: "stand-in",
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nx-api-key: secret\r\nContent-Length: 2\r\n\r\n",
		},
		"another key than the stand-in": {
			agent: line + "Authorization: Bearer not-stand-in\r\nX-Other: stand-in\r\n", send: post, key: "secret", standIn: "stand-in",
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nAuthorization: Bearer not-stand-in\r\nX-Other: stand-in\r\nContent-Length: 2\r\n\r\n",
		},
		"no key where there is a stand-in": {
			agent: line, send: post, key: "secret", standIn: "stand-in",
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nContent-Length: 2\r\n\r\n",
		},
		"the agent's trace": {
			agent: line + "traceparent: " + parent + "\r\n", send: post,
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\ntraceparent: " + parent + "\r\nContent-Length: 2\r\n\r\n",
		},
		"its own trace": {
			agent: line + "TraceParent: agent\r\ntracestate: agent=1\r\n", send: post, trace: TraceContext{Parent: parent, State: "a=b"},
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\ntraceparent: " + parent + "\r\ntracestate: a=b\r\nContent-Length: 2\r\n\r\n",
		},
		"a method that the agent did not use": {
			agent: "GET /x HTTP/1.1\r\nHost: agent.example\r\n", send: post,
			want: "POST /base/chat HTTP/1.1\r\nHost: model.example\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n",
		},
		"no body": {
			agent: "GET /x HTTP/1.1\r\nHost: agent.example\r\n", send: intercept.Envelope{Method: "GET", Path: "/models"},
			want: "GET /base/models HTTP/1.1\r\nHost: model.example\r\n\r\n",
		},
	} {
		u, err := New(Config{Prefix: "/v1", URL: "http://model.example/base/", APIKey: tt.key, StandIn: tt.standIn})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(u.appendRequestHead(nil, &Request{Header: requestHeader(t, tt.agent), Envelope: tt.send, Gated: tt.gated, Trace: tt.trace})); got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, tt.want)
		}
	}
}

// The upstream's headers go to the agent, but for those of the connection, those that
// show the key and, on a gated route, those that send the agent elsewhere.
func TestCopyResponseHead(t *testing.T) {
	const key = "sk-secret-0123"
	for name, tt := range map[string]struct {
		head  string
		gated bool
		want  string // Header: value, in order
	}{
		"as they are":          {head: "X-B: 1\r\nx-a: 2\r\nX-B: 3\r\n", want: "X-B: 1|x-a: 2|X-B: 3"},
		"of the connection":    {head: "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-A: 1\r\n", want: "X-A: 1"},
		"heldcall's own":       {head: "X-Heldcall-Turn: fake\r\nX-Heldcall-Other: 1\r\n", want: "X-Heldcall-Other: 1"},
		"the key in a value":   {head: "X-Echo: Bearer " + key + "\r\n", want: "X-Echo: Bearer " + redacted},
		"the key in a name":    {head: "X-" + key + ": 1\r\nX-A: 1\r\n", want: "X-A: 1"},
		"elsewhere, ungated":   {head: "Location: https://other.example\r\n", want: "Location: https://other.example"},
		"elsewhere, gated":     {head: "Location: https://other.example\r\nAlt-Svc: h3\r\nRefresh: 1\r\n", gated: true},
		"another host, gated":  {head: "Location: //other.example\r\nContent-Location: /\\other.example\r\n", gated: true},
		"the same host, gated": {head: "Location: /v1/x\r\n", gated: true, want: "Location: /v1/x"},
		"operations, gated":    {head: "Operation-Location: https://other.example/op\r\n", gated: true},
		"an empty value":       {head: "X-Empty:\r\n", want: "X-Empty: "},
	} {
		u, err := New(Config{Prefix: "/v1", URL: "http://model.example", APIKey: key})
		if err != nil {
			t.Fatal(err)
		}
		var from, to fasthttp.ResponseHeader
		from.DisableNormalizing()
		to.DisableNormalizing()
		to.SetNoDefaultContentType(true)
		from.SetNoDefaultContentType(true)
		if err := from.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 418 Teapot of " + key + "\r\nContent-Length: 0\r\n" + tt.head + "\r\n"))); err != nil {
			t.Fatal(err)
		}
		u.CopyResponseHead(&to, &from, tt.gated)
		var got []string
		for k, v := range to.All() {
			if !is(k, "Content-Length") {
				got = append(got, string(k)+": "+string(v))
			}
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		if to.StatusCode() != 418 || string(to.StatusMessage()) != "Teapot of "+redacted {
			t.Errorf("%s: status %d %s", name, to.StatusCode(), to.StatusMessage())
		}
	}
}
