package configfile

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

// Problems collects the mistakes in a file, each with its place, and has the checks of
// values that several keys have.
type Problems struct {
	yaml  strictyaml.Reader
	lines map[string]int // key path -> line, for every key in the file
}

// Errors returns the mistakes in the order of the file, nil where there are none.
func (r *Problems) Errors() strictyaml.Errors {
	for _, problem := range r.yaml.Errors {
		problem.Key, problem.Problem = unmarkReferences(problem.Key), unmarkReferences(problem.Problem)
	}
	slices.SortStableFunc(r.yaml.Errors, func(a, b *strictyaml.Error) int { return a.Line - b.Line })
	return r.yaml.Errors
}

// Given reports whether the key is in the file.
func (r *Problems) Given(key string) bool { return r.lines[key] > 0 }

// Problem adds a mistake of a key, at its own line or that of the nearest key around it
// that is in the file. It is left out if the key, or one in it, has a mistake already.
func (r *Problems) Problem(key, format string, args ...any) {
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

// ValidateListen returns the address in one spelling, or "" if it is not fixed
// (port 0) or not valid. onlyLoopback is why others must not reach it, "" if they
// may.
func (r *Problems) ValidateListen(key, address, onlyLoopback string) string {
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
	if onlyLoopback != "" && !IsLoopback(host) {
		r.Problem(key, "%q is not a loopback address, and %s write 127.0.0.1 in place of %q", address, onlyLoopback, host)
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

// IsLoopback reports whether a host, a name or an address, is on this machine.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

// ValidateURL returns the parsed URL, or nil if it is not valid. A password in a
// URL would show in logs, so it is refused.
func (r *Problems) ValidateURL(key, text string, schemes ...string) *url.URL {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		r.Problem(key, "is not a URL with a host; write for example %s://host:port", schemes[0])
	case !slices.Contains(schemes, u.Scheme):
		r.Problem(key, "the scheme is %q; write %s", u.Scheme, either(schemes))
	case u.User != nil:
		r.Problem(key, "holds a user or password, which would show in logs; remove it and use the keys meant for credentials")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		r.Problem(key, "holds a query or fragment; remove it")
	default:
		return u
	}
	return nil
}

// ValidateFile checks that a file can be read.
func (r *Problems) ValidateFile(key, file string) {
	if info, err := os.Stat(file); err != nil {
		r.Problem(key, "cannot be read: %s; create the file or name another", err)
	} else if info.IsDir() {
		r.Problem(key, "%s is a folder; name a file", file)
	}
}

// either lists the values as in "auto, comment or off".
func either(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// Index returns the key path of an item of a list.
func Index(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }
