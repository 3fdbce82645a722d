package exchange

import (
	"bytes"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/proxy/coding"
)

// asciiCharsets are the character sets in which each byte of ASCII is that character,
// whatever is before it. In any other one (UTF-7, UTF-16, Shift JIS) a client that
// believes the label reads other JSON than was judged.
var asciiCharsets = []string{"", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "iso-8859-15", "windows-1252"}

// ASCIICompatible reports whether a content type names no character set, or one in which
// every byte of ASCII is that character.
func ASCIICompatible(contentType []byte) bool {
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

// IsEventStream reports whether a content type is that of server-sent events.
func IsEventStream(contentType []byte) bool {
	return strings.HasPrefix(strings.ToLower(string(contentType)), "text/event-stream")
}

// IdentityEncoded reports whether the value of Content-Encoding names no compression.
func IdentityEncoded(encoding []byte) bool {
	if len(encoding) == 0 {
		return true
	}
	codings, err := coding.Parse(encoding)
	return err == nil && len(codings) == 0
}
