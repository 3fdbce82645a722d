package policy_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
)

// A policy judges one call of a shell tool: the first command is allowed, the second one
// needs approval.
func ExamplePolicy_Judge() {
	p, err := policy.Parse("policy.yaml", []byte(`
default: ask
tools:
  bash: {resource: command, as: shell, risk: high}
rules:
  - allow: ["bash(git status)"]
  - ask: ["bash(git push *)"]
    reviewers: [release]
    timeout: 10m
`))
	if err != nil {
		log.Fatal(err)
	}
	v := p.Judge(policy.Call{
		Tool:      "bash",
		Arguments: `{"command": "git status && git push origin main"}`,
		Principal: approvals.Principal{Tenant: "default", User: "ann", Agent: "coder"},
	})
	fmt.Println(v.Action, "by", v.Rule)
	fmt.Println(v.Reason)
	fmt.Println("risk:", v.Risk)
	fmt.Println("reviewers:", strings.Join(v.Reviewers, ", "), "within", v.Timeout)
	fmt.Println("commands:", strings.Join(v.Commands, "; "))
	fmt.Println("suggested:", strings.Join(v.Suggested, ", "))
	// Output:
	// ask by policy.yaml:7
	// A policy rule requires approval for bash(git push *).
	// risk: high
	// reviewers: release within 10m0s
	// commands: git status; git push origin main
	// suggested: bash(git status), bash(git push origin main), bash(git status:./**)
}
