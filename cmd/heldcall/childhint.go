package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// addressUnread says how to send a command through heldcall that takes the address
// of its model from its own settings only, not from the environment. It is "" for
// other commands, and where those settings hold the address already.
func addressUnread(command []string, lookup func(string) (string, bool), openAI string) string {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(command[0])), ".exe")
	if name != "codex" {
		return ""
	}
	named := slices.ContainsFunc(command, func(arg string) bool { return strings.Contains(arg, openAI) })
	settings, err := os.ReadFile(codexSettings(lookup))
	if named || err == nil && strings.Contains(string(settings), openAI) {
		return ""
	}
	return fmt.Sprintf("heldcall: codex does not read OPENAI_BASE_URL and would not go through heldcall. Start it with\n"+
		"  codex -c openai_base_url=%s\nor set that in its config.toml.\n", openAI)
}

// codexSettings is where Codex keeps its settings.
func codexSettings(lookup func(string) (string, bool)) string {
	if home, ok := lookup("CODEX_HOME"); ok {
		return filepath.Join(home, "config.toml")
	}
	home, ok := lookup("HOME")
	if !ok {
		home, _ = lookup("USERPROFILE")
	}
	return filepath.Join(home, ".codex", "config.toml")
}
