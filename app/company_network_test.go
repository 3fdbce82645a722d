package app_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/fakeproxy"
)

// company is a network with an authority of its own, and a model with TLS.
type company struct {
	t         *testing.T
	authority *fakeproxy.Authority
	folder    string
	model     *fakemodel.Server
}

// newCompany makes a network. The model has a certificate for 127.0.0.1 and model.example. Change may change how its TLS is
// configured.
func newCompany(t *testing.T, change ...func(*company, *tls.Config)) *company {
	t.Helper()
	c := &company{t: t, folder: t.TempDir()}
	var err error
	if c.authority, err = fakeproxy.NewAuthority(); err != nil {
		t.Fatal(err)
	}
	c.file("ca.pem", c.authority.PEM())
	config := &tls.Config{Certificates: []tls.Certificate{c.issue(time.Hour, "127.0.0.1", "model.example")}}
	for _, f := range change {
		f(c, config)
	}
	if c.model, err = fakemodel.NewTLS(callThenText, config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.model.Close)
	return c
}

func (c *company) issue(valid time.Duration, names ...string) tls.Certificate {
	c.t.Helper()
	cert, err := c.authority.Issue(valid, names...)
	if err != nil {
		c.t.Fatal(err)
	}
	return cert
}

// file writes a file and returns its name.
func (c *company) file(name string, content []byte) string {
	c.t.Helper()
	name = filepath.Join(c.folder, name)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return name
}

func (c *company) proxy(o fakeproxy.Options) *fakeproxy.Proxy {
	c.t.Helper()
	p, err := fakeproxy.Start(o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(p.Close)
	return p
}

// serve starts a heldcall with the model as its upstream.
func (c *company) serve(change func(*app.Upstream)) *world {
	c.t.Helper()
	return build(c.t, askAll, callThenText, func(config *app.Config) {
		u := &config.Proxy.Upstreams[0]
		u.URL, u.CA = c.model.URL(), filepath.Join(c.folder, "ca.pem")
		change(u)
	}, silent)
}

// works checks that a held call is released, and that the connection to the model is used again.
func (c *company) works(w *world) {
	t := c.t
	t.Helper()
	held := w.post("/v1/chat/completions", streamedRequest)
	w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionApprove})
	if got := held.rest(); !strings.Contains(got, "opensesame") {
		t.Errorf("the released answer is %s", got)
	}
	const next = `{"model":"m","stream":true,"messages":[{"role":"user","content":"do it"},{"role":"assistant","tool_calls":[{"id":"call_sesame","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls -la /opensesame\"}"}}]},{"role":"tool","tool_call_id":"call_sesame","content":"ok"}]}`
	if got := w.post("/v1/chat/completions", next).rest(); !strings.Contains(got, "Understood.") {
		t.Errorf("the next answer is %s", got)
	}
	if opened, _ := c.model.Connections(); opened != 1 {
		t.Errorf("%d connections for two requests", opened)
	}
}

// fails checks that the error for the agent has a text, that neither it nor the log has the secret, and that nothing has
// reached the model.
func (c *company) fails(w *world, secret string, texts ...string) {
	t := c.t
	t.Helper()
	agent := w.post("/v1/chat/completions", streamedRequest)
	got := agent.rest()
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("no %q in %s", text, got)
		}
	}
	if agent.resp.StatusCode != http.StatusBadGateway || errorCode(got) != "upstream_unreachable" {
		t.Errorf("status %d: %s", agent.resp.StatusCode, got)
	}
	if secret != "" && strings.Contains(got+w.log.String(), secret) {
		t.Errorf("the secret is in the answer %s, or in the log\n%s", got, w.log.String())
	}
	if n := len(c.model.Requests()) + len(w.upstream.Requests()); n > 0 {
		t.Errorf("%d requests reached a model", n)
	}
}

// Calls are held, and connections used again, through every kind of proxy.
func TestUpstreamThroughAProxy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		scheme, user string
		options      fakeproxy.Options
	}{
		"http":                        {scheme: "http"},
		"http with credentials":       {scheme: "http", user: "ann:p%40ss@", options: fakeproxy.Options{User: "ann", Password: "p@ss"}},
		"https":                       {scheme: "https"},
		"https with credentials":      {scheme: "https", user: "ann:word@", options: fakeproxy.Options{User: "ann", Password: "word"}},
		"socks5":                      {scheme: "socks5"},
		"socks5 with credentials":     {scheme: "socks5", user: "ann:word@", options: fakeproxy.Options{User: "ann", Password: "word"}},
		"socks5h, which is the same":  {scheme: "socks5h"},
		"a name only the proxy knows": {scheme: "http", options: fakeproxy.Options{Target: "model"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			if tt.scheme == "https" {
				tt.options.TLS = &tls.Config{Certificates: []tls.Certificate{c.issue(time.Hour, "127.0.0.1")}}
			}
			addr := c.model.Addr()
			if tt.options.Target != "" {
				addr, tt.options.Target = "model.example:443", addr
			}
			p := c.proxy(tt.options)
			w := c.serve(func(u *app.Upstream) {
				u.Proxy = app.Secret(tt.scheme + "://" + tt.user + p.Addr())
				if tt.options.Target != "" {
					u.URL = "https://model.example/v1"
				}
			})
			c.works(w)
			if asked := p.Asked(); !slices.Equal(asked, []string{addr}) {
				t.Errorf("the proxy was asked for %q, want %s once", asked, addr)
			}
		})
	}
}

// An upstream without TLS is reached by CONNECT too, and gets nothing of the credentials.
func TestPlainUpstreamThroughAProxy(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for _, scheme := range []string{"http", "https", "socks5"} {
		options := fakeproxy.Options{User: "ann", Password: "word"}
		if scheme == "https" {
			options.TLS = &tls.Config{Certificates: []tls.Certificate{c.issue(time.Hour, "127.0.0.1")}}
		}
		p := c.proxy(options)
		w := build(t, allowAll, callThenText, func(config *app.Config) {
			config.Proxy.Upstreams[0].Proxy, config.Proxy.Upstreams[0].CA = app.Secret(scheme+"://ann:word@"+p.Addr()), filepath.Join(c.folder, "ca.pem")
		})
		for range 2 {
			if got := w.post("/v1/chat/completions", streamedRequest).rest(); !strings.Contains(got, "opensesame") {
				t.Errorf("%s: got %s", scheme, got)
			}
		}
		if opened, _ := w.upstream.Connections(); opened != 1 || len(p.Asked()) != 1 {
			t.Errorf("%s: %d connections, the proxy was asked for %q", scheme, opened, p.Asked())
		}
		if sent := w.upstream.Requests()[0]; sent.Values("Proxy-Authorization") != nil {
			t.Errorf("%s: the upstream got the credentials", scheme)
		}
	}
}

// The proxy of the environment counts where no key has another, and loopback is reached without it.
func TestProxyOfTheEnvironment(t *testing.T) {
	c := newCompany(t)
	p := c.proxy(fakeproxy.Options{User: "ann", Password: "word", Target: c.model.Addr()})
	t.Setenv("HTTPS_PROXY", "http://ann:word@"+p.Addr())
	t.Setenv("NO_PROXY", "other.example")
	c.works(c.serve(func(u *app.Upstream) { u.URL = "https://model.example/v1" }))
	if asked := p.Asked(); !slices.Equal(asked, []string{"model.example:443"}) {
		t.Errorf("the proxy was asked for %q", asked)
	}
	for name, setting := range map[string]app.Secret{"loopback": "", "none": "none"} {
		c := newCompany(t)
		if c.works(c.serve(func(u *app.Upstream) { u.Proxy = setting })); len(p.Asked()) != 1 {
			t.Errorf("%s: the proxy was asked for %q", name, p.Asked())
		}
	}
}

// A proxy that fails is an error which names the cause. The model, which could be reached directly, is not.
func TestFailingProxyFailsClosed(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	greeter := notHTTP(t)
	for name, tt := range map[string]struct {
		url     func(addr string) string
		options fakeproxy.Options
		want    string
	}{
		"no credentials":      {func(a string) string { return "http://" + a }, fakeproxy.Options{User: "ann", Password: "word"}, "the proxy needs a user and a password (407)"},
		"wrong credentials":   {func(a string) string { return "http://ann:s3cret@" + a }, fakeproxy.Options{User: "ann", Password: "word"}, "the proxy refused the user or the password (407)"},
		"not permitted":       {func(a string) string { return "http://:s3cret@" + a }, fakeproxy.Options{Password: "s3cret", Refuse: 403}, "(403)"},
		"another status":      {func(a string) string { return "http://" + a }, fakeproxy.Options{Refuse: 502}, "(status 502)"},
		"it does not run":     {func(string) string { return "http://ann:s3cret@" + closed.Addr().String() }, fakeproxy.Options{}, "the proxy refused the connection"},
		"unknown authority":   {func(a string) string { return "https://ann:s3cret@" + a }, fakeproxy.Options{TLS: new(tls.Config)}, "the certificate of the proxy is from an authority that is not known here"},
		"no TLS":              {func(string) string { return "https://ann:s3cret@" + greeter }, fakeproxy.Options{}, "the proxy does not answer with TLS"},
		"socks5: refused":     {func(a string) string { return "socks5://" + a }, fakeproxy.Options{Refuse: 403}, "the SOCKS5 proxy did not connect to 127.0.0.1:"},
		"socks5: credentials": {func(a string) string { return "socks5://ann:s3cret@" + a }, fakeproxy.Options{User: "ann", Password: "word"}, "check its user and password"},
		"socks5: none given":  {func(a string) string { return "socks5://" + a }, fakeproxy.Options{User: "ann", Password: "word"}, "the SOCKS5 proxy did not connect"},
		"not a proxy":         {func(string) string { return "http://ann:s3cret@" + greeter }, fakeproxy.Options{}, "the proxy does not answer as an HTTP proxy does"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			if tt.options.TLS != nil {
				other := newCompany(t)
				tt.options.TLS.Certificates = []tls.Certificate{other.issue(time.Hour, "127.0.0.1")}
			}
			address := tt.url(c.proxy(tt.options).Addr())
			w := c.serve(func(u *app.Upstream) { u.Proxy = app.Secret(address) })
			c.fails(w, "s3cret", tt.want)
			if opened, _ := c.model.Connections(); opened > 0 {
				t.Errorf("%d connections to the model", opened)
			}
		})
	}
}

// notHTTP is the address of a server that answers anything with a greeting.
func notHTTP(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("220 mail.example ESMTP\r\n"))
			conn.Close()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-ended })
	return listener.Addr().String()
}

// The certificate of the model is checked with the authorities of the system and of the key ca, and errors name the cause.
func TestCertificatesOfUpstreams(t *testing.T) {
	t.Parallel()
	expired := func(c *company, config *tls.Config) {
		config.Certificates = []tls.Certificate{c.issue(-time.Hour, "127.0.0.1")}
	}
	otherName := func(c *company, config *tls.Config) {
		config.Certificates = []tls.Certificate{c.issue(time.Hour, "other.example")}
	}
	mutual := func(version uint16) func(*company, *tls.Config) {
		return func(c *company, config *tls.Config) {
			config.ClientAuth, config.ClientCAs, config.MaxVersion = tls.RequireAndVerifyClientCert, c.authority.Pool(), version
		}
	}
	certified := func(c *company, u *app.Upstream, issuer *company) {
		cert, key, err := fakeproxy.PEMOf(issuer.issue(time.Hour, "heldcall"))
		if err != nil {
			t.Fatal(err)
		}
		u.Cert, u.Key = c.file("cert.pem", cert), c.file("key.pem", key)
	}
	for name, tt := range map[string]struct {
		server  func(*company, *tls.Config)
		client  func(*company, *app.Upstream)
		want    string // "": it works
		through bool   // a proxy
	}{
		"ca":                  {},
		"unknown authority":   {client: func(_ *company, u *app.Upstream) { u.CA = "" }, want: "set ca of this upstream in proxy.upstreams, or SSL_CERT_FILE"},
		"expired":             {server: expired, want: "has expired or is not valid yet"},
		"expired, by a proxy": {server: expired, want: "has expired or is not valid yet", through: true},
		"another name":        {server: otherName, want: "is for another name"},
		"mutual TLS":          {server: mutual(0), client: func(c *company, u *app.Upstream) { certified(c, u, c) }},
		"mutual, by a proxy":  {server: mutual(0), client: func(c *company, u *app.Upstream) { certified(c, u, c) }, through: true},
		"mutual, none":        {server: mutual(0), want: "asks for a client certificate"},
		"mutual, none, 1.2":   {server: mutual(tls.VersionTLS12), want: "asks for a client certificate"},
		"mutual, unknown":     {server: mutual(tls.VersionTLS12), client: func(c *company, u *app.Upstream) { certified(c, u, newCompany(t)) }, want: "check cert and key of this upstream"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var server []func(*company, *tls.Config)
			if tt.server != nil {
				server = append(server, tt.server)
			}
			c := newCompany(t, server...)
			w := c.serve(func(u *app.Upstream) {
				if tt.client != nil {
					tt.client(c, u)
				}
				if tt.through {
					u.Proxy = app.Secret("http://" + c.proxy(fakeproxy.Options{}).Addr())
				}
			})
			if tt.want == "" {
				c.works(w)
				return
			}
			c.fails(w, "", tt.want)
		})
	}
}

// A server of something else at an https address, and a port where there is no server.
func TestUpstreamThatDoesNotFitItsAddress(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	w := build(t, askAll, callThenText, func(config *app.Config) {
		config.Proxy.Upstreams[0].URL = "https://" + notHTTP(t) + "/v1"
	}, silent)
	c.fails(w, "", "does not answer with TLS, or ended the handshake; check the port, or write http in place of https")
	down := c.serve(func(*app.Upstream) {})
	c.model.Close()
	c.fails(down, "", c.model.Addr()+" refused the connection")
	if !strings.Contains(down.log.String(), "connection refused") {
		t.Errorf("the log is\n%s", down.log.String())
	}
}

// A file or a proxy that cannot be used is a problem of its key at the start, which does not show the credentials.
func TestConnectionOfUpstreamsIsChecked(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	cert, key, err := fakeproxy.PEMOf(c.issue(time.Hour, "heldcall"))
	if err != nil {
		t.Fatal(err)
	}
	c.file("cert.pem", cert)
	c.file("key.pem", key)
	_, other, err := fakeproxy.PEMOf(c.issue(time.Hour, "heldcall"))
	if err != nil {
		t.Fatal(err)
	}
	c.file("other.pem", other)
	for keys, want := range map[string]string{
		"proxy: 'http://ann:s3cret@proxy.example:3128', ca: ca.pem, cert: cert.pem, key: key.pem": "",
		"proxy: none":                         "",
		"proxy: 'ann:s3cret@proxy.example'":   "proxy.upstreams[0].proxy: is not the URL of a proxy; write for example http://USER:PASSWORD@proxy.example:3128",
		"proxy: 'ftp://ann:s3cret@p.example'": "proxy.upstreams[0].proxy: is not the URL of a proxy",
		"ca: nowhere.pem":                     "nowhere.pem: no such file or directory; create the file or name another",
		"ca: key.pem":                         "key.pem has no certificate in PEM form; write one or more blocks",
		"cert: cert.pem":                      "proxy.upstreams[0].cert: cert and key belong together; give both",
		"cert: cert.pem, key: other.pem":      "private key does not match public key; give the PEM files of one certificate and its key",
		"cert: key.pem, key: key.pem":         "cannot be used",
	} {
		file := c.file("heldcall.yaml", []byte("proxy:\n  upstreams: [{prefix: /v1, url: https://model.example/v1, "+keys+"}]\n"))
		config, err := app.LoadConfig(file, os.LookupEnv)
		if want == "" && err == nil {
			if text := fmt.Sprintf("%+v", config); strings.Contains(text, "s3cret") {
				t.Errorf("%s: the configuration shows the password", keys)
			}
			continue
		}
		if want == "" || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", keys, err)
		}
	}
	plain := c.file("heldcall.yaml", []byte("proxy:\n  upstreams: [{prefix: /v1, url: http://model.example/v1, cert: cert.pem, key: key.pem}]\n"))
	if _, err := app.LoadConfig(plain, os.LookupEnv); err == nil || !strings.Contains(err.Error(), "has no effect with http") {
		t.Errorf("got %v", err)
	}
}
