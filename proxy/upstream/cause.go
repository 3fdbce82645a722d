package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
)

// Step is a part of making a connection to an upstream.
type Step string

// The steps, in their order. The second to the fourth are of connections through a proxy.
const (
	StepConnect  Step = "connect to the upstream"
	StepProxy    Step = "connect to the proxy"
	StepProxyTLS Step = "TLS with the proxy"
	StepTunnel   Step = "have the proxy connect to the upstream"
	StepTLS      Step = "TLS with the upstream"
)

// ConnectError is why there is no connection to an upstream. It has no credentials.
type ConnectError struct {
	Step Step
	Addr string // host:port of the upstream
	Err  error
}

// Error implements error.
func (e *ConnectError) Error() string { return string(e.Step) + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// RefusalError is the answer of an HTTP proxy that does not connect to the upstream.
type RefusalError struct {
	Status int
	Named  bool // the proxy was given a user and password
}

// Error implements error.
func (e *RefusalError) Error() string {
	return "the proxy answered with status " + strconv.Itoa(e.Status)
}

var (
	errNoProxy     = errors.New("the answer is not that of an HTTP proxy")
	errSOCKS       = errors.New("the SOCKS5 proxy refused")
	errUncertified = errors.New("the server had asked for a client certificate, and got none")
)

// connectError returns why a step of connecting failed.
func (u *Client) connectError(step Step, err error) error {
	if errors.As(err, new(*ConnectError)) { // of the proxy
		return err
	}
	return &ConnectError{step, u.Addr, err}
}

// Cause returns for people why a request was not answered, and what to do; "" if the error is none of those that have a
// known cause. It has neither credentials nor text that an upstream or a proxy wrote.
func Cause(err error) string {
	var failed *ConnectError
	switch {
	case errors.Is(err, errUncertified):
		return "the upstream asks for a client certificate and closed the connection without one; set cert and key of this upstream in proxy.upstreams"
	case errors.As(err, &failed):
		return failed.cause()
	case isAlert(err):
		return "the upstream refused the TLS connection after the handshake, for example for the client certificate; check cert and key of this upstream in proxy.upstreams"
	}
	return ""
}

// cause is [Cause].
func (e *ConnectError) cause() string {
	var refusal *RefusalError
	var name *net.DNSError
	where, check := e.Addr, "url of this upstream in proxy.upstreams; in a company's network set HTTPS_PROXY, or proxy of the upstream"
	if e.Step == StepProxy || e.Step == StepProxyTLS || e.Step == StepTunnel {
		where, check = "the proxy", "proxy of this upstream in proxy.upstreams, or HTTPS_PROXY"
	}
	switch {
	case errors.As(e.Err, &refusal):
		return refusal.cause(e.Addr)
	case errors.Is(e.Err, errNoProxy):
		return "the proxy does not answer as an HTTP proxy does; check the scheme and the port in " + check
	case errors.Is(e.Err, errSOCKS):
		return fmt.Sprintf("the SOCKS5 proxy did not connect to %s; check its user and password in %s, and that it permits this address", e.Addr, check)
	case errors.As(e.Err, &name) && name.IsNotFound:
		return fmt.Sprintf("the name of %s cannot be resolved; check %s", where, check)
	case isTimeout(e.Err):
		return fmt.Sprintf("time-out: this step took longer than %s: %s; check %s", dialTimeout, e.Step, check)
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return fmt.Sprintf("%s refused the connection; check that a server listens there, and %s", where, check)
	case e.Step == StepTLS, e.Step == StepProxyTLS:
		return tlsCause(e.Err, where, check)
	case e.Step == StepTunnel:
		return fmt.Sprintf("the proxy closed the connection before it had connected to %s; check %s, and the log of the proxy", e.Addr, check)
	}
	return fmt.Sprintf("no connection to %s; check %s, and the network of this machine", where, check)
}

// cause is [Cause] for a refusal to connect to addr.
func (e *RefusalError) cause(addr string) string {
	switch {
	case e.Status == 407 && e.Named:
		return "the proxy refused the user or the password (407); correct them in proxy of this upstream in proxy.upstreams, or in HTTPS_PROXY"
	case e.Status == 407:
		return "the proxy needs a user and a password (407); write http://USER:PASSWORD@HOST:PORT in proxy of this upstream in proxy.upstreams, or in HTTPS_PROXY"
	case e.Status == 403:
		return fmt.Sprintf("the proxy does not permit connections to %s (403); have its operator permit CONNECT to it, or write proxy: none if heldcall can connect without it", addr)
	}
	return fmt.Sprintf("the proxy did not connect to %s (status %d); check url of this upstream in proxy.upstreams, and the log of the proxy", addr, e.Status)
}

// tlsCause is [Cause] for a handshake with where.
func tlsCause(err error, where, check string) string {
	var (
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("the certificate of %s is from an authority that is not known here, as behind a proxy that reads TLS; set ca of this upstream in proxy.upstreams, or SSL_CERT_FILE, to the PEM file of the authority", where)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of %s has expired or is not valid yet; check the clock of this machine, else have the certificate renewed", where)
	case errors.As(err, &name):
		return fmt.Sprintf("the certificate of %s is for another name; check the host in %s", where, check)
	case errors.As(err, &record), errors.Is(err, io.EOF):
		return fmt.Sprintf("%s does not answer with TLS, or ended the handshake; check the port, or write http in place of https in %s", where, check)
	case isAlert(err):
		return fmt.Sprintf("%s refused the TLS handshake, for example for the client certificate; check cert and key of this upstream in proxy.upstreams", where)
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return fmt.Sprintf("the certificate of %s is not valid; the log has the reason", where)
	}
	return fmt.Sprintf("the TLS handshake with %s failed; check %s", where, check)
}

// isAlert reports an alert of TLS that the other side sent.
func isAlert(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error"
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &network) && network.Timeout())
}
