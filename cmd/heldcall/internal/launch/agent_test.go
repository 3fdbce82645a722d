package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEquipAgent(t *testing.T) {
	const here = "http://127.0.0.1:4141/v1"
	home := t.TempDir()
	settings := filepath.Join(home, ".codex", "config.toml")
	if err := os.Mkdir(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"HOME": home}
	lookup := func(name string) (string, bool) { value, ok := environment[name]; return value, ok }
	f := func(note string, want []string, command ...string) {
		t.Helper()
		given := strings.Join(command, " ")
		got, said := EquipAgent(command, lookup, here)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", given, diff)
		}
		if (note == "") != (said == "") || !strings.Contains(said, note) {
			t.Errorf("%s: the note is %q, want %q in it", given, said, note)
		}
		if strings.Join(command, " ") != given {
			t.Errorf("%s has become %s", given, command)
		}
	}
	same := func(note string, command ...string) { t.Helper(); f(note, command, command...) }
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(settings, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	same("", "qwen", "--yolo")
	same("", "codexter")
	f("", []string{"codex", "-c", "openai_base_url=" + here, "exec", "do it"}, "codex", "exec", "do it")
	f("", []string{"/usr/local/bin/codex", "-c", "openai_base_url=" + here}, "/usr/local/bin/codex")
	f("", []string{"Codex.exe", "-c", "openai_base_url=" + here}, "Codex.exe")
	same("", "codex", "exec", "-c", "openai_base_url="+here, "do it")
	same("", "codex", `-cmodel_providers.x={name="x",base_url="`+here+`"}`)
	same("set it to "+here, "codex", "-c", "openai_base_url=http://127.0.0.1:4242/v1")
	f(`provider "mine"`, []string{"codex", "-c", "openai_base_url=" + here, "-c", "model_provider=mine"}, "codex", "-c", "model_provider=mine")

	write(`openai_base_url = "http://127.0.0.1:9999/v1"`)
	f("", []string{"codex", "-c", "openai_base_url=" + here}, "codex")
	write("model = \"gpt-5.5\"\nmodel_provider = \"openai\"\n")
	f("", []string{"codex", "-c", "openai_base_url=" + here}, "codex")
	write("model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://127.0.0.1:1/v1\"\n")
	f("model_providers.mine.base_url to "+here, []string{"codex", "-c", "openai_base_url=" + here}, "codex")
	write("model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"" + here + "\"\n")
	same("", "codex")
	same("~/.pi/agent/models.json", "pi", "--print")
	same("", "cn", "--config", here)
	if err := os.MkdirAll(filepath.Join(home, ".pi", "agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings = filepath.Join(home, ".pi", "agent", "models.json")
	write(`{"providers":{"openai":{"baseUrl":"http://127.0.0.1:4242/v1"}}}`)
	same("name this address: "+here, "/usr/bin/pi")
	write(`{"providers":{"anthropic":{"baseUrl":"http://127.0.0.1:4141/anthropic"}}}`)
	same("", "/usr/bin/pi")

	environment["CODEX_HOME"] = t.TempDir()
	f("", []string{"codex", "-c", "openai_base_url=" + here}, "codex")
}

func TestNotGated(t *testing.T) {
	for name, refused := range map[string]bool{"gemini": true, "/usr/bin/Gemini": true, "codex": false, "gemini-proxy": false} {
		if err := CheckAgent([]string{name}); (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
