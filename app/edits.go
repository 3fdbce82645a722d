package app

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// checkEdit has policy judge arguments that a reviewer has changed.
func (a *App) checkEdit(r approvals.Request, args json.RawMessage) ([]approvals.Demand, error) {
	text := string(args)
	if r.Details.FreeText {
		if err := json.Unmarshal(args, &text); err != nil {
			return nil, &approvals.InvalidError{Field: "modified_args", Reason: "the tool takes free text: give it as a JSON string"}
		}
	}
	edited := intercept.Call{Name: r.ToolName, Arguments: text, FreeText: r.Details.FreeText, Ambiguous: r.Details.Doubts}
	calls, wraps := edited.Wrapped()
	switch {
	case !wraps:
		calls = []intercept.Call{edited}
	case len(calls) == 0:
		return nil, &approvals.InvalidError{Field: "modified_args", Reason: "they wrap other calls in a way that cannot be read with certainty"}
	}
	var wants []approvals.Demand
	for _, c := range calls {
		more, err := a.checkCall(&r, c)
		if err != nil {
			return nil, err
		}
		wants = append(wants, more...)
	}
	return wants, nil
}

// checkCall has policy judge a call that a reviewer has changed.
func (a *App) checkCall(r *approvals.Request, c intercept.Call) ([]approvals.Demand, error) {
	call := policy.Call{
		Tool: c.Name, Arguments: c.Arguments, FreeText: c.FreeText, Ambiguous: c.Ambiguous,
		Principal: r.Principal, Session: r.SessionID, Run: r.RunID, Model: r.Model, Dialect: r.Dialect,
		Now: time.Now(),
	}
	if v, denied := a.policies.deniesEdit(call); denied {
		return nil, &approvals.InvalidError{Field: "modified_args", Reason: fmt.Sprintf("%s denies them: %s", v.Rule, v.Reason)}
	}
	return a.policies.wantsOfEdit(call), nil
}
