package policy

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

func TestJudgeHosted(t *testing.T) {
	tests := []struct {
		policy, name string
		want         Action
	}{
		{"", "web_search", Allow},
		{"", "mcp:github", Ask},
		{"hosted_mcp: allow", "mcp:github", Allow},
		{"hosted_tools: allow", "web_search", Allow},
		{"hosted_tools: deny", "web_search", Deny},
		{"hosted_tools: deny\nhosted_mcp: allow", "mcp:github", Deny},
		{"hosted_tools: [web_search, 'mcp:git*']", "web_search", Allow},
		{"hosted_tools: [web_search, 'mcp:git*']", "mcp:github", Ask},
		{"hosted_tools: [web_search, 'mcp:git*']\nhosted_mcp: allow", "mcp:github", Allow},
		{"hosted_tools: [web_search]", "web_search_preview", Deny},
		{"hosted_tools: [web_search]", "code_interpreter", Deny},
		{"hosted_tools: ['*']", "code_interpreter", Allow},
		{"hosted_tools: ['mcp:https://mcp.example/*']", "mcp:https://mcp.example/a/sse", Ask},
		{"hosted_tools: ['mcp:https://mcp.example/*']", "mcp:https://mcp.example.evil.example/a", Deny},
		{"hosted_tools: ['mcp:*']", "mcp:", Ask},
		{"", "prompt", Deny},
		{"hosted_mcp: allow", "prompt", Allow},
		{"hosted_tools: allow", "prompt", Deny},
		{"hosted_tools: [prompt]", "prompt", Allow},
		{"hosted_tools: [web_search]\nhosted_mcp: allow", "prompt", Deny},
	}
	for _, tt := range tests {
		p, err := Parse("policy.yaml", []byte(tt.policy))
		if err != nil {
			t.Fatalf("%s: %v", tt.policy, err)
		}
		if v := p.JudgeHosted(approvals.Principal{}, tt.name); v.Action != tt.want || v.Reason == "" || v.Rule == "" || v.Listed != (v.Action != Deny && strings.Contains(tt.policy, "[")) {
			t.Errorf("%s: %s: %+v, want %s", tt.policy, tt.name, v, tt.want)
		}
	}
	for _, tt := range []struct{ policy, problem string }{
		{"hosted_tools: ask", "hosted_tools"},
		{"hosted_tools: []", "is empty"},
		{"hosted_tools: ['web_search(*)']", "without an argument"},
		{"hosted_mcp: deny", "hosted_mcp"},
	} {
		if _, err := Parse("policy.yaml", []byte(tt.policy)); err == nil || !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s: %v", tt.policy, err)
		}
	}
}
