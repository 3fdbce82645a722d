package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// agentName is the name of the agent that a command starts, without folder and
// extension.
func agentName(command []string) string {
	return strings.TrimSuffix(strings.ToLower(filepath.Base(command[0])), ".exe")
}

// notGated is why none of an agent's calls would be held, if that is so.
func notGated(command []string) error {
	if agentName(command) == "gemini" {
		return usagef("gemini speaks Google's own API only, which heldcall does not gate: none of its calls would be held")
	}
	return nil
}

// equipAgent gives a command what its agent needs to go through heldcall beside
// the environment, and returns a note where that does not suffice. Commands of
// agents that are not known stay as they are.
func equipAgent(command []string, lookup func(string) (string, bool), openAI string) (equipped []string, note string) {
	if agentName(command) == "codex" {
		return equipCodex(command, lookup, openAI)
	}
	return command, ""
}

// otherProvider finds in Codex's settings and arguments that it is to use another
// model provider than the built-in one, which has an address of its own.
var otherProvider = regexp.MustCompile(`(?m)\bmodel_provider\s*=\s*["']?([\w.-]+)`)

// equipCodex gives Codex the address of its model as an argument: it does not read
// it from the environment. Arguments and settings of the user's that hold another
// address stay, and the note names them.
func equipCodex(command []string, lookup func(string) (string, bool), openAI string) (equipped []string, note string) {
	content, err := os.ReadFile(codexSettings(lookup))
	settings := string(content)
	if err != nil {
		settings = ""
	}
	arguments := strings.Join(command[1:], "\n")
	if strings.Contains(arguments, openAI) || strings.Contains(settings, openAI) {
		return command, ""
	}
	if strings.Contains(arguments, "openai_base_url") {
		return command, fmt.Sprintf("heldcall: codex is told another openai_base_url and does not go through heldcall. Leave that out, or set it to %s\n", openAI)
	}
	equipped = slices.Insert(slices.Clone(command), 1, "-c", "openai_base_url="+openAI)
	for _, provider := range otherProvider.FindAllStringSubmatch(arguments+"\n"+settings, -1) {
		if name := provider[1]; name != "openai" {
			note = fmt.Sprintf("heldcall: codex is told to use the model provider %q and does not go through heldcall then.\n"+
				"Set model_providers.%s.base_url to %s\n", name, name, openAI)
		}
	}
	return equipped, note
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
