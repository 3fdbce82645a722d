package app_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// fromPage sends a request with headers as a browser may send it, and returns the whole answer. A name of
// the address in the Host header keeps its port away.
func (w *world) fromPage(method, path, host, body string, headers ...string) string {
	w.t.Helper()
	lines := ""
	for i := 0; i+1 < len(headers); i += 2 {
		lines += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	if body != "" {
		lines += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	return w.raw(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n%s", method, path, host, lines, body))
}

// listing answers each request with an empty list.
func listing(*fakemodel.Request) fakemodel.Reply {
	return fakemodel.Whole(http.StatusOK, []byte(`{"object":"list","choices":[]}`))
}

// Finding P1: a page of any site, or one under a name that was bound to loopback, used the model with
// heldcall's key. No route of the port serves it, and upstream is not asked.
func TestWebPagesAreRefused(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, listing, func(c *app.Config) {
		c.Proxy.Upstreams[0].APIKey = "sk-heldcall-has-it"
		c.Proxy.Origins = []string{"https://App.example:443", "app://obsidian.md"}
		c.Proxy.Hosts = []string{"host.docker.internal"}
		c.Proxy.Routes.Allow = []string{"/v1/mine/**"}
	})
	const post, page = `{"model":"m","messages":[]}`, "https://evil.example"
	large := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 100<<10) + `"}]}`
	host, port, _ := net.SplitHostPort(w.app.ProxyAddr())
	own := net.JoinHostPort(host, port)
	for name, tt := range map[string]struct {
		method, path, host, body, code string
		headers                        []string
	}{
		"cross-site text/plain":      {"POST", "/v1/chat/completions", own, post, "foreign_origin", []string{"Origin", page, "Content-Type", "text/plain", "Sec-Fetch-Site", "cross-site"}},
		"a large body":               {"POST", "/v1/chat/completions", own, large, "foreign_origin", []string{"Origin", page, "Content-Type", "text/plain"}},
		"Messages":                   {"POST", "/v1/messages", own, post, "foreign_origin", []string{"origin", page, "anthropic-version", "2023-06-01"}},
		"Responses":                  {"POST", "/v1/responses", own, post, "foreign_origin", []string{"ORIGIN", page}},
		"an old browser":             {"POST", "/v1/chat/completions", own, post, "foreign_origin", []string{"Origin", page}},
		"a sandboxed frame":          {"POST", "/v1/chat/completions", own, post, "foreign_origin", []string{"Origin", "null"}},
		"another port":               {"POST", "/v1/chat/completions", own, post, "foreign_origin", []string{"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"}},
		"the port's own origin":      {"POST", "/v1/chat/completions", own, post, "foreign_origin", []string{"Origin", "http://" + own, "Sec-Fetch-Site", "same-origin"}},
		"another scheme":             {"POST", "/v1/chat/completions", own, post, "foreign_origin", []string{"Origin", "http://app.example"}},
		"a longer origin":            {"POST", "/v1/chat/completions", own, post, "foreign_origin", []string{"Origin", "https://app.example.evil.example"}},
		"a list of origins":          {"POST", "/v1/chat/completions", own, post, "foreign_origin", []string{"Origin", "https://app.example https://evil.example"}},
		"several origins":            {"POST", "/v1/chat/completions", own, post, "foreign_origin", []string{"Origin", "https://app.example", "Origin", page}},
		"several origins, reversed":  {"POST", "/v1/chat/completions", own, post, "foreign_origin", []string{"Origin", page, "Origin", "https://app.example"}},
		"an image":                   {"GET", "/v1/models", own, "", "foreign_origin", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}},
		"of the same site":           {"GET", "/v1/models", own, "", "foreign_origin", []string{"sec-fetch-site", "same-site"}},
		"of a site that is unknown":  {"GET", "/v1/models", own, "", "foreign_origin", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Site", "neighbouring"}},
		"a WebSocket":                {"GET", "/v1/responses", own, "", "foreign_origin", []string{"Origin", page, "Upgrade", "websocket"}},
		"an allowed route":           {"POST", "/v1/mine/x", own, post, "foreign_origin", []string{"Origin", page}},
		"a route that nobody has":    {"GET", "/healthz", own, "", "foreign_origin", []string{"Origin", page}},
		"a preflight":                {"OPTIONS", "/v1/chat/completions", own, "", "foreign_origin", []string{"Origin", page, "Access-Control-Request-Method", "POST"}},
		"a preflight, allowed route": {"OPTIONS", "/v1/mine/x", own, "", "foreign_origin", []string{"Origin", page, "Access-Control-Request-Method", "POST"}},
		"OPTIONS of a program":       {"OPTIONS", "/v1/chat/completions", own, "", "foreign_origin", nil},
		"a rebound name, absolute":   {"POST", "http://evil.example/v1/chat/completions", own, post, "foreign_host", nil},
		"a rebound name, its port":   {"GET", "http://evil.example:" + port + "?/v1/models", own, "", "foreign_host", nil},
		"no port":                    {"GET", "/v1/models", "localhost:80@evil.example", "", "foreign_host", nil},
		"a long s":                   {"GET", "/v1/models", "localho\u017ft", "", "foreign_host", nil},
		"a rebound name":             {"POST", "/v1/chat/completions", "evil.example:" + port, post, "foreign_host", []string{"Sec-Fetch-Site", "same-origin"}},
		"a rebound name, large":      {"POST", "/v1/chat/completions", "evil.example:" + port, large, "foreign_host", nil},
		"a rebound name, ungated":    {"GET", "/v1/models", "evil.example", "", "foreign_host", nil},
		"a rebound name, allowed":    {"POST", "/v1/mine/x", "evil.example", post, "foreign_host", []string{"Origin", "https://app.example"}},
		"a name with an address":     {"GET", "/v1/models", "127.0.0.1.evil.example", "", "foreign_host", nil},
		"below localhost":            {"GET", "/v1/models", "evil.localhost", "", "foreign_host", nil},
		"any address":                {"GET", "/v1/models", "0.0.0.0:" + port, "", "foreign_host", nil},
		"below a configured name":    {"GET", "/v1/models", "evil.host.docker.internal", "", "foreign_host", nil},
		"another preflight's host":   {"OPTIONS", "/v1/models", "evil.example", "", "foreign_host", []string{"Origin", "https://app.example"}},
	} {
		got := w.fromPage(tt.method, tt.path, tt.host, tt.body, tt.headers...)
		if !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, `"code":"`+tt.code+`"`) || !strings.Contains(got, "proxy.") {
			t.Errorf("%s: %s", name, got)
		}
		if !strings.Contains(got, "\r\nX-Heldcall-Turn: ") {
			t.Errorf("%s: a heldcall run would take the port for a model's: %s", name, got)
		}
		if strings.Contains(got, "Access-Control-") && !strings.Contains(got, "Access-Control-Allow-Origin: https://app.example") {
			t.Errorf("%s: a page may read %s", name, got)
		}
	}
	if n := len(w.upstream.Requests()); n != 0 {
		t.Errorf("upstream was asked %d times", n)
	}
	if got := w.fromPage("POST", "/v1/messages", own, post, "Origin", page, "anthropic-version", "2023-06-01"); !strings.Contains(got, `{"type":"error","error":{"type":"permission_error"`) {
		t.Errorf("a client of Messages gets %s", got)
	}
}

// Programs that are no browsers pass, and so do the names of loopback and those that are configured.
func TestProgramsPass(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, listing, func(c *app.Config) { c.Proxy.Hosts = []string{"Host.docker.internal", "box.lan"} })
	_, port, _ := net.SplitHostPort(w.app.ProxyAddr())
	for i, tt := range []struct {
		host    string
		headers []string
	}{
		{"127.0.0.1:" + port, nil},
		{"127.0.0.1:" + port, []string{"Sec-Fetch-Mode", "cors", "Accept-Language", "*"}}, // fetch of Node
		{"127.0.0.1:" + port, []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}},
		{"127.0.0.1:" + port, []string{"Origin", ""}},
		{"127.9.9.9", nil},
		{"LocalHost:" + port, nil},
		{"localhost.", nil},
		{"localhost.:" + port, nil},
		{"[::1]:" + port, nil},
		{"[::1]", nil},
		{"host.docker.internal:" + port, nil},
		{"BOX.lan.:1", nil},
	} {
		if got := w.fromPage("GET", "/v1/models", tt.host, "", tt.headers...); !strings.HasPrefix(got, "HTTP/1.1 200 ") || strings.Contains(got, "Access-Control-") {
			t.Errorf("%s, %q: %s", tt.host, tt.headers, got)
		}
		if n := len(w.upstream.Requests()); n != i+1 {
			t.Errorf("%s, %q: upstream was asked %d times", tt.host, tt.headers, n)
		}
	}
}

// A port on an address that other machines reach has any name, and no page of another origin.
func TestNamesOfOtherAddresses(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, listing, func(c *app.Config) { c.Proxy.Listen = "0.0.0.0:0" })
	if got := w.fromPage("GET", "/v1/models", "heldcall.example", ""); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Error(got)
	}
	if got := w.fromPage("GET", "/v1/models", "heldcall.example", "", "Origin", "http://heldcall.example"); !strings.Contains(got, "foreign_origin") {
		t.Error(got)
	}
}

// An SDK in a page of a configured origin works: its browser gets the headers of CORS once, and the upstream's own
// permissions are not beside heldcall's.
func TestPagesOfConfiguredOrigins(t *testing.T) {
	t.Parallel()
	w := build(t, allowAll, func(r *fakemodel.Request) fakemodel.Reply {
		reply := listing(r)
		reply.Header = append(reply.Header, fakemodel.Field{Name: "access-control-allow-origin", Value: "*"}, fakemodel.Field{Name: "Access-Control-Allow-Credentials", Value: "true"})
		return reply
	}, func(c *app.Config) { c.Proxy.Origins = []string{"https://App.example:443", "vscode-file://vscode-app"} })
	const origin = "https://app.example"
	preflight := w.fromPage("OPTIONS", "/v1/chat/completions", "localhost", "", "Origin", origin, "Sec-Fetch-Site", "cross-site",
		"Access-Control-Request-Method", "POST", "access-control-request-headers", "authorization,content-type,x-stainless-lang", "Access-Control-Request-Private-Network", "true")
	for _, want := range []string{
		"HTTP/1.1 204 ", "\r\nAccess-Control-Allow-Origin: " + origin + "\r\n", "\r\nAccess-Control-Allow-Methods: GET, HEAD, POST, DELETE\r\n",
		"\r\nAccess-Control-Allow-Headers: authorization,content-type,x-stainless-lang\r\n", "\r\nAccess-Control-Allow-Private-Network: true\r\n", "\r\nVary: Origin\r\n",
	} {
		if !strings.Contains(preflight, want) {
			t.Errorf("no %q in %s", want, preflight)
		}
	}
	if n := len(w.upstream.Requests()); n != 0 {
		t.Errorf("upstream was asked %d times", n)
	}
	for _, page := range []string{origin, "vscode-file://vscode-app"} {
		for _, r := range []struct{ method, path, body, status string }{
			{"GET", "/v1/models", "", "200"},
			{"POST", "/v1/chat/completions", `{"model":"m","messages":[]}`, "200"},
			{"POST", "/v1/chat/completions", `{`, "400"}, // the page reads why
			{"POST", "/v1/nowhere", `{}`, "501"},
		} {
			got := w.fromPage(r.method, r.path, "localhost", r.body, "Origin", page, "Sec-Fetch-Site", "cross-site")
			if !strings.HasPrefix(got, "HTTP/1.1 "+r.status) || !strings.Contains(got, "\r\nAccess-Control-Allow-Origin: "+page+"\r\n") ||
				strings.Count(strings.ToLower(got), "access-control-allow-origin") != 1 || strings.Contains(got, "Credentials") || !strings.Contains(got, "\r\nAccess-Control-Expose-Headers: *\r\n") {
				t.Errorf("%s %s of %s: %s", r.method, r.path, page, got)
			}
		}
	}
}
