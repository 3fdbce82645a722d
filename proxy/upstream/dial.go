package upstream

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
)

// NoProxy is the value of [Config.Proxy] for connections without a proxy, whatever the environment has.
const NoProxy = "none"

// newDialer returns what connects to upstreams and to proxies.
func newDialer() *net.Dialer {
	return &net.Dialer{
		Timeout:         dialTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
}

// errProxyURL does not quote the URL, which may have a password.
var errProxyURL = errors.New("is not the URL of a proxy; write for example http://USER:PASSWORD@proxy.example:3128, with https or socks5 in place of http where the proxy needs it, and special characters of the password percent-encoded")

// proxyPorts are the ports of proxies whose URL has none, by its scheme.
var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// ParseProxy returns the proxy that a value of [Config.Proxy] names, nil if it names none. The error does not quote the value.
func ParseProxy(value string) (*url.URL, error) {
	if value == "" || value == NoProxy {
		return nil, nil
	}
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" || proxyPorts[u.Scheme] == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errProxyURL
	}
	return u, nil
}

// proxyFor returns the proxy for connections to an upstream, nil for none: that of the configuration, else that of the
// environment.
func proxyFor(value string, target *url.URL) (*url.URL, error) {
	if value == "" {
		return environmentProxy(target)
	}
	u, err := ParseProxy(value)
	if err != nil {
		return nil, fmt.Errorf("proxy %w", err)
	}
	return u, nil
}

// environmentProxy returns the proxy that the environment has for an upstream, nil for none. A variable that is no URL is an
// error: httpproxy would ignore it, and the data would go to the upstream directly.
func environmentProxy(target *url.URL) (*url.URL, error) {
	env, name := httpproxy.FromEnvironment(), "HTTP_PROXY"
	value := env.HTTPProxy
	if target.Scheme == "https" {
		value, name = env.HTTPSProxy, "HTTPS_PROXY"
	}
	if value == "" {
		return nil, nil
	}
	const placeholder = "http://proxy.invalid"
	applies := httpproxy.Config{HTTPProxy: placeholder, HTTPSProxy: placeholder, NoProxy: env.NoProxy, CGI: env.CGI}
	if u, err := applies.ProxyFunc()(target); u == nil || err != nil {
		return nil, err
	}
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := ParseProxy(value)
	if err != nil {
		return nil, fmt.Errorf("%s of the environment %w", name, err)
	}
	return u, nil
}

// tunnel opens connections through a proxy, and never without it. Upstreams with http are reached by CONNECT as those with
// https are: it is one mechanism, a kept connection belongs to one upstream, and the proxy gets the credentials for
// itself alone, not in each request. Proxies that permit CONNECT for port 443 only refuse such upstreams.
type tunnel struct {
	*net.Dialer // to the proxy
	proxy       *url.URL
	addr        string      // host:port of the proxy
	tls         *tls.Config // of an https proxy, else nil
}

func newTunnel(u *url.URL, authorities *tls.Config) *tunnel {
	port := u.Port()
	if port == "" {
		port = proxyPorts[u.Scheme]
	}
	t := &tunnel{proxy: u, addr: net.JoinHostPort(u.Hostname(), port), Dialer: newDialer()}
	if u.Scheme == "https" {
		t.tls = authorities.Clone()
		t.tls.ServerName = u.Hostname()
	}
	return t
}

// dial opens a connection to addr through the proxy.
func (t *tunnel) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := t.DialContext(ctx, network, t.addr)
	if err != nil {
		return nil, &ConnectError{StepProxy, addr, err}
	}
	if t.tls != nil {
		secure := tls.Client(conn, t.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, &ConnectError{StepProxyTLS, addr, err}
		}
		conn = secure
	}
	open := t.connect
	if strings.HasPrefix(t.proxy.Scheme, "socks5") {
		open = t.socks
	}
	if err := open(ctx, conn, addr); err != nil {
		conn.Close()
		return nil, &ConnectError{StepTunnel, addr, err}
	}
	return conn, nil
}

// connect has an HTTP proxy connect to addr.
func (t *tunnel) connect(ctx context.Context, conn net.Conn, addr string) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err := t.requestTunnel(conn, addr)
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// requestTunnel sends the request CONNECT, and reads the answer.
func (t *tunnel) requestTunnel(conn net.Conn, addr string) error {
	head := "CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n"
	if user := t.proxy.User; user != nil {
		password, _ := user.Password()
		head += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return err
	}
	br := bufio.NewReader(io.LimitReader(conn, headLimit))
	answer, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // it would read the body of a refusal; the connection is closed
	var network net.Error
	switch {
	case errors.As(err, &network):
		return network
	case err != nil:
		return errNoProxy // without the bytes that net/http quotes
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return &RefusalError{Status: answer.StatusCode, Named: t.proxy.User != nil}
	}
	if br.Buffered() > 0 { // before the upstream can have answered anything
		return errNoProxy
	}
	return nil
}

// socks has a SOCKS5 proxy connect to addr. The proxy resolves the name.
func (t *tunnel) socks(ctx context.Context, conn net.Conn, addr string) error {
	var auth *proxy.Auth
	if user := t.proxy.User; user != nil {
		password, _ := user.Password()
		auth = &proxy.Auth{User: user.Username(), Password: password}
	}
	dialer, err := proxy.SOCKS5("tcp", t.addr, auth, opened{conn})
	if err != nil {
		return err
	}
	_, err = dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", addr)
	var network *net.OpError
	if errors.As(err, &network) && network.Err != nil {
		err = network.Err // without the addresses, which the other errors do not have
	}
	var late net.Error
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &late) {
		return fmt.Errorf("%w: %w", errSOCKS, err)
	}
	return err
}

// opened is a dialer that returns a connection which is open already, so that the connection is not one of the
// library's, which cannot be probed.
type opened struct{ net.Conn }

// Dial returns the connection.
func (o opened) Dial(string, string) (net.Conn, error) { return o.Conn, nil }

// DialContext returns the connection.
func (o opened) DialContext(context.Context, string, string) (net.Conn, error) { return o.Conn, nil }
