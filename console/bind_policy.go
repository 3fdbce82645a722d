package console

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"

	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/weborigin"
)

// bindPolicy are the names and origins under which the console is reached.
type bindPolicy struct {
	loopback bool   // it listens on loopback only
	host     string // of its URL, "" without one
	origin   string // the same
	origins  *http.CrossOriginProtection
}

// newBindPolicy is the policy of a console that listens on an address, host:port, and
// that reviewers reach under consoleURL, "" if that is the address. An address that
// other machines can reach is an error if there are no reviewers.
func newBindPolicy(listen, consoleURL string, reviewers bool) (bindPolicy, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return bindPolicy{}, fmt.Errorf("console address %q is not host:port: %w", listen, err)
	}
	p := bindPolicy{loopback: weborigin.IsLoopback(host), origins: http.NewCrossOriginProtection()}
	if !p.loopback && !reviewers {
		return bindPolicy{}, fmt.Errorf("console address %q is not a loopback address, and there are no reviewers to ask who may decide: "+
			"configure console.reviewers, or set console.listen to 127.0.0.1 and reach it over SSH or kubectl port-forward", listen)
	}
	if consoleURL == "" {
		return p, nil
	}
	address, err := url.Parse(consoleURL)
	if err != nil {
		return bindPolicy{}, fmt.Errorf("console URL %q: %w", consoleURL, err)
	}
	p.host = weborigin.Host(address.Host)
	p.origin = weborigin.Of(address)
	if err := p.origins.AddTrustedOrigin(p.origin); err != nil {
		return bindPolicy{}, fmt.Errorf("console URL %q: %w", consoleURL, err)
	}
	return p, nil
}

// Guard refuses what a web page of another site can make a browser send: to a
// console on loopback, requests under a name that was bound to loopback (DNS
// rebinding), and across origins all but the links that people follow; to any, writes
// and WebSockets across origins. Programs other than browsers pass.
func (p bindPolicy) Guard(r *http.Request) error {
	if host := weborigin.Host(r.Host); p.loopback && !weborigin.IsLoopback(host) && (host == "" || host != p.host) {
		return problem.New(http.StatusForbidden, problem.CodeForeignHost,
			fmt.Sprintf("the host %q is neither loopback nor that of console.url; use http://127.0.0.1 or http://localhost with the console's port", host))
	}
	checked := r
	// Writes come over a WebSocket, and browsers let any page open one.
	if isHandshake(r) || (p.loopback && !navigates(r)) {
		writing := *r
		writing.Method, checked = http.MethodPost, &writing
	}
	if err := p.origins.Check(checked); err != nil || len(r.Header["Origin"]) > 1 || len(r.Header["Sec-Fetch-Site"]) > 1 {
		return problem.New(http.StatusForbidden, problem.CodeForeignOrigin,
			"a page of another site sent this; only the console's own pages and programs that are no browsers may write, open a WebSocket, or read from a console on loopback")
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

// navigates reports whether a browser shows its user the answer: a link leads to it.
func navigates(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Origin") == ""
}

// Origin is the origin of the console's URL, "" without one.
func (p bindPolicy) Origin() string { return p.origin }
