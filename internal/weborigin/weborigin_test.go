package weborigin

import (
	"errors"
	"testing"
)

func TestHost(t *testing.T) {
	for authority, want := range map[string]string{
		"localhost": "localhost", "LocalHost:4141": "localhost", "localhost.": "localhost", "localhost.:4141": "localhost",
		"127.0.0.1:4141": "127.0.0.1", "[::1]:4141": "::1", "[::1]": "::1", "::1": "::1", "": "", ":4141": "", "localhost:80@evil.example": "localhost:80@evil.example", "localhost:evil": "localhost:evil",
		"Attacker.example.:80": "attacker.example",
	} {
		if got := Host(authority); got != want {
			t.Errorf("%q: %q, want %q", authority, got, want)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true,
		"": false, "0.0.0.0": false, "::": false, "127.0.0.1.nip.io": false, "localhost.example": false, "example.localhost": false, "127.1": false, "2130706433": false, "10.0.0.1": false, "localho\u017ft": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"http://localhost:3000": "http://localhost:3000", "HTTPS://App.Example:443": "https://app.example", "http://app.example:80": "http://app.example",
		"app://obsidian.md": "app://obsidian.md", "vscode-file://vscode-app": "vscode-file://vscode-app", "file://": "file://", "http://[::1]:1": "http://[::1]:1",
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]error{
		"null": ErrNull, "": ErrNoOrigin, "*": ErrNoOrigin, "app.example": ErrNoOrigin, "https://": ErrNoOrigin, "https://app.example/": ErrNoOrigin, "https://app.example/x": ErrNoOrigin,
		"https://ann@app.example": ErrNoOrigin, "https://app.example?": ErrNoOrigin, "https://app.example#": ErrNoOrigin, "https://*.example": ErrNoOrigin, "mailto:ann": ErrNoOrigin, "file://host": ErrNoOrigin, "file:///": ErrNoOrigin,
		"localhost:3000": ErrNoOrigin,
	} {
		if got, err := Parse(text); !errors.Is(err, want) {
			t.Errorf("%q: %q, %v, want %v", text, got, err, want)
		}
	}
}
