package match

import (
	"errors"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Address is a parsed URL.
type Address struct {
	Scheme string // lower case
	Host   string // lower case, no port
	Port   string // "" where it is the scheme's own
	Path   string // cleaned, begins with /
}

var ownPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "ssh": "22"}

// ParseURL reads a URL. The problem is the reason why programs may read it differently, or "".
func ParseURL(text string) (a Address, problem string) {
	problem = urlProblem(text)
	u, err := url.Parse(forgiven(text))
	if err != nil {
		return Address{}, "The URL cannot be parsed."
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if decoded, err := url.PathUnescape(host); err == nil {
		host = decoded
	}
	a = Address{Scheme: strings.ToLower(u.Scheme), Host: host, Port: u.Port()}
	if ownPorts[a.Scheme] == a.Port {
		a.Port = ""
	}
	a.Path = path.Clean("/" + u.Path)
	if problem == "" {
		problem = hostProblem(u, a)
	}
	return a, problem
}

// forgiven is a URL as browsers read it, where they differ from its grammar.
func forgiven(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, strings.TrimFunc(text, func(r rune) bool { return r <= ' ' }))
	return strings.ReplaceAll(text, `\`, "/")
}

func urlProblem(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	authority := rest
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority = rest[:i]
	}
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }):
		return "The URL contains characters that are not valid in a URL."
	case !found || scheme == "" || !hasScheme(scheme+":"):
		return "The URL does not begin with scheme://."
	case strings.Contains(authority, "@"):
		return "The URL has an @ before its path, which hides the host."
	case strings.ContainsAny(authority, "?#") && strings.Contains(rest, "@"):
		return "The URL has an @ before its path, which hides the host."
	case containsAny(strings.ToLower(rest), "%2e", "%2f", "%5c", "%25", "..;"):
		return "The URL escapes dots, slashes or percent signs in its path."
	case LeadsUp(beforeQuery(strings.TrimPrefix(rest, authority))):
		return "The URL has .. in its path, which programs resolve differently."
	}
	return ""
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

func beforeQuery(text string) string {
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		return text[:i]
	}
	return text
}

func hostProblem(u *url.URL, a Address) string {
	ip, err := netip.ParseAddr(a.Host)
	switch {
	case u.Host == "" && a.Scheme != "file":
		return "The URL names no host."
	case strings.Contains(u.Host, "%"):
		return "The URL escapes characters of its host."
	case strings.HasSuffix(u.Hostname(), "."):
		return "The URL's host ends in a dot."
	case strings.HasSuffix(u.Host, ":") || strings.HasPrefix(a.Port, "0"):
		return "The URL's port is not written as usual."
	case err == nil && ip.Is4In6():
		return "The URL's host is an IPv4 address written as IPv6."
	case err != nil && strings.Contains(a.Host, ":"):
		return "The URL's host has a colon and is no address."
	case err != nil && looksLikeNumber(a.Host):
		return "The URL's host is a number, which programs read differently."
	}
	return ""
}

// looksLikeNumber reports whether a host ends in a number, which some programs read as an address:
// 127.1, 0x7f000001, 2130706433.
func looksLikeNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return false
	}
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || strings.Trim(last, "0123456789") == ""
}

// URLGlob is the argument of a pattern compared with URLs.
type URLGlob struct {
	scheme Glob
	host   string // doublestar pattern over the labels, / between them
	port   string
	path   string // doublestar pattern
	whole  bool   // any path
	Key    string // the host, where it is fixed
	Fixed  bool
}

// NewURLGlob reads the argument of a pattern for URLs: scheme://host/path, or domain:HOST for all pages of a host.
func NewURLGlob(text string) (*URLGlob, error) {
	text = ofDomain(text)
	scheme, rest, found := strings.Cut(text, "://")
	if !found || scheme == "" {
		return nil, errors.New("is no URL pattern: write scheme://host/path, with * for any scheme")
	}
	if strings.ContainsFunc(text, notInURLGlob) {
		return nil, errors.New(`contains what is not valid in a URL pattern: any of \ @ ? # % [ ] { }, spaces, or characters beyond ASCII`)
	}
	host, rest, hasPath := strings.Cut(rest, "/")
	host, port, _ := strings.Cut(strings.ToLower(host), ":")
	if host == "" && scheme != "file" {
		return nil, errors.New("names no host: write scheme://host/path, with ** for any host")
	}
	if strings.Trim(port, "0123456789") != "" {
		return nil, errors.New("has a port that is not a number")
	}
	joined := func(label string) bool { return strings.Contains(label, "**") && label != "**" }
	if slices.ContainsFunc(strings.Split(host, "."), joined) {
		return nil, errors.New("has a ** that is not alone between dots")
	}
	g := &URLGlob{scheme: NewGlob(strings.ToLower(scheme)), host: strings.ReplaceAll(host, ".", "/"), port: port, whole: !hasPath || rest == ""}
	if g.scheme.Literal() && ownPorts[scheme] == port {
		g.port = ""
	}
	g.Key, g.Fixed = host, !strings.Contains(host, "*")
	if !g.whole {
		asPath, err := NewPathGlob("/" + rest)
		if err != nil {
			return nil, err
		}
		g.path = asPath.Body
	}
	return g, nil
}

// ofDomain returns the pattern scheme://host for domain:HOST, or the text.
func ofDomain(text string) string {
	if host, ok := strings.CutPrefix(text, "domain:"); ok && !strings.ContainsAny(host, "/:") {
		return "http*://" + host
	}
	return text
}

func notInURLGlob(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`\@?#%[]{}`, r)
}

// Covers reports whether a URL is among those that the glob means, for an allow.
func (g *URLGlob) Covers(a Address) bool {
	return g.scheme.Match(a.Scheme) && g.port == a.Port && g.overHost(a) &&
		(g.whole || doublestar.MatchUnvalidated(g.path, strings.TrimPrefix(a.Path, "/")))
}

func (g *URLGlob) overHost(a Address) bool {
	return doublestar.MatchUnvalidated(g.host, strings.ReplaceAll(a.Host, ".", "/"))
}

// Match compares a URL for a deny or ask rule. It is [Maybe] if only scheme, port or letter case
// differ.
func (g *URLGlob) Match(a Address) Result {
	if !g.overHost(a) {
		return No
	}
	at := strings.TrimPrefix(a.Path, "/")
	switch exact := g.whole || doublestar.MatchUnvalidated(g.path, at); {
	case exact && g.scheme.Match(a.Scheme) && (g.port == "" || g.port == a.Port):
		return Yes
	case exact || doublestar.MatchUnvalidated(strings.ToLower(g.path), strings.ToLower(at)):
		return Maybe
	}
	return No
}
