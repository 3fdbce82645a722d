//go:build clients

package clients_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/testdeps"
)

// client is one program that speaks with an SDK.
type client struct {
	name    string
	api     fakemodel.API
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
	scripts := testdeps.Scripts(t, "npm")
	interpreter := testdeps.Python(t, "pypi")
	gosdk := testdeps.Program(t, "gosdk", ".")

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
		{"openai-node", fakemodel.Chat, node("openai.mjs"), append(three, "loop-whole", "loop")},
		{"openai-node-responses", fakemodel.Responses, node("openai-responses.mjs"), append(three, "stored", "stateless")},
		{"openai-node-6.45", fakemodel.Responses, node("openai-responses.mjs", "openai-6.45.0"), []string{"whole", "helper"}},
		{"agents-js", fakemodel.Responses, node("agents.mjs", "responses"), append(two, "stored")},
		{"agents-js-chat", fakemodel.Chat, node("agents.mjs", "chat"), two},
		{"anthropic-node", fakemodel.Messages, node("anthropic.mjs"), append(three, "thinking", "stored-loop-whole", "stored-loop")},
		{"anthropic-node-0-60", fakemodel.Messages, node("anthropic.mjs", "anthropic-0.60"), []string{"whole", "helper"}},
		{"vercel-openai", fakemodel.Chat, node("vercel.mjs", "openai"), two},
		{"vercel-compatible", fakemodel.Chat, node("vercel.mjs", "openai-compatible"), two},
		{"vercel-responses", fakemodel.Responses, node("vercel.mjs", "responses"), append(two, "stateless", "loop")},
		{"vercel-anthropic", fakemodel.Messages, node("vercel.mjs", "anthropic"), append(two, "thinking", "loop")},
		{"langchain", fakemodel.Chat, node("langchain.mjs", "chat"), two},
		{"langchain-responses", fakemodel.Responses, node("langchain.mjs", "responses"), append(two, "stateless")},
		{"langchain-anthropic", fakemodel.Messages, node("langchain.mjs", "messages"), append(two, "thinking")},

		{"openai-python", fakemodel.Chat, python("openai_chat.py"), append(three, "careless")},
		{"openai-python-responses", fakemodel.Responses, python("openai_responses.py"), both(three)},
		{"anthropic-python", fakemodel.Messages, python("anthropic_messages.py"), append(three, "stored-loop-whole", "stored-loop")},
		{"langchain-python", fakemodel.Chat, python("langchain_chat.py", "chat"), append(two, "impatient")},
		{"langchain-python-responses", fakemodel.Responses, python("langchain_chat.py", "responses"), append(two, "impatient")},
		{"langchain-python-messages", fakemodel.Messages, python("langchain_chat.py", "messages"), two},
		{"pydantic-ai", fakemodel.Chat, python("pydantic_agent.py", "chat"), two},
		{"pydantic-ai-responses", fakemodel.Responses, python("pydantic_agent.py", "responses"), two},
		{"pydantic-ai-messages", fakemodel.Messages, python("pydantic_agent.py", "messages"), two},

		{"openai-go", fakemodel.Chat, []string{gosdk, "openai-go"}, two},
		{"openai-go-responses", fakemodel.Responses, []string{gosdk, "openai-go-responses"}, both(two)},
		{"anthropic-go", fakemodel.Messages, []string{gosdk, "anthropic-go"}, two},
		{"go-openai", fakemodel.Chat, []string{gosdk, "go-openai"}, two},
	}
}
