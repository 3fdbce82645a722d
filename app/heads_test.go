package app_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// answering is an upstream that answers each request with the same bytes and keeps the
// connection open.
func answering(t *testing.T, answer string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(conn, answer)
			}
		}
	}()
	return "http://" + ln.Addr().String()
}

// TestMalformedHeadsOfAnswers: findings L1 and L2. A head of upstream's that servers read
// in different ways is an error at once, on gated routes and on others.
func TestMalformedHeadsOfAnswers(t *testing.T) {
	t.Parallel()
	good := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-A: one\r\nContent-Length: 2\r\n\r\n{}"
	for name, answer := range map[string]string{
		"bare line feeds":         strings.ReplaceAll(good, "\r\n", "\n"),
		"a bare line feed":        strings.Replace(good, "one\r\n", "one\n", 1),
		"a folded header":         strings.Replace(good, "one\r\n", "one\r\n two-three-four-five\r\n", 1),
		"a header folded by tabs": strings.Replace(good, "one\r\n", "one\r\n\ttwo-three-four-five\r\n", 1),
		"status 099":              strings.Replace(good, "200 OK", "099 OK", 1),
		"after an interim head":   "HTTP/1.1 100 Continue\r\n\r\n" + strings.Replace(good, "one\r\n", "one\r\n two\r\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, allowAll, nil, func(c *app.Config) { c.Proxy.Upstreams = []app.Upstream{{Prefix: "/v1", URL: answering(t, answer)}} })
			for _, request := range []string{rawPost("/v1/chat/completions", wholeRequest, ""), "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"} {
				if got := w.raw(request); !strings.HasPrefix(got, "HTTP/1.1 502") || !strings.Contains(got, "its head is malformed") || strings.Contains(got, "X-A") {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	w := build(t, allowAll, nil, func(c *app.Config) {
		c.Proxy.Upstreams = []app.Upstream{{Prefix: "/v1", URL: answering(t, "HTTP/1.1 100 Continue\r\n\r\n"+good)}}
	})
	if got := w.raw(rawPost("/v1/chat/completions", wholeRequest, "")); !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.Contains(got, "X-A: one\r\n") {
		t.Errorf("a good head became %s", got)
	}
}

// TestFoldedHeadersOfRequests: finding L1. A request with a folded header is refused.
func TestFoldedHeadersOfRequests(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, func(r *fakemodel.Request) fakemodel.Reply { return fakemodel.Answer{Text: "Hi."}.Reply(r) })
	for _, header := range []string{"X-A: one\r\n two-three-four-five\r\n", "X-A: one\r\n\ttwo\r\n", "X-A:\r\n two\r\n"} {
		if got := w.raw(rawPost("/v1/chat/completions", wholeRequest, header)); !strings.HasPrefix(got, "HTTP/1.1 400") || !strings.Contains(got, "folded") {
			t.Errorf("%q: %s", header, got)
		}
	}
	if n := len(w.upstream.Requests()); n != 0 {
		t.Errorf("upstream got %d requests", n)
	}
}

// Java's HTTP client asks for HTTP/2 with its first request to a server, and continues without
// it where the server does not answer that (RFC 9110 section 7.8). Other upgrades are refused.
func TestOfferOfHTTP2IsIgnored(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, refusedOnce)
	for upgrade, want := range map[string]int{"h2c": http.StatusOK, "H2C": http.StatusOK, "websocket": http.StatusNotImplemented, "h2c, websocket": http.StatusNotImplemented} {
		before := len(w.upstream.Requests())
		conn := w.dial()
		request := strings.Replace(rawPost("/v1/chat/completions", wholeRequest, "Upgrade: "+upgrade+"\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"), "Connection: close", "Connection: Upgrade, HTTP2-Settings", 1)
		conn.send(request)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != want || leaks(string(body)) != "" {
			t.Errorf("Upgrade: %s: status %d, %v, %s", upgrade, resp.StatusCode, err, body)
		}
		conn.Close()
		asked := w.upstream.Requests()[before:]
		if (len(asked) > 0) != (want == http.StatusOK) {
			t.Errorf("Upgrade: %s: upstream was asked %d times", upgrade, len(asked))
		}
		for _, r := range asked {
			if r.Get("Upgrade") != "" || r.Get("HTTP2-Settings") != "" || r.Get("Connection") != "" {
				t.Errorf("upstream is offered HTTP/2: %v", r.Header)
			}
		}
	}
}

// A server that declares the coding none has no compression, and its calls are held.
func TestContentEncodingNone(t *testing.T) {
	t.Parallel()
	for encoding, want := range map[string]int{"identity": http.StatusOK, "none": http.StatusOK, "None": http.StatusOK, "gzip": http.StatusBadGateway, "none, gzip": http.StatusBadGateway} {
		w := build(t, denyAll, func(r *fakemodel.Request) fakemodel.Reply {
			reply := refusedOnce(r)
			reply.Header = append(reply.Header, fakemodel.Field{Name: "Content-Encoding", Value: encoding})
			return reply
		})
		c := w.post("/v1/chat/completions", streamedRequest)
		if got := c.rest(); c.resp.StatusCode != want || leaks(got) != "" || strings.Contains(got, "Understood.") != (want == http.StatusOK) {
			t.Errorf("%s: status %d, %s", encoding, c.resp.StatusCode, got)
		}
	}
}
