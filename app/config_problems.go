package app

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/internal/strictyaml"
)

// configProblems collects the mistakes of a configuration, each with its place, and has the
// checks of values that several keys have.
type configProblems struct {
	yaml  strictyaml.Reader
	lines map[string]int // key path -> line, for every key in the file
}

// given reports whether the key is in the file.
func (r *configProblems) given(key string) bool { return r.lines[key] > 0 }

// problem adds a mistake of a key, at its own line or that of the nearest key around it
// that is in the file. It is left out if the key, or one in it, has a mistake already.
func (r *configProblems) problem(key, format string, args ...any) {
	for _, p := range r.yaml.Errors {
		if rest, ok := strings.CutPrefix(p.Key, key); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return
		}
	}
	at := key
	for r.lines[at] == 0 && at != "" {
		at = at[:max(strings.LastIndexAny(at, ".["), 0)]
	}
	r.yaml.Errors = append(r.yaml.Errors, &strictyaml.Error{
		Line: r.lines[at], Key: key, Problem: fmt.Sprintf(format, args...),
	})
}

// validateListen returns the address in one spelling, or "" if it is not fixed
// (port 0) or not valid. onlyLoopback is why others must not reach it, "" if they
// may.
func (r *configProblems) validateListen(key, address, onlyLoopback string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		r.problem(key, "%q is not host:port; write for example 127.0.0.1:4141", address)
		return ""
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		r.problem(key, "%q is not a port; write a number from 0 to 65535", port)
		return ""
	} else if n == 0 {
		port = ""
	}
	if onlyLoopback != "" && !isLoopback(host) {
		r.problem(key, "%q is not a loopback address, and %s write 127.0.0.1 in place of %q", address, onlyLoopback, host)
		return ""
	}
	if port == "" {
		return ""
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

// validateURL returns the parsed URL, or nil if it is not valid. A password in a
// URL would show in logs, so it is refused.
func (r *configProblems) validateURL(key, text string, schemes ...string) *url.URL {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		r.problem(key, "is not a URL with a host; write for example %s://host:port", schemes[0])
	case !slices.Contains(schemes, u.Scheme):
		r.problem(key, "the scheme is %q; write %s", u.Scheme, either(schemes))
	case u.User != nil:
		r.problem(key, "holds a user or password, which would show in logs; remove it and use the keys meant for credentials")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		r.problem(key, "holds a query or fragment; remove it")
	default:
		return u
	}
	return nil
}

// validateFile checks that a file can be read.
func (r *configProblems) validateFile(key, file string) {
	if info, err := os.Stat(file); err != nil {
		r.problem(key, "cannot be read: %s; create the file or name another", err)
	} else if info.IsDir() {
		r.problem(key, "%s is a folder; name a file", file)
	}
}

// either lists the values as in "auto, comment or off".
func either(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

func index(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }
