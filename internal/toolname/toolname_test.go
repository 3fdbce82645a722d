package toolname_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/toolname"
)

// TestNear: which offered tool agents run in place of a name that is not offered.
func TestNear(t *testing.T) {
	offered := []string{"bash", "delete_repo", "mcp__github__delete_repo", "readFile", "web_search_tool"}
	for name, want := range map[string]string{
		"Bash": "bash", "BASH": "bash", "bAsH": "bash", "functions.bash": "bash", "functions/bash": "bash", "functions:bash": "bash",
		"default_api.bash": "bash", "default_api:bash": "bash", "mcp__bash": "bash", "MCP__Bash": "bash", "a.b.c.bash": "bash", "bash:0": "bash", "functions.bash:0": "bash", "bash#1": "bash",
		"bash_tool": "bash", "BashTool": "bash", "bash-tool": "bash", "bash_tool:3": "bash", "Bash_Tool": "bash", "bash_0": "bash",
		"bash<|channel|>commentary": "bash", "bash<|channel|>json": "bash", "bash <|message|>": "bash", "<|tool|>bash": "bash", "bash<｜tool▁sep｜>": "bash",
		"bash ": "bash", " bash": "bash", "bash\n": "bash", "bash()": "bash", "bash{": "bash", "`bash`": "bash", "\"bash\"": "bash", "bash.": "bash", "bash|": "bash",
		"ｂａｓｈ": "bash", "bаsh": "", "b\u200bash": "bash", "básh": "bash", "ba\u017fh": "bash", "to=functions.bash": "bash", "to=functions.bash commentary": "bash",
		"delete-repo": "delete_repo", "deleteRepo": "delete_repo", "DeleteRepo": "delete_repo", "DELETE_REPO": "delete_repo", "delete repo": "delete_repo", "delete.repo": "delete_repo",
		"deleterepo": "delete_repo", "delete__repo": "delete_repo", "github.delete_repo": "mcp__github__delete_repo", "delete_repo_tool": "delete_repo", "deleteRepoTool:12": "delete_repo",
		"mcp__github__deleteRepo": "mcp__github__delete_repo", "MCP__GITHUB__DELETE_REPO": "mcp__github__delete_repo", "mcp_github_delete_repo": "mcp__github__delete_repo",
		"functions.mcp__github__delete_repo": "mcp__github__delete_repo", "github__delete_repo": "mcp__github__delete_repo",
		"read_file": "readFile", "web_search": "web_search_tool", "WebSearch": "web_search_tool",
		"mcp__srv__bash": "bash", "MCP__Srv__Bash:0": "bash", "mcp__srv__sub__bash": "bash", "functions.mcp__srv__bash": "bash", "mcp__functions__bash_tool": "bash", "mcp__gitlab__delete_repo": "delete_repo",
		"functions_bash": "bash", "default_api_bash": "bash", "tools-bash": "bash", "tool_bash": "bash", "mcp_bash": "bash", "toolBash": "bash", "bashtool": "bash", "search_web": "",
		"bush": "", "bas": "", "delete": "", "repo": "", "": "", "mcp__gitlab__list": "", "tool": "",
	} {
		near := toolname.Near(name, offered)
		if got := strings.Join(near[:min(1, len(near))], ""); got != want {
			t.Errorf("%q is near %q, want %q", name, near, want)
		}
	}
}

// TestNearMCP: agents leave the server out, or write it in another way, and do not take one server for another.
func TestNearMCP(t *testing.T) {
	offered := []string{"mcp__github__delete_repo", "mcp__srv__bash"}
	for name, want := range map[string]string{
		"srv__bash": "mcp__srv__bash", "srv.bash": "mcp__srv__bash", "srv:bash": "mcp__srv__bash", "srv/bash": "mcp__srv__bash", "srv_bash": "mcp__srv__bash", "bash": "mcp__srv__bash",
		"mcp.srv.bash": "mcp__srv__bash", "mcp/srv/bash": "mcp__srv__bash", "functions.mcp__srv__bash": "mcp__srv__bash", "mcp__srv__Bash_tool": "mcp__srv__bash",
		"github.deleteRepo": "mcp__github__delete_repo", "delete_repo": "mcp__github__delete_repo",
		"mcp__gitlab__delete_repo": "", "mcp__srv2__bash": "", "mcp__github__bash": "", "srv": "", "mcp": "",
	} {
		near := toolname.Near(name, offered)
		if got := strings.Join(near[:min(1, len(near))], ""); got != want {
			t.Errorf("%q is near %q, want %q", name, near, want)
		}
	}
}

func TestNearest(t *testing.T) {
	offered := []string{"bash", "delete_repo", "list_repos"}
	for name, want := range map[string]string{
		"Bash": "bash", "bush": "bash", "delete_rep": "delete_repo", "deleet_repos": "delete_repo", "list_repo": "list_repos", "teleport": "", "": "",
		strings.Repeat("b", 1<<16): "",
	} {
		if got := toolname.Nearest(name, offered); got != want {
			t.Errorf("nearest to %.20q is %q, want %q", name, got, want)
		}
	}
}

// TestLongNames: a hostile name costs little, and its end still counts.
func TestLongNames(t *testing.T) {
	for _, prefix := range []string{strings.Repeat("a.", 1<<19), strings.Repeat("__", 1<<19), strings.Repeat("<", 1<<19) + "."} {
		if near := toolname.Near(prefix+"bash", []string{"bash"}); !slices.Contains(near, "bash") {
			t.Errorf("%.10q...bash is near %q", prefix, near)
		}
	}
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"bash": "bash", "BASH": "bash", "deleteRepo": "delete_repo", "HTMLReader": "html_reader", "mcp__github__": "mcp_github_", "delete-repo": "delete_repo",
		"a1B": "a1_b", "": "", "Ünïx": "unix", "a  b": "a_b",
	} {
		if got := toolname.Snake(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		glob, name string
		want       bool
	}{
		{"mcp__github__*", "mcp__github__delete", true},
		{"mcp__github__*", "MCP__GitHub__deleteRepo", true},
		{"mcp__github__*", "mcp-github-delete", true},
		{"mcp__git__*", "mcp__github__delete", false},
		{"mcp__github__*", "mcp__github_x__delete", true},
		{"mcp__github__delete_*", "MCP__GitHub__deleteRepo", true},
		{"*delete*", "DeleteRepo", true},
		{"*_delete", "repoDelete", true},
		{"delete_*", "deleter", false},
		{"delete_*", "deleteR", true},
		{"deleteRepo*", "deleterepo_x", true},
		{"a.b*", "a_b", true},
		{"x*", "y", false},
		{"*+*", "a+b", true},
	} {
		if got := toolname.Pattern(strings.Split(tt.glob, "*")).MatchString(toolname.Snake(tt.name)); got != tt.want {
			t.Errorf("%s, %s: %t", tt.glob, tt.name, got)
		}
	}
}

func FuzzNear(f *testing.F) {
	for _, seed := range []string{"Bash", "functions.bash:0", "mcp__a__b", "<|x|>bash", "ß", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if keys := toolname.Keys(name); keys[0] != "" && len(name) < 512 && !slices.Contains(toolname.Near(name, []string{name}), name) {
			t.Errorf("%q is not near itself: %q", name, keys)
		}
		toolname.Snake(name)
		toolname.Nearest(name, []string{"bash", name})
	})
}
