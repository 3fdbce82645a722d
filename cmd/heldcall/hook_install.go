package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/internal/policylearn"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// hookPlace is where a client's settings are.
type hookPlace struct {
	Client  string `arg:"" enum:"claude-code,codex,copilot,cursor,gemini" help:"claude-code, codex, copilot, cursor or gemini."`
	User    bool   `xor:"place" required:"" help:"The settings of your user, for all folders."`
	Project bool   `xor:"place" required:"" help:"The settings of the project in this folder."`
}

type hookInstall struct {
	hookPlace
	URL     string        `placeholder:"URL" help:"Address of heldcall for agents, such as http://127.0.0.1:4141. Without it: that of the 'heldcall run' that serves the folder."`
	KeyFile string        `placeholder:"FILE" help:"File with the agent's key, of a client in proxy.clients."`
	Wait    time.Duration `default:"1h" placeholder:"TIME" help:"Time-out in the client's settings. The hook denies 10 s before. Default: 1h."`
	Yes     bool          `help:"Write without asking."`
}

type hookRemove struct {
	hookPlace
	Yes bool `help:"Write without asking."`
}

type hookStatus struct {
	Client string `arg:"" optional:"" default:"all" enum:"all,claude-code,codex,copilot,cursor,gemini" help:"Only those of one client."`
}

// hookSettings is where one client has its hooks, and how it writes them.
type hookSettings struct {
	client        string
	home          string // variable with the folder of the user's settings, "" for none
	user, project string // the files, below the user's home or that folder, and below the project
	list          string // path of the list of hooks in the file
	group         bool   // an item of the list has hooks of its own
	entry         func(command string, wait time.Duration) map[string]any
}

// commandEntry is the entry of a client that counts in a unit of time.
func commandEntry(field string, unit time.Duration, more map[string]any) func(string, time.Duration) map[string]any {
	return func(command string, wait time.Duration) map[string]any {
		entry := map[string]any{"type": "command", "command": command, field: int64(wait / unit)}
		for name, value := range more {
			entry[name] = value
		}
		return entry
	}
}

// settingsOf returns the settings of each client.
func settingsOf() []hookSettings {
	return []hookSettings{
		{"claude-code", "CLAUDE_CONFIG_DIR", ".claude/settings.json", ".claude/settings.json", "hooks.PreToolUse", true, commandEntry("timeout", time.Second, map[string]any{"onFailure": "block"})},
		{"codex", "CODEX_HOME", ".codex/hooks.json", ".codex/hooks.json", "hooks.PreToolUse", true, commandEntry("timeout", time.Second, nil)},
		{"copilot", "COPILOT_HOME", ".copilot/hooks/heldcall.json", ".github/hooks/heldcall.json", "hooks.preToolUse", false, commandEntry("timeoutSec", time.Second, nil)},
		{"cursor", "", ".cursor/hooks.json", ".cursor/hooks.json", "hooks.preToolUse", false, commandEntry("timeout", time.Second, map[string]any{"failClosed": true})},
		{"gemini", "", ".gemini/settings.json", ".gemini/settings.json", "hooks.BeforeTool", true, commandEntry("timeout", time.Millisecond, nil)},
	}
}

func settingsFor(client string) hookSettings {
	all := settingsOf()
	return all[slices.IndexFunc(all, func(s hookSettings) bool { return s.client == client })]
}

// file returns the path of the settings.
func (s *hookSettings) file(user bool, lookup func(string) (string, bool)) (string, error) {
	if !user {
		return filepath.Abs(filepath.FromSlash(s.project))
	}
	if folder, _ := lookup(s.home); s.home != "" && folder != "" {
		_, below, _ := strings.Cut(s.user, "/")
		return filepath.Abs(filepath.Join(folder, filepath.FromSlash(below)))
	}
	home := discovery.HomeFolder(lookup)
	if home == "" {
		return "", errors.New("the user has no home folder")
	}
	return filepath.Join(home, filepath.FromSlash(s.user)), nil
}

// read returns the text of a file of settings, nil if there is none. Settings that are not strict JSON are not changed.
func (s *hookSettings) read(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the settings: %w", err)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, nil
	case strictjson.Strict(text) != nil || !gjson.ParseBytes(text).IsObject():
		return nil, fmt.Errorf("%s is not one JSON object without comments and double names: add the hook by hand, as in docs/ways-in.md", file)
	}
	if list := gjson.GetBytes(text, s.list); list.Exists() && !list.IsArray() {
		return nil, fmt.Errorf("%s has no list at %s", file, s.list)
	}
	return text, nil
}

// places returns the paths of heldcall's own hooks in settings, the last first.
func (s *hookSettings) places(text []byte) (paths []string) {
	own := func(hook gjson.Result) bool { return isHeldcallHook(hook.Get("command").String(), s.client) }
	for i, item := range gjson.GetBytes(text, s.list).Array() {
		at := s.list + "." + strconv.Itoa(i)
		if !s.group {
			if own(item) {
				paths = append(paths, at)
			}
			continue
		}
		all := item.Get("hooks").Array()
		for k, hook := range all {
			if own(hook) && len(all) == 1 {
				paths = append(paths, at)
			} else if own(hook) {
				paths = append(paths, at+".hooks."+strconv.Itoa(k))
			}
		}
	}
	slices.Reverse(paths)
	return paths
}

// isHeldcallHook reports whether a command is that of heldcall's hook of a client: as install writes it, under any name
// of the program, or as people do.
func isHeldcallHook(command, client string) bool {
	hook := " hook " + client + " "
	return strings.Contains(command, hook+"--timeout ") || (strings.Contains(command, "heldcall") && strings.Contains(command+" ", hook))
}

// without returns settings without heldcall's hooks. All other bytes stay, but for a file that has nothing else.
func (s *hookSettings) without(text []byte) ([]byte, error) {
	for _, path := range s.places(text) {
		var err error
		if text, err = sjson.DeleteBytes(text, path); err != nil {
			return nil, fmt.Errorf("remove %s: %w", path, err)
		}
	}
	return text, nil
}

// with returns settings with one hook of heldcall.
func (s *hookSettings) with(text []byte, command string, wait time.Duration) ([]byte, error) {
	text, err := s.without(text)
	if err != nil {
		return nil, err
	}
	var item any = s.entry(command, wait)
	if s.group {
		item = map[string]any{"hooks": []any{item}}
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(item); err != nil {
		return nil, err
	}
	raw := bytes.TrimSpace(encoded.Bytes())
	if text == nil {
		version := ""
		if !s.group {
			version = `"version": 1, `
		}
		name := strings.TrimPrefix(s.list, "hooks.")
		return fmt.Appendf(nil, "{%s\"hooks\": {%q: [\n  %s\n]}}\n", version, name, raw), nil
	}
	after, err := sjson.SetRawBytes(text, s.list+".-1", raw)
	if err != nil {
		return nil, fmt.Errorf("add the hook at %s: %w", s.list, err)
	}
	if strictjson.Strict(after) != nil || len(s.places(after)) != 1 {
		return nil, fmt.Errorf("the hook cannot be added at %s: add it by hand, as in docs/ways-in.md", s.list)
	}
	return after, nil
}

// Run adds the hook to the settings of a client.
func (c *hookInstall) Run(s *streams) error {
	settings := settingsFor(c.Client)
	command, err := c.command(os.Executable)
	if err != nil {
		return err
	}
	return settings.change(s, c.User, c.Yes, func(text []byte) ([]byte, error) { return settings.with(text, command, c.Wait) })
}

// command is the command line of the hook. Variables, which a repository can set, do not count in it.
func (c *hookInstall) command(executable func() (string, error)) (string, error) {
	const margin = 10 * time.Second
	if c.Wait < 2*margin {
		return "", usagef("--wait is shorter than %v", 2*margin)
	}
	program, err := executable()
	if err != nil {
		return "", fmt.Errorf("find the program of heldcall: %w", err)
	}
	words := []string{program, "hook", c.Client, "--timeout", (c.Wait - margin).String()}
	switch {
	case c.URL == "" && c.KeyFile != "":
		return "", usagef("--key-file needs --url")
	case c.URL == "":
		words = append(words, "--running")
	default:
		words = append(words, "--url", c.URL)
	}
	if c.KeyFile != "" {
		file, err := filepath.Abs(c.KeyFile)
		if err != nil {
			return "", err
		}
		words = append(words, "--key-file", file)
	}
	for i, word := range words {
		words[i] = shellWordOf(word)
	}
	return strings.Join(words, " "), nil
}

// shellWordOf writes a word for a shell.
func shellWordOf(word string) string {
	plain := func(r rune) bool {
		return (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') || strings.ContainsRune("/._-:=+@%,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Run removes the hook from the settings of a client.
func (c *hookRemove) Run(s *streams) error {
	settings := settingsFor(c.Client)
	return settings.change(s, c.User, c.Yes, settings.without)
}

// change shows what would change in a file of settings, and writes it.
func (s *hookSettings) change(streams *streams, user, yes bool, edit func([]byte) ([]byte, error)) error {
	file, err := s.file(user, os.LookupEnv)
	if err != nil {
		return err
	}
	before, err := s.read(file)
	if err != nil {
		return err
	}
	after, err := edit(before)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if bytes.Equal(before, after) {
		fmt.Fprintf(streams.out, "%s stays as it is.\n", sanitize.Line(file))
		return nil
	}
	fmt.Fprint(streams.out, sanitize.Lines(policylearn.Diff(file, before, after)))
	if !yes {
		fmt.Fprint(streams.err, "Write this? [y/N] ")
		answer := make([]byte, 1)
		if n, err := streams.in.Read(answer); n == 0 || (err != nil && !errors.Is(err, io.EOF)) || (answer[0] != 'y' && answer[0] != 'Y') {
			return errors.New("nothing was written")
		}
	}
	if before != nil {
		if err := os.WriteFile(file+".heldcall-backup", before, 0o600); err != nil {
			return fmt.Errorf("keep the settings as they were: %w", err)
		}
	}
	if err := replaceSettings(file, after); err != nil {
		return err
	}
	fmt.Fprintf(streams.out, "Written to %s. See it work: let %s make a call that your policy denies.\n", sanitize.Line(file), s.client)
	return nil
}

// replaceSettings replaces a file at once, or makes it.
func replaceSettings(file string, text []byte) error {
	if name, err := filepath.EvalSymlinks(file); err == nil {
		file = name
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the folder of the settings: %w", err)
	}
	return policylearn.Replace(file, text, mode)
}

// Run prints where hooks of heldcall are.
func (c *hookStatus) Run(s *streams) error {
	for _, settings := range settingsOf() {
		if c.Client != "all" && c.Client != settings.client {
			continue
		}
		for _, user := range []bool{true, false} {
			file, err := settings.file(user, os.LookupEnv)
			if err != nil {
				return err
			}
			text, err := settings.read(file)
			state := "no hook of heldcall"
			switch places := settings.places(text); {
			case err != nil:
				state = err.Error()
			case text == nil:
				state = "no file"
			case len(places) > 0:
				at := places[0]
				if settings.group && !strings.Contains(strings.TrimPrefix(at, settings.list), ".hooks.") {
					at += ".hooks.0"
				}
				state = gjson.GetBytes(text, at+".command").String()
			}
			fmt.Fprintf(s.out, "%-11s %s: %s\n", settings.client, sanitize.Line(file), sanitize.Line(state))
		}
	}
	return nil
}
