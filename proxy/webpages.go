package proxy

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/weborigin"
	"github.com/valyala/fasthttp"
)

// webGuard refuses requests that a web page can make a browser send: a page must not use the model,
// with heldcall's key, because heldcall runs on the machine of its reader. Programs that are no
// browsers send none of the headers that it reads.
type webGuard struct {
	loopback bool     // the port is on loopback: a page reaches it under a name of its own (DNS rebinding)
	hosts    []string // under which a port on loopback is reached too, in lower case
	origins  []string // whose pages may use the port, as browsers write them
}

// newWebGuard makes the guard of a port at an address, host:port. The hosts and origins are those of
// [Options].
func newWebGuard(listen string, hosts, origins []string) (g webGuard, err error) {
	host, _, _ := net.SplitHostPort(listen)
	g.loopback = weborigin.IsLoopback(host)
	for _, host := range hosts {
		g.hosts = append(g.hosts, weborigin.Host(host))
	}
	for _, text := range origins {
		origin, err := weborigin.Parse(text)
		if err != nil {
			return g, fmt.Errorf("origin %q: %w", text, err)
		}
		g.origins = append(g.origins, origin)
	}
	return g, nil
}

// admit returns the origin of the page that has sent a request, "" for a request of another program.
// The error refuses a page whose origin is not among those of the guard, an OPTIONS without such an
// origin, and a host under which the port is not reached.
func (g *webGuard) admit(h *fasthttp.RequestHeader) (origin string, refusal *intercept.Error) {
	for _, host := range hostsOf(h) {
		if g.reachedUnder(host) {
			continue
		}
		return "", &intercept.Error{Code: intercept.CodeForeignHost, Reason: fmt.Sprintf("the host %q is neither loopback nor in proxy.hosts, and a web page can have sent this (DNS rebinding); use http://127.0.0.1 or http://localhost with heldcall's port, or add the name to proxy.hosts", host)}
	}
	site := ""
	for k, v := range h.All() {
		switch {
		case len(v) == 0:
		case is(k, "Origin"):
			if origin != "" || !g.allows(v) {
				return "", foreignOrigin(fmt.Sprintf("a web page of the origin %q sent this", v))
			}
			origin = string(v)
		case is(k, "Sec-Fetch-Site") && crossesSites(v):
			site = string(v)
		}
	}
	switch {
	case origin != "":
		return origin, nil
	case site != "":
		return "", foreignOrigin(fmt.Sprintf("a web page of another site sent this (Sec-Fetch-Site: %q)", site))
	case h.IsOptions():
		return "", foreignOrigin("OPTIONS asks whether a web page may send a request, and this has no Origin")
	}
	return "", nil
}

// hostsOf are the host in the header of a request, and the one in its target if that is absolute.
func hostsOf(h *fasthttp.RequestHeader) []string {
	hosts := []string{weborigin.Host(string(h.Host()))}
	if target := h.RequestURI(); len(target) > 0 && target[0] != '/' {
		if _, rest, absolute := strings.Cut(string(target), "://"); absolute {
			authority := rest[:strings.IndexAny(rest+"/", `/?#\`)]
			hosts = append(hosts, weborigin.Host(authority))
		}
	}
	return hosts
}

// reachedUnder reports whether the port is reached under the name of a host.
func (g *webGuard) reachedUnder(host string) bool {
	return !g.loopback || weborigin.IsLoopback(host) || slices.Contains(g.hosts, host)
}

// crossesSites reports whether the value of Sec-Fetch-Site is that of a request between sites or origins.
func crossesSites(site []byte) bool { return !is(site, "same-origin") && !is(site, "none") }

// allows reports whether pages of an origin may use the port.
func (g *webGuard) allows(origin []byte) bool {
	return slices.ContainsFunc(g.origins, func(allowed string) bool { return is(origin, allowed) })
}

func foreignOrigin(fact string) *intercept.Error {
	return &intercept.Error{Code: intercept.CodeForeignOrigin, Reason: fact + "; only pages of the origins in proxy.origins may use the model: add the page's origin there"}
}

const (
	corsPrefix  = "Access-Control-"
	corsMethods = "GET, HEAD, POST, DELETE"
	corsMaxAge  = "600" // seconds for which a browser does not ask again
)

// answerPreflight lets a browser send the request that it asks about (CORS): any method and header of a
// model's API. The router refuses others.
func answerPreflight(h *fasthttp.RequestHeader, resp *fasthttp.Response) {
	resp.SetStatusCode(http.StatusNoContent)
	resp.Header.Set(corsPrefix+"Allow-Methods", corsMethods)
	resp.Header.Set(corsPrefix+"Max-Age", corsMaxAge)
	for k, v := range h.All() {
		switch {
		case is(k, corsPrefix+"Request-Headers"):
			resp.Header.SetBytesV(corsPrefix+"Allow-Headers", v)
		case is(k, corsPrefix+"Request-Private-Network"): // a page of the internet asks for one on this machine
			resp.Header.Set(corsPrefix+"Allow-Private-Network", "true")
		}
	}
}

// letRead lets a page of an origin read an answer. What the upstream says about that goes: browsers
// refuse two origins.
func letRead(h *fasthttp.ResponseHeader, origin string) {
	var names []string
	for k := range h.All() {
		if is(k, corsPrefix+"Allow-Origin") || is(k, corsPrefix+"Allow-Credentials") || is(k, corsPrefix+"Expose-Headers") {
			names = append(names, string(k))
		}
	}
	for _, name := range names {
		h.Del(name)
	}
	h.Set(corsPrefix+"Allow-Origin", origin)
	h.Set(corsPrefix+"Expose-Headers", "*")
	h.Add(fasthttp.HeaderVary, fasthttp.HeaderOrigin)
}
