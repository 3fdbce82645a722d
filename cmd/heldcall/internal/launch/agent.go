package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// AgentName returns the name of the agent that a command starts, without folder and
// extension.
func AgentName(command []string) string {
	return strings.TrimSuffix(strings.ToLower(filepath.Base(command[0])), ".exe")
}

// label returns the name of an agent in requests: its command and the folder in which it works, with ~
// for the home folder.
func label(command []string, work string, lookup func(string) (string, bool)) string {
	if home := discovery.HomeFolder(lookup); home != "" && work != home && below(home, work) {
		work = "~" + strings.TrimPrefix(work, filepath.Clean(home))
	}
	return sanitize.Line(AgentName(command) + " " + filepath.ToSlash(work))
}

// CheckAgent returns an error for a command of which no call would be held.
func CheckAgent(command []string) error {
	if AgentName(command) == "gemini" {
		return errors.New("gemini speaks Google's own API only, which heldcall does not gate: none of its calls would be held")
	}
	return nil
}

// EquipAgent adds the arguments to a command that its agent needs, beside the environment,
// to go through heldcall, and returns a note where that does not suffice. Commands of
// unknown agents stay as they are.
func EquipAgent(command []string, lookup func(string) (string, bool), openAI string) (equipped []string, note string) {
	name := AgentName(command)
	if name == "codex" {
		return equipCodex(command, lookup, openAI)
	}
	path, ok := settingsOf[name]
	if !ok || strings.Contains(strings.Join(command[1:], "\n"), openAI) {
		return command, ""
	}
	origin, _, _ := strings.Cut(strings.TrimPrefix(openAI, "http://"), "/")
	settings, err := os.ReadFile(filepath.Join(discovery.HomeFolder(lookup), filepath.FromSlash(path)))
	if err == nil && strings.Contains(string(settings), origin) {
		return command, ""
	}
	return command, fmt.Sprintf("heldcall: %s takes the address of its model from its settings only, such as ~/%s, and they do not hold heldcall's.\n"+
		"heldcall does not see its calls unless other settings name this address: %s\n", name, path, openAI)
}

// settingsOf are the agents that take the address of their model from settings
// only, and the file in the home folder that holds them.
var settingsOf = map[string]string{
	"cline": ".cline/data/settings/providers.json",
	"cn":    ".continue/config.yaml",
	"pi":    ".pi/agent/models.json",
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
		return command, fmt.Sprintf("heldcall: the arguments of codex name another openai_base_url, so heldcall does not see its calls. Remove it, or set it to %s\n", openAI)
	}
	equipped = slices.Insert(slices.Clone(command), 1, "-c", "openai_base_url="+openAI)
	for _, provider := range otherProvider.FindAllStringSubmatch(arguments+"\n"+settings, -1) {
		if name := provider[1]; name != "openai" {
			note = fmt.Sprintf("heldcall: codex is configured for the model provider %q, so heldcall does not see its calls.\n"+
				"Set model_providers.%s.base_url to %s\n", name, name, openAI)
		}
	}
	return equipped, note
}

// hasLogin reports whether the agent of a command has a login for an API, in whose place it would use a key in the
// environment. Codex prefers its login.
func hasLogin(command []string, api api, lookup func(string) (string, bool)) bool {
	if api.prefix != "/anthropic" || len(command) == 0 || AgentName(command) != "claude" {
		return false
	}
	for _, name := range []string{"CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"} {
		if token, _ := lookup(name); token != "" {
			return true
		}
	}
	home := discovery.HomeFolder(lookup)
	login, account := filepath.Join(home, ".claude", ".credentials.json"), filepath.Join(home, ".claude.json")
	if folder, _ := lookup("CLAUDE_CONFIG_DIR"); folder != "" {
		login, account = filepath.Join(folder, ".credentials.json"), filepath.Join(folder, ".claude.json")
	}
	return fileHas(login, `"claudeAiOauth"`) || fileHas(account, `"oauthAccount"`) // macOS has the login elsewhere
}

// fileHas reports whether a file has a text in it.
func fileHas(file, text string) bool {
	content, err := os.ReadFile(file)
	return err == nil && strings.Contains(string(content), text)
}

// codexSettings returns the file of Codex's settings.
func codexSettings(lookup func(string) (string, bool)) string {
	if home, ok := lookup("CODEX_HOME"); ok {
		return filepath.Join(home, "config.toml")
	}
	return filepath.Join(discovery.HomeFolder(lookup), ".codex", "config.toml")
}
