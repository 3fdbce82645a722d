package app

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a value that is never printed: every verb of fmt, every encoder and
// slog show "<secret>" in its place. Convert it to string to use it.
type Secret string

const redacted = "<secret>"

// String is "<secret>", or empty for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format keeps the value from every verb of fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText keeps the value from JSON and other text encodings.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue keeps the value from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
