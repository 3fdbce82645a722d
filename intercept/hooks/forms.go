package hooks

import (
	"slices"
	"time"
)

// forms are those of all clients.
var forms = []*Form{
	{Client: "claude-code", Agents: []string{"claude-code"}, Patience: 600 * time.Second, Event: "PreToolUse", render: (*Event).claudeCode},
	{Client: "codex", Agents: []string{"codex"}, Tools: []string{"Bash"}, Patience: 600 * time.Second, Event: "PreToolUse", render: (*Event).codex},
	{Client: "copilot", Agents: []string{"copilot", "claude-code"}, Patience: 30 * time.Second, Event: "PreToolUse", render: (*Event).copilot},
	{Client: "cursor", Agents: []string{"cursor"}, Tools: []string{"Shell", "Read", "Write", "Grep", "Task"}, Patience: 60 * time.Second, Event: "preToolUse", render: (*Event).cursor},
	{Client: "gemini", Agents: []string{"gemini-cli"}, Patience: 60 * time.Second, Event: "BeforeTool", render: (*Event).gemini},
}

// Clients are the names of the clients, in their order.
func Clients() (names []string) {
	for _, f := range forms {
		names = append(names, f.Client)
	}
	return names
}

// Of returns the form of a client, nil if it has none.
func Of(client string) *Form {
	if i := slices.IndexFunc(forms, func(f *Form) bool { return f.Client == client }); i >= 0 {
		return forms[i]
	}
	return nil
}
