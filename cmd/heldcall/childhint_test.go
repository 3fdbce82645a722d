package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddressUnread(t *testing.T) {
	const here = "http://127.0.0.1:4141/v1"
	home := t.TempDir()
	settings := filepath.Join(home, ".codex", "config.toml")
	if err := os.Mkdir(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"HOME": home}
	f := func(want string, command ...string) {
		t.Helper()
		lookup := func(name string) (string, bool) { value, ok := environment[name]; return value, ok }
		got := addressUnread(command, lookup, here)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q in it", command, got, want)
		}
	}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(settings, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const hint = "codex -c openai_base_url=" + here
	f("", "qwen", "--yolo")
	f(hint, "codex", "exec", "do it")
	f(hint, "/usr/local/bin/codex")
	f(hint, "Codex.exe")
	f("", "codex", "exec", "-c", "openai_base_url="+here, "do it")
	f("", "codex", `-cmodel_providers.x={name="x",base_url="`+here+`"}`)
	f(hint, "codex", "-c", "openai_base_url=http://127.0.0.1:4242/v1")

	write(`openai_base_url = "http://127.0.0.1:9999/v1"`)
	f(hint, "codex")
	write(`openai_base_url = "` + here + `"`)
	f("", "codex")
	environment["CODEX_HOME"] = t.TempDir()
	f(hint, "codex")
}
