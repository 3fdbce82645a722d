package approvals_test

import (
	"fmt"

	"github.com/heldcall/heldcall/approvals"
)

func ExampleParseDecision() {
	for _, payload := range []string{
		`{"request_id":"01J9","action":"deny","note":"use the staging database"}`,
		`{"execution_id":"01J9","approved":true}`, // the fields of another tool
		`{"action":"approve","allow":false}`,
		`{"action":"deny","action":"approve"}`,
	} {
		d, err := approvals.ParseDecision([]byte(payload))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s %s %q\n", d.RequestID, d.Action, d.Note)
	}
	// Output:
	// 01J9 deny "use the staging database"
	// 01J9 approve ""
	// allow: false contradicts the rest of the decision (approve)
	// payload: not strict JSON of a decision: jsontext: duplicate object member name "action"
}
