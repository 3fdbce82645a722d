package console

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/heldcall/heldcall/console/problem"
)

// maxBody bounds the body of a decision: arguments that a reviewer edited may be
// long.
const maxBody = 8 << 20

// bindPolicy are the names and origins under which the console is reached.
type bindPolicy struct {
	loopback bool   // it listens on loopback only
	host     string // of its URL, "" without one
	origin   string // the same
	origins  *http.CrossOriginProtection
}

// newBindPolicy refuses an address that other machines can reach if there are no
// reviewers.
func newBindPolicy(o Options) (bindPolicy, error) {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return bindPolicy{}, fmt.Errorf("console address %q is not host:port: %w", o.Listen, err)
	}
	p := bindPolicy{loopback: isLoopbackHost(host), origins: http.NewCrossOriginProtection()}
	if !p.loopback && o.Reviewers == nil {
		return bindPolicy{}, fmt.Errorf("console address %q is not a loopback address, and there are no reviewers to ask who may decide: "+
			"configure console.reviewers, or set console.listen to 127.0.0.1 and reach it over SSH or kubectl port-forward", o.Listen)
	}
	if o.URL == "" {
		return p, nil
	}
	own, err := url.Parse(o.URL)
	if err != nil {
		return bindPolicy{}, fmt.Errorf("console URL %q: %w", o.URL, err)
	}
	p.host = own.Hostname()
	p.origin = originOf(own)
	if err := p.origins.AddTrustedOrigin(p.origin); err != nil {
		return bindPolicy{}, fmt.Errorf("console URL %q: %w", o.URL, err)
	}
	return p, nil
}

// originOf is the origin of a URL as browsers write it.
func originOf(u *url.URL) string {
	standard := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), standard)
}

// guard refuses what a web page of another site can make a browser send: to a
// console on loopback, requests under a name that was bound to loopback (DNS
// rebinding); to any, writes and WebSockets across origins. Programs other than
// browsers pass.
func (p bindPolicy) guard(r *http.Request) error {
	if host := hostOf(r.Host); p.loopback && !isLoopbackHost(host) && !(p.host != "" && strings.EqualFold(host, p.host)) {
		return problem.New(http.StatusForbidden, problem.CodeForeignHost,
			fmt.Sprintf("the host %q is neither loopback nor that of console.url; use http://127.0.0.1 or http://localhost with the console's port", host))
	}
	checked := r
	if isHandshake(r) { // writes come over it, and browsers let any page open one
		writing := *r
		writing.Method, checked = http.MethodPost, &writing
	}
	if err := p.origins.Check(checked); err != nil {
		return problem.New(http.StatusForbidden, problem.CodeForeignOrigin,
			"a page of another site sent this; only the console's own pages and programs that are no browsers may write, or open a WebSocket")
	}
	if r.Method != http.MethodPost {
		return nil
	}
	// A form or text body needs no permission of a browser, JSON does.
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return problem.New(http.StatusUnsupportedMediaType, problem.CodeUnsupportedType, "send JSON, with Content-Type: application/json")
	}
	return nil
}

// hostOf takes the port off a Host header.
func hostOf(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(authority, "["), "]")
}

func isLoopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || (err == nil && ip.IsLoopback())
}

// readBody reads a body that may not be larger than maxBody.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, problem.New(http.StatusRequestEntityTooLarge, problem.CodeTooLarge,
			fmt.Sprintf("the body is larger than %d bytes; send less", tooLarge.Limit))
	}
	if err != nil {
		return nil, problem.New(http.StatusBadRequest, problem.CodeBadRequest, "the body could not be read to its end")
	}
	return body, nil
}
