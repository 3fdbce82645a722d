package judge

import (
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
)

// Result is the result of a call in a request.
type Result struct {
	Call  intercept.Call
	Known bool     // false: nothing is known of the call but perhaps its id
	Texts []string // see [toolresult.Content]
	// Unreadable reports that not all texts were found.
	Unreadable bool
	Message    bool // it is no result: see [toolresult.Content]
}

// JudgesResults reports whether the policy has rules about results.
func (r *Rules) JudgesResults() bool { return r.policy.JudgesResults() }

// DeniesUnseen is [policy.Policy.DeniesUnseen].
func (r *Rules) DeniesUnseen() bool { return r.policy.DeniesUnseen() }

// JudgeResult returns the verdict on a result. The policy remembers it by the key, which must
// be different for different results and calls.
func (r *Rules) JudgeResult(key policy.ResultKey, result func() Result) *policy.ResultVerdict {
	return r.policy.JudgeResultOnce(key, func() policy.Result {
		var nowhere Origin
		one := result()
		return policy.Result{Call: nowhere.call(one.Call), Known: one.Known, Texts: one.Texts, Unreadable: one.Unreadable, Message: one.Message}
	})
}
