package app

import (
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/internal/weborigin"
)

// validateListen returns the address in one spelling, or "" if it is not fixed
// (port 0) or not valid. onlyLoopback is why others must not reach it, "" if they
// may.
func (r *configValidator) validateListen(key, address, onlyLoopback string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		r.Problem(key, "%q is not host:port; write for example 127.0.0.1:4141", address)
		return ""
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		r.Problem(key, "%q is not a port; write a number from 0 to 65535", port)
		return ""
	} else if n == 0 {
		port = ""
	}
	if onlyLoopback != "" && !weborigin.IsLoopback(host) {
		r.Problem(key, "%q is not a loopback address, and %s write 127.0.0.1 in place of %q", address, onlyLoopback, host)
		return ""
	}
	if port == "" {
		return ""
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// validateURL returns the parsed URL, or nil if it is not valid. A password in a
// URL would show in logs, so it is refused.
func (r *configValidator) validateURL(key, text string, schemes ...string) *url.URL {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		r.Problem(key, "is not a URL with a host; write for example %s://host:port", schemes[0])
	case !slices.Contains(schemes, u.Scheme):
		r.Problem(key, "the scheme is %q; write %s", u.Scheme, strictyaml.Either(schemes))
	case u.User != nil:
		r.Problem(key, "holds a user or password, which would show in logs; remove it and use the keys meant for credentials")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		r.Problem(key, "holds a query or fragment; remove it")
	default:
		return u
	}
	return nil
}

// validateFile checks that a file can be read.
func (r *configValidator) validateFile(key, file string) {
	if info, err := os.Stat(file); err != nil {
		r.Problem(key, "cannot be read: %s; create the file or name another", err)
	} else if info.IsDir() {
		r.Problem(key, "%s is a folder; name a file", file)
	}
}
