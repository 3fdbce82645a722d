//go:build clients

package clients_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/heldcall/heldcall/internal/pinned"
	"github.com/heldcall/heldcall/internal/scripted"
)

// client is one program that speaks with an SDK.
type client struct {
	name    string
	api     scripted.API
	command []string
	modes   []string
}

// onlyClients is an environment variable that narrows the clients while working on
// some of them: a regular expression of their names.
const onlyClients = "HELDCALL_CLIENTS"

func everyClient() bool { return os.Getenv(onlyClients) == "" }

// install readies the clients and returns them.
func install(t *testing.T) []client {
	t.Helper()
	scripts := pinned.Scripts(t, "npm")
	interpreter := pinned.Python(t, "pypi")
	gosdk := filepath.Join(t.TempDir(), "gosdk")
	pinned.Command(t, "gosdk", "go", "build", "-o", gosdk, ".")

	node := func(script string, args ...string) []string {
		return append([]string{"node", filepath.Join(scripts, script)}, args...)
	}
	python := func(script string, args ...string) []string {
		return append([]string{interpreter, "-B", filepath.Join("pypi", script)}, args...)
	}
	wanted, err := regexp.Compile(os.Getenv(onlyClients))
	if err != nil {
		t.Fatalf("%s: %v", onlyClients, err)
	}
	return slices.DeleteFunc(clients(node, python, gosdk), func(c client) bool { return !wanted.MatchString(c.name) })
}

// clients are all programs. node and python are the commands that run a script
// with its arguments, gosdk is a program itself.
func clients(node, python func(script string, args ...string) []string, gosdk string) []client {
	two, three := []string{"whole", "stream"}, []string{"whole", "raw", "helper"}
	// Responses go on with everything sent again, or from what the provider stored.
	both := func(modes []string) []string {
		all := slices.Clone(modes)
		for _, mode := range modes {
			all = append(all, "stored-"+mode)
		}
		return all
	}
	return []client{
		{"openai-node", scripted.Chat, node("openai.mjs"), three},
		{"openai-node-responses", scripted.Responses, node("openai-responses.mjs"), append(three, "stored", "stateless")},
		{"openai-node-6.45", scripted.Responses, node("openai-responses.mjs", "openai-6.45.0"), []string{"helper"}},
		{"agents-js", scripted.Responses, node("agents.mjs", "responses"), append(two, "stored")},
		{"agents-js-chat", scripted.Chat, node("agents.mjs", "chat"), two},
		{"anthropic-node", scripted.Messages, node("anthropic.mjs"), append(three, "thinking")},
		{"anthropic-node-0-60", scripted.Messages, node("anthropic.mjs", "anthropic-0.60"), []string{"whole", "helper"}},
		{"vercel-openai", scripted.Chat, node("vercel.mjs", "openai"), two},
		{"vercel-compatible", scripted.Chat, node("vercel.mjs", "openai-compatible"), two},
		{"vercel-responses", scripted.Responses, node("vercel.mjs", "responses"), append(two, "stateless")},
		{"vercel-anthropic", scripted.Messages, node("vercel.mjs", "anthropic"), append(two, "thinking")},
		{"langchain", scripted.Chat, node("langchain.mjs", "chat"), two},
		{"langchain-responses", scripted.Responses, node("langchain.mjs", "responses"), append(two, "stateless")},
		{"langchain-anthropic", scripted.Messages, node("langchain.mjs", "messages"), append(two, "thinking")},

		{"openai-python", scripted.Chat, python("openai_chat.py"), append(three, "careless")},
		{"openai-python-responses", scripted.Responses, python("openai_responses.py"), both(three)},
		{"anthropic-python", scripted.Messages, python("anthropic_messages.py"), three},
		{"langchain-python", scripted.Chat, python("langchain_chat.py", "chat"), append(two, "impatient")},
		{"langchain-python-responses", scripted.Responses, python("langchain_chat.py", "responses"), append(two, "impatient")},
		{"langchain-python-messages", scripted.Messages, python("langchain_chat.py", "messages"), two},
		{"pydantic-ai", scripted.Chat, python("pydantic_agent.py", "chat"), two},
		{"pydantic-ai-responses", scripted.Responses, python("pydantic_agent.py", "responses"), two},
		{"pydantic-ai-messages", scripted.Messages, python("pydantic_agent.py", "messages"), two},

		{"openai-go", scripted.Chat, []string{gosdk, "openai-go"}, two},
		{"openai-go-responses", scripted.Responses, []string{gosdk, "openai-go-responses"}, both(two)},
		{"anthropic-go", scripted.Messages, []string{gosdk, "anthropic-go"}, two},
		{"go-openai", scripted.Chat, []string{gosdk, "go-openai"}, two},
	}
}
