package policy

import "testing"

// TestOwnTextsDoNotTaint: requests to this machine, and outputs of a code host that have only states and numbers, do not taint;
// what others can write does, also where it is hidden.
func TestOwnTextsDoNotTaint(t *testing.T) {
	p := mustParse(t, "taint: ['shell(curl:*)', 'shell(wget *)', 'shell(gh:*)', 'shell(npm view:*)', 'shell(cat vendor/*)', 'WebFetch']\n")
	for tainted, commands := range map[bool][]string{
		false: {
			"curl localhost:3000", "curl -s http://localhost:8080/health | head", "curl -sI http://127.0.0.1:3000/a", "curl -s localhost:3000/a > /tmp/a && jq .x /tmp/a", "sleep 1; curl -fsS http://localhost:3000",
			"gh auth status", "gh pr create --title x --body y", "gh issue comment 5 --body x", "gh pr view 5 --json state,mergeable", "gh run list --json status,conclusion --jq '.[0].status'", "gh pr view 5 --json=number,isDraft",
			"git push && gh pr create --fill", "cd src && gh pr ready 5", "ls", "go test ./...",
		},
		true: {
			"curl https://example.org", "curl -L localhost:3000", "curl localhost:3000 https://example.org", "curl -x http://evil localhost:3000", "curl localhost.evil.example", "curl -K x localhost", "curl localhost:3000; curl https://evil.example",
			"wget localhost", "gh issue view 5", "gh issue list", "gh pr view 5", "gh pr list", "gh pr checks", "gh pr status", "gh run list", "gh run view 5 --log", "gh repo view", "gh api user", "gh pr diff 5",
			"gh pr view 5 --json state,title", "gh pr view 5 --json body", "gh pr view 5 --json", "gh pr view 5 --json headRefName", "gh pr view 5 --json state --comments; gh issue view 5", "gh issue view 5 --json state,author",
			"gh auth status; gh issue view 5", "sh -c 'gh issue view 5'", "x=gh; $x issue view 5", "timeout 5 gh issue view 5", "xargs gh issue view < n", "gh auth status $(gh issue view 5)", "echo 5 | xargs gh pr view",
			"env gh issue list", "gh pr create --fill && gh pr view", "curl localhost:3000/$X", "eval \"gh issue view 5\"", "npm view x", "cat vendor/a", "curl -o gh localhost:3000; ./gh issue view 5",
			"./gh pr view --json state", "gh pr view 5 --json state --json body", "gh pr list --search --json state", "gh foo --json state", "gh pr view -- --json state", "gh search issues x --json state", "/tmp/curl localhost:3000",
		},
	} {
		for _, command := range commands {
			v := p.JudgeResult(Result{Call: Call{Tool: "Bash", Arguments: argument("command", command)}, Known: true, Texts: []string{"x"}})
			if (v.Taint != "") != tainted {
				t.Errorf("%q: taint %q, want %v", command, v.Taint, tainted)
			}
		}
	}
}
