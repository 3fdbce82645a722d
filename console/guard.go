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

// entrance is the names and origins under which the console is reached.
type entrance struct {
	loopback bool   // it listens on loopback only
	host     string // of its URL, "" without one
	origin   string // the same
	origins  *http.CrossOriginProtection
}

// newEntrance refuses an address that others than this machine can reach where
// there are no reviewers.
func newEntrance(o Options) (entrance, error) {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return entrance{}, fmt.Errorf("console address %q is not host:port: %w", o.Listen, err)
	}
	e := entrance{loopback: isLoopbackHost(host), origins: http.NewCrossOriginProtection()}
	if !e.loopback && o.Reviewers == nil {
		return entrance{}, fmt.Errorf("console address %q is not a loopback address, and there are no reviewers to ask who may decide: "+
			"configure console.reviewers, or set console.listen to 127.0.0.1 and reach it over SSH or kubectl port-forward", o.Listen)
	}
	if o.URL == "" {
		return e, nil
	}
	own, err := url.Parse(o.URL)
	if err != nil {
		return entrance{}, fmt.Errorf("console URL %q: %w", o.URL, err)
	}
	e.host = own.Hostname()
	e.origin = originOf(own)
	if err := e.origins.AddTrustedOrigin(e.origin); err != nil {
		return entrance{}, fmt.Errorf("console URL %q: %w", o.URL, err)
	}
	return e, nil
}

// originOf is the origin of a URL as browsers write it.
func originOf(u *url.URL) string {
	standard := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), standard)
}

// guard refuses what a web page of another site can make a browser send: to a
// console on loopback, requests under a name that was bound to loopback (DNS
// rebinding); to any, writes and WebSockets across origins. Programs that are no browsers pass.
func (e entrance) guard(r *http.Request) error {
	if host := hostOf(r.Host); e.loopback && !isLoopbackHost(host) && !(e.host != "" && strings.EqualFold(host, e.host)) {
		return problem.New(http.StatusForbidden, problem.CodeForeignHost,
			fmt.Sprintf("the host %q is neither loopback nor that of console.url; use http://127.0.0.1 or http://localhost with the console's port", host))
	}
	checked := r
	if isHandshake(r) { // writes come over it, and browsers let any page open one
		writing := *r
		writing.Method, checked = http.MethodPost, &writing
	}
	if err := e.origins.Check(checked); err != nil {
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
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
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
