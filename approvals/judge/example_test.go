package judge_test

import (
	"context"
	"fmt"

	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// One call is judged by one policy. [judge.Judge] has the policies of several clients,
// reloads them, and adds the grants in force.
func ExampleRules_Judge() {
	rules, err := policy.Parse("policy.yaml", []byte(`rules:
  - allow: [bash(ls *)]
  - deny: [bash(rm *)]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := judge.NewRules(rules)
	for _, command := range []string{"ls -l", "rm -r /srv", "make install"} {
		one, err := r.Judge(context.Background(), judge.Origin{}, intercept.Call{Name: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command)}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(command, "-", one.Verdict.Action, one.Verdict.Rule)
	}
	// Output:
	// ls -l - allow policy.yaml:2
	// rm -r /srv - deny policy.yaml:3
	// make install - ask default
}
