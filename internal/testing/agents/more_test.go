//go:build agents

package agents_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// more are the agents that are tried with -all only.
func more(t *testing.T) []agent {
	return []agent{
		{
			name: "copilot-chat", source: "npm-more", api: fakemodel.Chat, tool: "bash", call: calling("bash", "command"),
			argv:        copilot(t),
			environment: []string{"COPILOT_PROVIDER_API_KEY=sk-test", "COPILOT_MODEL=scripted"},
			variables:   func(at endpoint) []string { return []string{"COPILOT_PROVIDER_BASE_URL=" + at.openAI} },
			elsewhere:   copilotElsewhere,
		},
		{
			name: "copilot-messages", source: "npm-more", api: fakemodel.Messages, tool: "bash", call: calling("bash", "command"),
			argv:        copilot(t),
			environment: []string{"COPILOT_PROVIDER_API_KEY=sk-test", "COPILOT_MODEL=scripted", "COPILOT_PROVIDER_TYPE=anthropic"},
			variables:   func(at endpoint) []string { return []string{"COPILOT_PROVIDER_BASE_URL=" + at.anthropic} },
			elsewhere:   copilotElsewhere,
		},
		{
			name: "kilo", source: "npm-more", api: fakemodel.Responses, tool: "bash", call: calling("bash", "command"),
			argv: func(dir string, _ endpoint) []string {
				kilo := native(t, dir, map[string]string{
					"linux/amd64":  "@kilocode/cli-linux-x64/bin/kilo",
					"linux/arm64":  "@kilocode/cli-linux-arm64/bin/kilo",
					"darwin/amd64": "@kilocode/cli-darwin-x64/bin/kilo",
					"darwin/arm64": "@kilocode/cli-darwin-arm64/bin/kilo",
				})
				return []string{kilo, "run", "--auto", "--model", "openai/gpt-5", prompt}
			},
			environment: []string{"OPENAI_API_KEY=sk-test", "npm_config_offline=true"},
			elsewhere:   []string{"api.kilo.ai", "models.dev", "us.i.posthog.com"},
		},
		{
			name: "pi-responses", source: "npm-more", api: fakemodel.Responses, tool: "bash", call: calling("bash", "command"),
			argv: pi("openai/gpt-5"), environment: []string{"OPENAI_API_KEY=sk-test"}, files: piFiles,
		},
		{
			name: "pi-messages", source: "npm-more", api: fakemodel.Messages, tool: "bash", call: calling("bash", "command"),
			argv: pi("anthropic/claude-sonnet-4-5"), environment: []string{"ANTHROPIC_API_KEY=sk-ant-test"}, files: piFiles,
		},
		{
			name: "continue", source: "npm-more", api: fakemodel.Responses, tool: "Bash", call: calling("Bash", "command"),
			argv: func(dir string, _ endpoint) []string {
				return []string{"node", module(dir, "@continuedev/cli/dist/cn.js"), "--config", "../home/config.yaml", "--auto", "--print", prompt}
			},
			environment: []string{"CONTINUE_TELEMETRY_ENABLED=0"},
			files: func(at endpoint) map[string]string {
				return map[string]string{"config.yaml": fmt.Sprintf(continueConfig, at.openAI)}
			},
		},
		{
			name: "llm", source: "pypi-llm", api: fakemodel.Chat, tool: "bash", call: calling("bash", "command"),
			argv: func(dir string, _ endpoint) []string {
				return []string{venv(dir, "llm"), "--model", "gpt-4o", "--functions", "../home/tools.py", "--tools-debug", prompt}
			},
			environment: []string{"OPENAI_API_KEY=sk-test"},
			files:       func(endpoint) map[string]string { return map[string]string{"tools.py": llmTools} },
		},
		{
			name: "mini-swe-agent", source: "pypi-mini-swe-agent", silent: true, api: fakemodel.Chat, tool: "bash", call: calling("bash", "command"),
			argv: func(dir string, _ endpoint) []string {
				return []string{venv(dir, "mini"), "--yolo", "--exit-immediately", "--model", "openai/scripted", "--task", prompt}
			},
			environment: []string{"OPENAI_API_KEY=sk-test", "MSWEA_CONFIGURED=true", "MSWEA_COST_TRACKING=ignore_errors", "LITELLM_LOCAL_MODEL_COST_MAP=True"},
		},
		{
			name: "gptme", source: "pypi-gptme", api: fakemodel.Responses, tool: "shell", call: calling("shell", "command"),
			argv: func(dir string, _ endpoint) []string {
				return []string{venv(dir, "gptme"), "--non-interactive", "--tool-format", "tool", "--model", "openai/gpt-5", prompt}
			},
			environment: []string{"OPENAI_API_KEY=sk-test"},
			elsewhere:   []string{"openaipublic.blob.core.windows.net"},
		},
	}
}

// venv is the path of a program of an installation from PyPI.
func venv(dir, program string) string { return filepath.Join(dir, "venv", "bin", program) }

var copilotElsewhere = []string{"api.github.com", "copilot-telemetry.githubusercontent.com"}

func copilot(t *testing.T) func(string, endpoint) []string {
	return func(dir string, _ endpoint) []string {
		program := native(t, dir, map[string]string{
			"linux/amd64":  "@github/copilot-linux-x64/copilot",
			"linux/arm64":  "@github/copilot-linux-arm64/copilot",
			"darwin/amd64": "@github/copilot-darwin-x64/copilot",
			"darwin/arm64": "@github/copilot-darwin-arm64/copilot",
		})
		return []string{program, "--allow-all-tools", "--prompt", prompt}
	}
}

func pi(model string) func(string, endpoint) []string {
	return func(dir string, _ endpoint) []string {
		return []string{"node", module(dir, "@mariozechner/pi-coding-agent/dist/cli.js"), "--offline", "--print", "--model", model, prompt}
	}
}

func piFiles(at endpoint) map[string]string {
	const models = `{"providers":{"openai":{"baseUrl":%q},"anthropic":{"baseUrl":%q}}}`
	return map[string]string{".pi/agent/models.json": fmt.Sprintf(models, at.openAI, at.anthropic)}
}

const (
	continueConfig = `
name: scripted
version: 1.0.0
schema: v1
models:
  - {name: scripted, provider: openai, model: gpt-5, apiKey: sk-test, apiBase: %q, roles: [chat]}
`
	llmTools = `
import subprocess

def bash(command: str, description: str = "") -> str:
    """Run a shell command."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    return done.stdout + done.stderr
`
)
