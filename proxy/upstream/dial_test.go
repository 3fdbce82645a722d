package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heldcall/heldcall/internal/testing/fakeproxy"
)

// Which proxy an upstream has. A proxy that cannot be used is an error, never a direct connection.
func TestProxyFor(t *testing.T) {
	for name, tt := range map[string]struct {
		url, key string
		env      map[string]string
		want     string // host of the proxy, "" for none
		err      string
	}{
		"nothing":                  {url: "https://model.example/v1"},
		"environment":              {url: "https://model.example/v1", env: map[string]string{"HTTPS_PROXY": "http://p:1"}, want: "p:1"},
		"without a scheme":         {url: "https://model.example/v1", env: map[string]string{"HTTPS_PROXY": "p:1"}, want: "p:1"},
		"lower case":               {url: "https://model.example/v1", env: map[string]string{"https_proxy": "http://p:1"}, want: "p:1"},
		"for http":                 {url: "http://model.example/v1", env: map[string]string{"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://q:1"}, want: "p:1"},
		"for https alone":          {url: "http://model.example/v1", env: map[string]string{"HTTPS_PROXY": "http://q:1"}},
		"NO_PROXY":                 {url: "https://model.example/v1", env: map[string]string{"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a, .example"}},
		"no_proxy":                 {url: "https://10.1.2.3/v1", env: map[string]string{"HTTPS_PROXY": "http://p:1", "no_proxy": "10.0.0.0/8"}},
		"another in NO_PROXY":      {url: "https://model.example/v1", env: map[string]string{"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com"}, want: "p:1"},
		"loopback":                 {url: "https://127.0.0.1:1/v1", env: map[string]string{"HTTPS_PROXY": "http://p:1"}},
		"loopback by the key":      {url: "https://127.0.0.1:1/v1", key: "http://p:1", want: "p:1"},
		"the key wins":             {url: "https://model.example/v1", key: "socks5://p:1", env: map[string]string{"HTTPS_PROXY": "http://q:1", "NO_PROXY": "*"}, want: "p:1"},
		"none":                     {url: "https://model.example/v1", key: "none", env: map[string]string{"HTTPS_PROXY": "http://q:1"}},
		"wrong in the key":         {url: "https://model.example/v1", key: "ftp://ann:s3cret@p:1", err: "proxy is not the URL of a proxy"},
		"wrong escape":             {url: "https://model.example/v1", key: "http://ann:s3cret%@p:1", err: "proxy is not the URL of a proxy"},
		"wrong in the environment": {url: "https://model.example/v1", env: map[string]string{"HTTPS_PROXY": "http://ann:s3cret%@p:1"}, err: "HTTPS_PROXY of the environment is not the URL of a proxy"},
		"wrong, not used":          {url: "https://model.example/v1", env: map[string]string{"HTTPS_PROXY": "http://ann:s3cret%@p:1", "NO_PROXY": "*"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUEST_METHOD"} {
				t.Setenv(name, "")
				t.Setenv(strings.ToLower(name), "")
			}
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			u, err := New(Config{Prefix: "/v1", URL: tt.url, Proxy: tt.key})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if u.proxy != nil {
				got = u.proxy.Host
			}
			if got != tt.want {
				t.Errorf("the proxy is %q, want %q", got, tt.want)
			}
		})
	}
}

// A proxy that takes the request and never answers is a time-out of that step.
func TestSilentProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		u, err := New(Config{Prefix: "/v1", URL: "https://model.example", Proxy: "http://ann:s3cret@proxy.example:3128"})
		if err != nil {
			t.Fatal(err)
		}
		way := newTunnel(u.proxy, new(tls.Config))
		u.Dial = func(ctx context.Context, _, addr string) (net.Conn, error) {
			if err := way.connect(ctx, ours, addr); err != nil {
				return nil, &ConnectError{StepTunnel, addr, err}
			}
			return ours, nil
		}
		begun := time.Now()
		_, err = u.do(t.Context(), requestHead(ask), nil)
		if took := time.Since(begun); took != dialTimeout || !errors.Is(err, ErrNotSent) {
			t.Errorf("after %s: %v", took, err)
		}
		if got, want := Cause(err), "time-out: this step took longer than 15s: have the proxy connect to the upstream"; !strings.HasPrefix(got, want) {
			t.Errorf("the cause is %q", got)
		}
		ours.Close()
	})
}

// Each cause has its sentence, by the type of the error.
func TestCause(t *testing.T) {
	const addr = "model.example:443"
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	verified := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	for want, err := range map[string]error{
		"the name of model.example:443 cannot be resolved; check url":  &ConnectError{StepConnect, addr, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}},
		"the name of the proxy cannot be resolved; check proxy":        &ConnectError{StepProxy, addr, &net.DNSError{Err: "no such host", IsNotFound: true}},
		"model.example:443 refused the connection":                     &ConnectError{StepConnect, addr, refused},
		"the proxy refused the connection":                             &ConnectError{StepProxy, addr, refused},
		"time-out: this step took longer than 15s: connect to the up":  &ConnectError{StepConnect, addr, context.DeadlineExceeded},
		"time-out: this step took longer than 15s: connect to the pro": &ConnectError{StepProxy, addr, os.ErrDeadlineExceeded},
		"time-out: this step took longer than 15s: TLS with the upstr": &ConnectError{StepTLS, addr, fmt.Errorf("handshake: %w", context.DeadlineExceeded)},
		"the proxy needs a user and a password (407)":                  &ConnectError{StepTunnel, addr, &RefusalError{Status: 407}},
		"the proxy refused the user or the password (407)":             &ConnectError{StepTunnel, addr, &RefusalError{Status: 407, Named: true}},
		"the proxy does not permit connections to model.example:443 (": &ConnectError{StepTunnel, addr, &RefusalError{Status: 403}},
		"the proxy did not connect to model.example:443 (status 503)":  &ConnectError{StepTunnel, addr, &RefusalError{Status: 503}},
		"the proxy closed the connection before it had connected to":   &ConnectError{StepTunnel, addr, syscall.ECONNRESET},
		"the certificate of model.example:443 is from an authority":    &ConnectError{StepTLS, addr, verified(x509.UnknownAuthorityError{})},
		"the certificate of the proxy is from an authority":            &ConnectError{StepProxyTLS, addr, verified(x509.UnknownAuthorityError{})},
		"the certificate of model.example:443 has expired":             &ConnectError{StepTLS, addr, verified(x509.CertificateInvalidError{Reason: x509.Expired})},
		"the certificate of model.example:443 is for another name":     &ConnectError{StepTLS, addr, verified(x509.HostnameError{Certificate: new(x509.Certificate)})},
		"the certificate of model.example:443 is not valid":            &ConnectError{StepTLS, addr, verified(x509.CertificateInvalidError{Reason: x509.TooManyIntermediates})},
		"model.example:443 does not answer with TLS":                   &ConnectError{StepTLS, addr, tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}},
		"model.example:443 refused the TLS handshake":                  &ConnectError{StepTLS, addr, &net.OpError{Op: "remote error", Err: tls.AlertError(48)}},
		"the upstream refused the TLS connection after the handshake":  fmt.Errorf("read the head of the answer: %w", &net.OpError{Op: "remote error", Err: tls.AlertError(48)}),
		"the upstream asks for a client certificate":                   &ConnectError{StepTLS, addr, fmt.Errorf("%w: %w", errUncertified, io.EOF)},
		"no connection to model.example:443; check url":                &ConnectError{StepConnect, addr, syscall.ENETUNREACH},
	} {
		if got := Cause(fmt.Errorf("%w: %w", ErrNotSent, err)); !strings.HasPrefix(got, want) {
			t.Errorf("the cause of %v is %q, want %q", err, got, want)
		}
	}
	if got := Cause(errNoAnswer); got != "" {
		t.Errorf("the cause of an answer that is missing is %q", got)
	}
}

// A bad file is an error that names it.
func TestFilesThatCannotBeUsed(t *testing.T) {
	file := t.TempDir() + "/x.pem"
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Config{
		"upstream /v1: ca " + file + " has no certificate in PEM form": {CA: file},
		"upstream /v1: ca cannot be read: open " + file + "2":          {CA: file + "2"},
		"cert and key belong together":                                 {Cert: file},
		"the client certificate of cert " + file + " and key " + file:  {Cert: file, Key: file},
	} {
		c.Prefix, c.URL = "/v1", "https://model.example"
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A kept connection with TLS in the TLS of a proxy is probed: it is not used again once the other side has closed it.
func TestProbeOfTLSInTLS(t *testing.T) {
	authority, err := fakeproxy.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := authority.Issue(time.Hour, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	server := &tls.Config{Certificates: []tls.Certificate{cert}, SessionTicketsDisabled: true}
	accepted := make(chan *tls.Conn, 1)
	go func() {
		defer close(accepted)
		if conn, err := listener.Accept(); err == nil {
			inner := tls.Server(tls.Server(conn, server), server)
			_ = inner.Handshake()
			accepted <- inner
		}
	}()
	raw, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	client := &tls.Config{ServerName: "127.0.0.1", RootCAs: authority.Pool()}
	secure := tls.Client(tls.Client(raw, client), client)
	if err := secure.Handshake(); err != nil {
		t.Fatal(err)
	}
	inner := <-accepted
	conn := newPersistConn(secure)
	if !conn.secure || !conn.probe.usable() {
		t.Error("an open connection is not used")
	}
	inner.Close()
	for deadline := time.Now().Add(time.Minute); conn.probe.usable(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a closed connection is used")
		}
	}
}
