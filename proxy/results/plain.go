package results

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/proxy/conversation"
)

// maxUnwrapped is how often a form of a result is unwrapped.
const maxUnwrapped = 8

// plainForm returns the same text for all forms of a result that say the same: a text, the text as a JSON string, a
// text part, a list of text parts, and an object that has nothing else but its kind. JSON is without white space.
func plainForm(raw string) string { return unwrap(raw, 0) }

func unwrap(text string, depth int) string {
	text = strings.TrimSpace(text)
	if depth == maxUnwrapped || text == "" || !strings.ContainsRune("\"[{", rune(text[0])) || !gjson.Valid(text) {
		return text
	}
	v := gjson.Parse(text)
	if v.Type == gjson.String {
		return unwrap(v.Str, depth+1)
	}
	if payload, ok := wrapped(v); ok {
		return unwrap(payload.Raw, depth+1)
	}
	if parts := v.Array(); v.IsArray() && len(parts) > 0 && !slices.ContainsFunc(parts, isOtherPart) {
		texts := make([]string, len(parts))
		for i, part := range parts {
			texts[i] = unwrap(part.Raw, depth+1)
		}
		return strings.Join(texts, "\n")
	}
	var canonical bytes.Buffer
	if conversation.WriteCanonical(&canonical, []byte(text)) != nil {
		return text
	}
	return canonical.String()
}

// isOtherPart reports whether a part of a list is no text.
func isOtherPart(part gjson.Result) bool {
	payload, ok := wrapped(part)
	return !ok || payload.Type != gjson.String || !strings.Contains(part.Get("type").Str, "text")
}

// kinds are the types of objects that only wrap a text or a value.
var kinds = []string{"text", "input_text", "output_text", "json", "content"}

// wrapped returns the only member of an object beside its type and cache marks.
func wrapped(v gjson.Result) (payload gjson.Result, ok bool) {
	if !v.IsObject() {
		return payload, false
	}
	typed, members := false, 0
	v.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "cache_control":
		case "type":
			typed = slices.Contains(kinds, value.Str)
		case "text", "value", "output", "content":
			payload = value
			members++
		default:
			members += 2
		}
		return true
	})
	return payload, typed && members == 1
}

// maxEssence bounds the text of a denied result that is remembered, in bytes.
const maxEssence = 4 << 10

// essence returns the letters and digits of the texts of a result, in lower case, however they are quoted.
func essence(raw string) string {
	var b strings.Builder
	var add func(text string, depth int)
	add = func(text string, depth int) {
		text = strings.TrimSpace(text)
		nested := depth < maxUnwrapped && text != "" && strings.ContainsRune("\"[{", rune(text[0])) && gjson.Valid(text)
		switch v := gjson.Parse(text); {
		case b.Len() >= maxEssence:
		case !nested:
			for _, r := range text {
				if unicode.IsLetter(r) || unicode.IsDigit(r) {
					b.WriteRune(unicode.ToLower(r))
				}
			}
		case v.Type == gjson.String:
			add(v.Str, depth+1)
		default:
			v.ForEach(func(name, value gjson.Result) bool {
				if name.Str != "type" {
					add(value.Raw, depth+1)
				}
				return true
			})
		}
	}
	add(raw, 0)
	return b.String()[:min(b.Len(), maxEssence)]
}

// leastAlike is how many bytes two results must have in common where none is equal to the other.
const leastAlike = 8

// alike reports whether two results say the same, or one a part or the beginning of the other.
func alike(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	common := 0
	for common < len(a) && a[common] == b[common] {
		common++
	}
	begins := common >= 4*leastAlike && common >= len(a)/2
	return a == b || begins || (len(a) >= leastAlike && strings.Contains(b, a))
}
