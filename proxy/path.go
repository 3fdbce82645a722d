package proxy

import (
	"errors"
	"path"
	"strconv"
	"strings"
)

var errPath = errors.New("the path has an encoding that servers read in different ways")

// normalPath returns a path in its one spelling: percent-escapes undone, empty and dot
// segments resolved, path parameters (;x) and a trailing slash removed. It is
// done once, before routing, and the result goes upstream, so that no spelling of a
// gated route is another route there. A path that is still ambiguous is an error.
func normalPath(raw string) (string, error) {
	if !strings.HasPrefix(raw, "/") {
		return "", errPath
	}
	if isNormal(raw) {
		return raw, nil
	}
	return resolve(raw)
}

// resolve is [normalPath] of a path that may need it.
func resolve(raw string) (string, error) {
	decoded, err := unescape(raw)
	if err != nil {
		return "", err
	}
	segments := strings.Split(decoded, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	return path.Clean(strings.Join(segments, "/")), nil
}

// isNormal reports a path that is its own normal form for sure: of letters, digits
// and a few marks, with no segment that is empty or begins with a dot.
func isNormal(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == ':':
		case c == '.' && i > 0 && path[i-1] != '/':
		case c == '/' && (i == 0 || path[i-1] != '/'):
		default:
			return false
		}
	}
	return len(path) > 1 && path[0] == '/' && path[len(path)-1] != '/'
}

// unescape undoes one layer of percent-escapes. A path that then has another
// one, or bytes that no path of a model API has, is refused.
func unescape(raw string) (string, error) {
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '%' {
			if i+2 >= len(raw) {
				return "", errPath
			}
			n, err := strconv.ParseUint(raw[i+1:i+3], 16, 8)
			if err != nil {
				return "", errPath
			}
			c = byte(n)
			i += 2
		}
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`%\?#"<>^{|}`+"`", c) >= 0 {
			return "", errPath
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}
