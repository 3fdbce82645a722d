package secrets_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/secrets"
)

func TestCheckValue(t *testing.T) {
	for value, reason := range map[string]string{
		"short":                      "fewer than 8",
		"aaaaaaaabbbbbbbb":           "a few characters",
		"12345678":                   "a short number",
		"2026-11-23 10:45":           "a short number",
		"password":                   "a word",
		"Password123!":               "a word",
		"PRODUCTION":                 "a word",
		"/etc/passwd":                "path",
		"~/.ssh/id_rsa":              "path",
		"./src/main.go":              "path",
		`C:\Users\me`:                "path",
		"api.github.com":             "host",
		"db-1.internal.example":      "host",
		"localhost:8080":             "host",
		"192.168.10.25":              "host",
		"[2001:db8::1]:443":          "host",
		"10.20.30.0/24":              "host",
		"https://example.com/":       "host",
		"secret://TOKEN":             "handle",
		"two\nlines of text":         "line breaks",
		"a\x00b234567":               "control characters",
		"\xff\xfe2345678":            "control characters",
		strings.Repeat("aB3$x", 999): "limit",
	} {
		err := secrets.CheckValue("value", value)
		if invalid := (*approvals.InvalidError)(nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want a reason with %q", value, err, reason)
		} else if strings.Contains(err.Error(), value) && value != "password" {
			t.Errorf("%q is in its error %v", value, err)
		}
	}
	for _, value := range []string{
		"ghp_16C7e42F292c6912E7710c838347Ae178B4a", "sk-proj-abcDEF0123456789", "xoxb-123-456-abcdef",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
		"/9j+4AAQSkZJRgABAQ==", "kqzvxwplmtrbnygh", "correct horse battery staple", "Tr0ub4dor&3", "hunter2!hunter2",
		"https://hooks.example.com/services/T0/B0/q8Zr2mWk", "postgres://me:pa55word@db.internal/x", "9f86d081884c7d65",
		"AKIAIOSFODNN7EXAMPLE", "pässwörd-1x",
	} {
		if err := secrets.CheckValue("value", value); err != nil {
			t.Errorf("%q is refused: %v", value, err)
		}
	}
}
