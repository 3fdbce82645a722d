package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/intercept/hooks"
)

// settingsCommand runs a command about settings in this process.
func settingsCommand(t *testing.T, input string, args ...string) (out string, code int) {
	t.Helper()
	var text bytes.Buffer
	code = execute(t.Context(), args, &streams{strings.NewReader(input), &text, &text}, nil)
	return text.String(), code
}

// A hook is added to the settings of each client and removed again. All else in them stays, byte for byte.
func TestHookInstall(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(t.TempDir())
	for _, settings := range settingsOf() {
		if settings.home != "" {
			t.Setenv(settings.home, "")
		}
		for _, place := range []string{"--user", "--project"} {
			file, err := settings.file(place == "--user", os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimPrefix(settings.list, "hooks.")
			before := "{\n\t\"model\" : \"<x>\",\n  \"hooks\": {\"" + name + "\": [ {\"command\": \"mine\", \"hooks\": [{\"command\":\"mine\"}]} ], \"Stop\": []},\n\n \"n\": 1.50}\n"
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(before), 0o640); err != nil {
				t.Fatal(err)
			}
			if out, code := settingsCommand(t, "n\n", "hook", "install", settings.client, place); code == 0 || !strings.Contains(out, "+++ ") || !strings.Contains(out, "hook "+settings.client) {
				t.Errorf("%s: an answer of no: %d, %s", settings.client, code, out)
			}
			if text, _ := os.ReadFile(file); string(text) != before {
				t.Errorf("%s was written after no: %s", file, text)
			}
			for range 2 { // the second changes nothing
				if out, code := settingsCommand(t, "y\n", "hook", "install", settings.client, place, "--url", "http://127.0.0.1:4141", "--key-file", "a key"); code != 0 {
					t.Fatalf("%s: %s", settings.client, out)
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list := gjson.GetBytes(text, settings.list).Array()
			if len(list) != 2 || !strings.HasPrefix(string(text), "{\n\t\"model\" : \"<x>\",\n  \"hooks\": {\"") || !strings.HasSuffix(string(text), "\"Stop\": []},\n\n \"n\": 1.50}\n") {
				t.Errorf("%s: %s", file, text)
			}
			hook := list[1]
			if settings.group {
				hook = hook.Get("hooks.0")
			}
			if command := hook.Get("command").String(); !strings.Contains(command, " hook "+settings.client+" --timeout 59m50s --url http://127.0.0.1:4141 --key-file '") {
				t.Errorf("%s: the command %q", settings.client, command)
			}
			if info, _ := os.Stat(file); info.Mode().Perm() != 0o640 {
				t.Errorf("%s has the mode %v", file, info.Mode())
			}
			if kept, _ := os.ReadFile(file + ".heldcall-backup"); string(kept) == "" {
				t.Errorf("%s has no backup", file)
			}
			if out, code := settingsCommand(t, "", "hook", "status", settings.client); code != 0 || !strings.Contains(out, "http://127.0.0.1:4141") {
				t.Errorf("status: %s", out)
			}
			if out, code := settingsCommand(t, "", "hook", "remove", settings.client, place, "--yes"); code != 0 {
				t.Fatalf("%s: %s", settings.client, out)
			}
			if text, _ = os.ReadFile(file); len(gjson.GetBytes(text, settings.list).Array()) != 1 || strings.Contains(string(text), "heldcall") || !strings.HasSuffix(string(text), "\"n\": 1.50}\n") {
				t.Errorf("%s after the removal: %s", file, text)
			}
		}
	}
}

// A file that is not there is made; one that cannot be read with certainty is not changed.
func TestHookInstallRefuses(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for _, settings := range settingsOf() {
		file, err := settings.file(false, os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		if out, code := settingsCommand(t, "", "hook", "install", settings.client, "--project", "--yes"); code != 0 {
			t.Fatalf("%s: %s", settings.client, out)
		}
		text, err := os.ReadFile(file)
		if err != nil || len(settings.places(text)) != 1 || !strings.Contains(string(text), "--running") {
			t.Errorf("%s: %v, %s", file, err, text)
		}
		for _, bad := range []string{"// a comment\n{}", `{"hooks":{},"hooks":{}}`, "[]", `{"hooks": {"` + strings.TrimPrefix(settings.list, "hooks.") + `": {}}}`} {
			if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, code := settingsCommand(t, "", "hook", "install", settings.client, "--project", "--yes"); code == 0 {
				t.Errorf("%s: %s is changed: %s", settings.client, bad, out)
			}
			if text, _ := os.ReadFile(file); string(text) != bad {
				t.Errorf("%s was changed: %s", bad, text)
			}
		}
	}
}

// Each client with a form has settings.
func TestHookClientsHaveSettings(t *testing.T) {
	for _, client := range hooks.Clients() {
		if s := settingsFor(client); s.client != client {
			t.Errorf("%s has no settings", client)
		}
	}
}
