package webpush

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

const (
	// sendTimeout bounds one push, from the look-up of the name to the answer.
	sendTimeout = 10 * time.Second
	// idleConns is how many connections to push services are kept.
	idleConns = 20
)

// reserved are special addresses that netip does not report: no push service has one,
// and an endpoint there would be in heldcall's own network.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared by providers' customers
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), // IPv4 by a translator
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"), // IPv4 in a tunnel
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"),
}

// isPublic reports whether an address is one of the open internet.
func isPublic(address netip.Addr) bool {
	address = address.Unmap()
	if !address.IsGlobalUnicast() || address.IsPrivate() {
		return false
	}
	for _, prefix := range reserved {
		if prefix.Contains(address) {
			return false
		}
	}
	return true
}

// checkEndpoint refuses an address that no push service can have. Its name is resolved
// at each message; see [newClient].
func checkEndpoint(endpoint string, private bool) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || u.Fragment != "" {
		return errors.New("is not the URL of a push service")
	}
	if u.Scheme != "https" && !(private && u.Scheme == "http") {
		return errors.New("is not https")
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil && !private && !isPublic(address) {
		return errors.New("is not on the open internet; console.push.private_services permits push services of one's own network")
	}
	return nil
}

// newClient returns the client of the sender. It connects to public addresses only, whatever names
// resolve to, follows no redirects and uses no proxy, which would connect for it.
func newClient(private bool) *http.Client {
	dialer := &net.Dialer{Timeout: sendTimeout}
	if !private {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			host, err := netip.ParseAddrPort(address)
			if err != nil || !isPublic(host.Addr()) {
				return fmt.Errorf("%s is not on the open internet", address)
			}
			return nil
		}
	}
	return &http.Client{
		Timeout:       sendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: idleConns, MaxConnsPerHost: idleConns,
			IdleConnTimeout: time.Minute, TLSHandshakeTimeout: sendTimeout, ResponseHeaderTimeout: sendTimeout, MaxResponseHeaderBytes: 64 << 10,
		},
	}
}
