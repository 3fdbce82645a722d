package call_test

import (
	"encoding/json"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/starter"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// TestWindowsShell: tools that run PowerShell on Windows are judged by its commands, those that run another shell there are not.
func TestWindowsShell(t *testing.T) {
	text, err := starter.Policy(starter.Options{Workspace: []string{`D:\dev\app`}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("policy.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	p = p.In(p.Workspace().Of(workspace.Agent{Folder: `D:\dev\app`}))
	for _, tt := range []struct {
		tool, command, workdir string
		tainted                bool
		want                   policy.Action
	}{
		{"shell_command", `Get-Content src\gate.ts | Select-Object -First 60`, `D:\dev\app`, false, policy.Allow},
		{"shell_command", `npx eslint src\main --max-warnings 0`, `D:\dev\app`, false, policy.Allow},
		{"shell_command", `Write-Host "tests"; npm test`, "", false, policy.Allow},
		{"shell_command", `npm test src\gate.test.ts`, "", true, policy.Ask},
		{"shell_command", `Get-Content src\gate.ts`, `D:\dev\second`, false, policy.Ask},
		{"shell_command", `Get-Content C:\Users\me\x.ts`, "", false, policy.Ask},
		{"shell_command", `npm test \-\-script-shell=evil`, "", false, policy.Ask},
		{"shell_command", `Remove-Item -Recurse src`, "", false, policy.Ask},
		{"shell_command", `git push`, "", false, policy.Ask},
		{"Bash", `Get-Content src\gate.ts`, "", false, policy.Ask},
	} {
		arguments := map[string]string{"command": tt.command}
		if tt.workdir != "" {
			arguments["workdir"] = tt.workdir
		}
		text, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		if v := p.Judge(policy.Call{Tool: tt.tool, Arguments: string(text), Tainted: tt.tainted}); v.Action != tt.want {
			t.Errorf("%s: %s in %q: %s by %s (%s), want %s", tt.tool, tt.command, tt.workdir, v.Action, v.Rule, v.Reason, tt.want)
		}
	}
}
