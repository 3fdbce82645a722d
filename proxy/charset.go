package proxy

import (
	"bytes"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// asciiCharsets are the character sets in which each byte of ASCII is that
// character, whatever stands before it. In any other one (UTF-7, UTF-16, Shift JIS)
// whoever believes the label reads other JSON than was judged.
var asciiCharsets = []string{"", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "iso-8859-15", "windows-1252"}

// readAlike reports whether that is so of a request's body, by each of its labels.
func readAlike(h *fasthttp.RequestHeader) bool {
	for k, v := range h.AllInOrder() {
		if is(k, "Content-Type") && !likeASCII(v) {
			return false
		}
	}
	return true
}

// likeASCII reports whether a content type names no character set, or one of
// those.
func likeASCII(contentType []byte) bool {
	if bytes.IndexByte(contentType, ';') < 0 {
		return true
	}
	for param := range strings.SplitSeq(strings.ToLower(string(contentType)), ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.HasPrefix(strings.TrimSpace(name), "charset") && !slices.Contains(asciiCharsets, strings.Trim(value, " \t\"'")) {
			return false
		}
	}
	return true
}
