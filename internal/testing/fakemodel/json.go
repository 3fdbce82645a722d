package fakemodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// quote is a JSON string as providers write it: without HTML escapes.
func quote(s string) string { return string(encode(s)) }

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("internal error: a scripted value is not JSON: %v", err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// indent lays out JSON over several lines, each but the first after prefix.
func indent(value []byte, prefix string) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, value, prefix, "  "); err != nil {
		panic(fmt.Sprintf("internal error: a scripted value is not JSON: %v", err))
	}
	return b.Bytes()
}

// compact is JSON on one line.
func compact(value string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(value)); err != nil {
		panic(fmt.Sprintf("a scripted value is not JSON: %v: %s", err, value))
	}
	return b.String()
}

// digest is a long text in hexadecimal digits that depends on nothing but parts.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
