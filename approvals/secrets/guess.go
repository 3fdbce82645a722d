package secrets

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/mask"
)

// maxValue bounds a value, in bytes.
const maxValue = 4 << 10

// CheckValue returns an [*approvals.InvalidError] for a value that cannot be kept from
// models: it would be masked in texts that have nothing to do with it, a model could guess
// it, or it has control characters. The error does not contain the value.
func CheckValue(field, value string) error {
	switch {
	case len(value) < mask.MinLength:
		return approvals.Invalid(field, "has fewer than %d characters: it is in many texts by chance, and would be replaced there; use a longer secret", mask.MinLength)
	case len(value) > maxValue:
		return approvals.Invalid(field, "has %d bytes, the limit is %d; store it in a file of the agent, and its password here", len(value), maxValue)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return approvals.Invalid(field, "has line breaks or other control characters, which a shell and a URL cannot contain; encode it in base64")
	case strings.HasPrefix(value, mask.Scheme):
		return approvals.Invalid(field, "is the handle of a secret, not its value")
	}
	if kind := guessable(value); kind != "" {
		return approvals.Invalid(field, "is %s: a model can guess it, and it would be replaced in texts that only mention it; use a random value", kind)
	}
	return nil
}

var (
	path     = regexp.MustCompile(`^(~|\.{1,2})?/[\w .,@+-]+(/[\w .,@+-]*)*$|^[A-Za-z]:[\\/]|^\.{1,2}/`)
	hostname = regexp.MustCompile(`^([A-Za-z0-9_-]+\.)+[a-z]{2,24}\.?(:[0-9]+)?$|^localhost(:[0-9]+)?$`)
	word     = regexp.MustCompile(`^([a-z]+|[A-Z][a-z]+|[A-Z]+)$`)
)

// maxWord is the length of the longest words that are taken for words of a dictionary.
// Longer ones are rare, and passwords of 16 letters are not.
const maxWord = 12

// minKinds is the least number of different characters of a value.
const minKinds = 5

// guessable returns what a value is that a model could guess, "" for any other.
func guessable(value string) string {
	kinds := map[rune]bool{}
	for _, r := range value {
		kinds[r] = true
	}
	address, _, _ := strings.Cut(value, "/")
	_, notAddress := netip.ParseAddr(address)
	_, notPort := netip.ParseAddrPort(value)
	u, notURL := url.Parse(value)
	letters := strings.TrimFunc(value, func(r rune) bool { return !unicode.IsLetter(r) })
	switch {
	case len(kinds) < minKinds:
		return "made of a few characters"
	case path.MatchString(value):
		return "the path of a file"
	case hostname.MatchString(value), notAddress == nil, notPort == nil:
		return "the name or address of a host"
	case notURL == nil && u.Host != "" && u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "":
		return "the address of a host"
	case letters == "" && len(value) < 20:
		return "a short number"
	case len(letters) <= maxWord && word.MatchString(letters) && pronounceable(letters):
		return "a word, or a word and a number"
	}
	return ""
}

// pronounceable reports whether letters could be a word: it has vowels, and few consonants
// in a row.
func pronounceable(letters string) bool {
	vowels, row, longest := 0, 0, 0
	for _, r := range strings.ToLower(letters) {
		if strings.ContainsRune("aeiouy", r) {
			vowels, row = vowels+1, 0
			continue
		}
		row++
		longest = max(longest, row)
	}
	return vowels*5 >= len(letters) && longest <= 4
}
