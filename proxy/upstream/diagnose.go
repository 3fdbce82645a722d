package upstream

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/heldcall/heldcall/intercept"
	"github.com/valyala/fasthttp"
)

// Finding is the result of one step to an upstream.
type Finding struct {
	Step   string `json:"step"`
	OK     bool   `json:"ok"`
	Result string `json:"result"`
	Remedy string `json:"remedy,omitempty"` // what to do, of a step that failed
}

// NewFailure is the finding of a step that failed. The text has the problem and, after a semicolon, the remedy.
func NewFailure(step, text string) Finding {
	problem, remedy, _ := strings.Cut(text, "; ")
	return Finding{Step: step, Result: problem, Remedy: remedy}
}

// ProxyAddress returns the proxy to the upstream as scheme://host:port, without credentials, "" for none.
func (u *Client) ProxyAddress() string {
	if u.proxy == nil {
		return ""
	}
	return (&url.URL{Scheme: u.proxy.Scheme, Host: u.proxy.Host}).String()
}

// Diagnose connects to the upstream as requests do, asks for its models, and returns what each step found, to the first
// that fails.
func (u *Client) Diagnose(ctx context.Context) []Finding {
	found := u.diagnoseName(ctx)
	if !found.OK {
		return []Finding{found}
	}
	all := []Finding{found}
	conn, err := u.connect(ctx)
	if err == nil {
		defer conn.Close()
	}
	all = append(all, u.connected(conn, err)...)
	if err != nil {
		return all
	}
	return append(all, u.diagnoseModels(ctx))
}

// diagnoseName resolves the name of the proxy, which resolves that of the upstream, or of the upstream.
func (u *Client) diagnoseName(ctx context.Context) Finding {
	const step = "resolve"
	addr, at := u.Addr, StepConnect
	if u.proxy != nil {
		addr, at = newTunnel(u.proxy, new(tls.Config)).addr, StepProxy
	}
	host, _, _ := net.SplitHostPort(addr)
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return NewFailure(step, Cause(u.connectError(at, err)))
	}
	if net.ParseIP(host) != nil {
		return Finding{Step: step, OK: true, Result: host + " is an address"}
	}
	return Finding{Step: step, OK: true, Result: host + " is " + strings.Join(addresses, ", ")}
}

// connected returns what was found in connecting.
func (u *Client) connected(conn *persistConn, err error) (all []Finding) {
	first := Finding{Step: "connect", OK: true, Result: "connected to " + u.Addr}
	if u.proxy != nil {
		first = Finding{Step: "proxy", OK: true, Result: fmt.Sprintf("%s has connected to %s", u.ProxyAddress(), u.Addr)}
	}
	var failed *ConnectError
	switch {
	case errors.As(err, &failed) && failed.Step == StepTLS:
		return []Finding{first, NewFailure("TLS", Cause(err))}
	case err != nil:
		return []Finding{NewFailure(first.Step, Cause(err))}
	}
	secure, ok := conn.Conn.(*tls.Conn)
	if !ok || u.tls == nil {
		return []Finding{first}
	}
	state := secure.ConnectionState()
	leaf := state.PeerCertificates[0]
	return []Finding{first, {Step: "TLS", OK: true, Result: fmt.Sprintf("%s, certificate by %q until %s", tls.VersionName(state.Version), leaf.Issuer, leaf.NotAfter.UTC().Format(time.DateOnly))}}
}

// askModels is the head of the request for models. Anthropic wants a version.
const askModels = "GET /models HTTP/1.1\r\nHost: heldcall\r\nUser-Agent: heldcall\r\nAccept: application/json\r\nAnthropic-Version: 2023-06-01\r\n\r\n"

// diagnoseModels asks for the models, with the key of the configuration.
func (u *Client) diagnoseModels(ctx context.Context) Finding {
	const step = "GET /models"
	var head fasthttp.RequestHeader
	if err := head.Read(bufio.NewReader(strings.NewReader(askModels))); err != nil {
		return NewFailure(step, "the request is not one")
	}
	r, err := u.Do(ctx, &Request{Header: &head, Envelope: intercept.Envelope{Method: http.MethodGet, Path: "/models"}})
	switch {
	case err != nil && ctx.Err() != nil:
		return NewFailure(step, "time-out: no answer; check that the upstream works, and url of this upstream in proxy.upstreams")
	case err != nil && Cause(err) != "":
		return NewFailure(step, Cause(err))
	case err != nil:
		return NewFailure(step, "the connection ended without an answer that is HTTP/1.1; check url of this upstream in proxy.upstreams")
	}
	defer r.Close()
	return u.judgeModels(step, r.Status(), bytes.Contains(r.ContentType(), []byte("json")))
}

// judgeModels returns what an answer to the request for models shows.
func (u *Client) judgeModels(step string, status int, isJSON bool) Finding {
	keyed := u.keys.Load().current != ""
	answered := fmt.Sprintf("answered with status %d", status)
	switch {
	case status < 300 && isJSON:
		return Finding{Step: step, OK: true, Result: answered}
	case status < 300:
		return NewFailure(step, answered+", which is not JSON; check the path of url in proxy.upstreams, and whether a login page of the network answers")
	case status < 400:
		return NewFailure(step, answered+", a redirect; write the final address in url of this upstream in proxy.upstreams")
	case status >= 500:
		return NewFailure(step, answered+"; check that the upstream works, and try again")
	case keyed && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		return NewFailure(step, answered+": it refuses the key; check api_key and key_header of this upstream in proxy.upstreams")
	case !keyed && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		return Finding{Step: step, OK: true, Result: answered + ", as expected: the key comes from the agent"}
	}
	return Finding{Step: step, OK: true, Result: answered + ": the upstream is reached; it has no list of models there, or url lacks a part of its path, such as /v1"}
}
