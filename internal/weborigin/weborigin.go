// Package weborigin compares the hosts and origins that browsers send with those that heldcall
// is to be reached under and from. It has two users, the console and the port of agents, which
// stand on different HTTP servers.
package weborigin

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Host returns the host of an authority, as in a Host header: in lower case, without the port,
// the brackets of an IPv6 address, and the dot at the end of a name. Of a text that is no authority it
// is a name that no host has.
func Host(authority string) string {
	host, port, err := net.SplitHostPort(authority)
	if err != nil || strings.Trim(port, "0123456789") != "" {
		host = strings.TrimSuffix(strings.TrimPrefix(authority, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// IsLoopback reports whether a host, a name or an address, is on this machine for every
// resolver: no other name is, whatever it resolves to.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.ToLower(host) == "localhost" || (err == nil && ip.IsLoopback()) // EqualFold takes ſ for an s
}

// Of returns the origin of a URL as browsers write it: without the standard port.
func Of(u *url.URL) string {
	standard := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), standard)
}

// Errors of [Parse].
var (
	ErrNoOrigin = errors.New("is not an origin")
	ErrNull     = errors.New("null is the origin of every page in a sandboxed frame")
)

// Parse returns an origin, scheme://host[:port], as browsers write it. The scheme may be that of
// an app, such as app://obsidian.md; that of files has no host. The error is one of those above.
func Parse(text string) (string, error) {
	if text == "null" {
		return "", ErrNull
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return "", ErrNoOrigin
	}
	if (u.Hostname() == "") != (u.Scheme == "file") || strings.Contains(u.Host, "*") {
		return "", ErrNoOrigin
	}
	if origin := u.Scheme + "://" + u.Host; len(origin) != len(text) { // it has a path, a user, a query
		return "", ErrNoOrigin
	}
	return Of(u), nil
}
