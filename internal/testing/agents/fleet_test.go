//go:build agents

package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// prompt is the task that every agent is given.
const prompt = "Do the four steps of the task."

// agent is one command-line agent and the model it is used with.
type agent struct {
	name   string
	source string // folder of its pins
	api    fakemodel.API
	tool   string // its shell tool
	// call is the model's call of that tool with a shell command.
	call func(id, script string) fakemodel.Call
	// argv and environment start it with the address of its model.
	argv        func(dir string, at endpoint) []string
	environment []string
	// socket: its model has Responses over WebSocket.
	socket bool
	// login is the Authorization that its model gets, "" for any.
	login string
	// compresses: its requests are compressed, which the scripted model does not read.
	compresses bool
	// silent: it does not print an answer without calls.
	silent bool
	// equipped is the command as heldcall run starts it, where that is another.
	equipped func(argv []string, at endpoint) []string
	// variables are those that heldcall run sets for this agent only.
	variables func(at endpoint) []string
	// elsewhere are the hosts that it tries to reach beside its model's, whatever its
	// settings.
	elsewhere []string
	// files are put into its home folder before the start.
	files func(at endpoint) map[string]string
}

// endpoint is where an agent finds its model, in the two ways that clients want it.
type endpoint struct{ openAI, anthropic string }

// environment has the variables that heldcall run sets for an endpoint.
func (e endpoint) environment() []string {
	return []string{"OPENAI_BASE_URL=" + e.openAI, "OPENAI_API_BASE=" + e.openAI, "ANTHROPIC_BASE_URL=" + e.anthropic}
}

// fleet are the agents that are always tried. Their traffic to other hosts than their model's is
// switched off: it is not part of the test.
func fleet(t *testing.T) []agent {
	codex := func(dir string) string {
		return native(t, dir, map[string]string{
			"linux/amd64":  "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
			"linux/arm64":  "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex",
			"darwin/amd64": "@openai/codex-darwin-x64/vendor/x86_64-apple-darwin/bin/codex",
			"darwin/arm64": "@openai/codex-darwin-arm64/vendor/aarch64-apple-darwin/bin/codex",
		})
	}
	return []agent{
		{
			name: "codex", source: "npm", api: fakemodel.Responses, tool: "exec_command", call: calling("exec_command", "cmd"),
			argv:        codexWith(codex, "gpt-5.5"),
			environment: []string{"CODEX_API_KEY=sk-test"},
			equipped: func(argv []string, at endpoint) []string {
				return slices.Insert(argv, 1, "-c", "openai_base_url="+at.openAI)
			},
			files: func(endpoint) map[string]string { return map[string]string{codexFile: codexQuiet} },
		},
		{
			// The same over one WebSocket, which it prefers.
			name: "codex-websocket", source: "npm", api: fakemodel.Responses, tool: "exec_command", call: calling("exec_command", "cmd"), socket: true,
			argv:        codexWith(codex, "gpt-5.5"),
			environment: []string{"CODEX_API_KEY=sk-test"},
			equipped: func(argv []string, at endpoint) []string {
				return slices.Insert(argv, 1, "-c", "openai_base_url="+at.openAI)
			},
			files: func(endpoint) map[string]string { return map[string]string{codexFile: codexQuiet} },
		},
		{
			// A newer model: its tools are in the input, and it writes JavaScript that
			// calls the shell.
			name: "codex-code-mode", source: "npm", api: fakemodel.Responses, tool: "exec", call: scripting,
			argv:        codexWith(codex, "gpt-6-sol"),
			environment: []string{"CODEX_API_KEY=sk-test"},
			files: func(at endpoint) map[string]string {
				provider := fmt.Sprintf(codexProvider, at.openAI)
				if !*long {
					provider += "stream_idle_timeout_ms = 5000\n" // the default is 300 s
				}
				return map[string]string{codexFile: `model_provider = "heldcall"` + codexQuiet + provider}
			},
		},
		{
			name: "claude-code", source: "npm", api: fakemodel.Messages, tool: "Bash", call: calling("Bash", "command"),
			argv: func(dir string, _ endpoint) []string {
				claude := native(t, dir, map[string]string{
					"linux/amd64":  "@anthropic-ai/claude-code-linux-x64/claude",
					"linux/arm64":  "@anthropic-ai/claude-code-linux-arm64/claude",
					"darwin/amd64": "@anthropic-ai/claude-code-darwin-x64/claude",
					"darwin/arm64": "@anthropic-ai/claude-code-darwin-arm64/claude",
				})
				return []string{claude, "--print", "--dangerously-skip-permissions", prompt}
			},
			environment: []string{"ANTHROPIC_API_KEY=sk-ant-test", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1"},
		},
		{
			name: "opencode-responses", source: "npm", api: fakemodel.Responses, tool: "bash", call: calling("bash", "command"),
			argv:        opencodeWith(t, "openai/gpt-5"),
			environment: append([]string{"OPENAI_API_KEY=sk-test"}, opencodeQuiet...),
			files:       func(endpoint) map[string]string { return map[string]string{opencodeFile: opencodePlain} },
		},
		{
			name: "opencode-chat", source: "npm", api: fakemodel.Chat, tool: "bash", call: calling("bash", "command"),
			argv:        opencodeWith(t, "compatible/scripted"),
			environment: opencodeQuiet,
			files:       func(endpoint) map[string]string { return map[string]string{opencodeFile: opencodeCompatible} },
		},
		{
			name: "opencode-messages", source: "npm", api: fakemodel.Messages, tool: "bash", call: calling("bash", "command"),
			argv:        opencodeWith(t, "anthropic/claude-sonnet-4-5"),
			environment: append([]string{"ANTHROPIC_API_KEY=sk-ant-test"}, opencodeQuiet...),
			files:       func(endpoint) map[string]string { return map[string]string{opencodeFile: opencodePlain} },
		},
		{
			name: "qwen-code", source: "npm", api: fakemodel.Chat, tool: "run_shell_command", call: calling("run_shell_command", "command"),
			argv: func(dir string, _ endpoint) []string {
				return []string{"node", module(dir, ".bin/qwen"), "--yolo", prompt}
			},
			environment: []string{"OPENAI_API_KEY=sk-test", "OPENAI_MODEL=scripted", "QWEN_CODE_SUPPRESS_YOLO_WARNING=1"},
			files:       func(endpoint) map[string]string { return map[string]string{".qwen/settings.json": qwenQuiet} },
		},
	}
}

const (
	codexFile  = ".codex/config.toml"
	codexQuiet = `
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
apps = false
plugins = false
remote_plugin = false
`
	codexProvider = `
[model_providers.heldcall]
name = "heldcall"
base_url = %q
env_key = "CODEX_API_KEY"
wire_api = "responses"
stream_max_retries = 0
`
	opencodeFile       = ".config/opencode/opencode.json"
	opencodePlain      = `{"autoupdate":false,"share":"disabled"}`
	opencodeCompatible = `{"autoupdate":false,"share":"disabled","provider":{"compatible":{
		"npm":"@ai-sdk/openai-compatible","name":"compatible","options":{"baseURL":"{env:OPENAI_BASE_URL}","apiKey":"sk-test"},"models":{"scripted":{}}}}}`
	qwenQuiet = `{"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false,"preventSystemSleep":false}}`
)

var opencodeQuiet = []string{
	"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
	"npm_config_offline=true", // it would install its plugin package
}

func codexWith(codex func(dir string) string, model string) func(string, endpoint) []string {
	return func(dir string, _ endpoint) []string {
		return []string{codex(dir), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--model", model, prompt}
	}
}

func opencodeWith(t *testing.T, model string) func(string, endpoint) []string {
	return func(dir string, _ endpoint) []string {
		opencode := native(t, dir, map[string]string{
			"linux/amd64":  "opencode-linux-x64/bin/opencode",
			"linux/arm64":  "opencode-linux-arm64/bin/opencode",
			"darwin/amd64": "opencode-darwin-x64/bin/opencode",
			"darwin/arm64": "opencode-darwin-arm64/bin/opencode",
		})
		return []string{opencode, "run", "--auto", "--model", model, prompt}
	}
}

// calling makes calls of a tool whose argument is a shell command.
func calling(tool, argument string) func(id, script string) fakemodel.Call {
	return func(id, script string) fakemodel.Call {
		arguments, err := json.Marshal(map[string]string{argument: script, "description": "A step of the task."})
		if err != nil {
			panic(err)
		}
		return fakemodel.Call{ID: id, Name: tool, Arguments: string(arguments)}
	}
}

// scripting makes calls of Codex's exec, whose input is JavaScript.
func scripting(id, script string) fakemodel.Call {
	return fakemodel.Call{ID: id, Name: "exec", Custom: true, Arguments: fmt.Sprintf("const r = await tools.exec_command({cmd: %q});\ntext(r.output);\n", script)}
}

// equip makes the agent's home and work folders and returns them.
func (a agent) equip(t *testing.T, at endpoint) (home, work string) {
	t.Helper()
	dir := t.TempDir()
	home, work = filepath.Join(dir, "home"), filepath.Join(dir, "work")
	files := map[string]string{}
	if a.files != nil {
		files = a.files(at)
	}
	for _, folder := range []string{home, work} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home, work
}
