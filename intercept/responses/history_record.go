package responses

import (
	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// answerRecord is what heldcall remembers of an answer that the agent got in part or changed.
// Items are kept as the bytes that were sent, so that each splice is the same.
type answerRecord struct {
	intercept.TurnFingerprint
	intercept.KeptAnswer
	Rounds       []answerRound `json:"rounds,omitempty"`
	Conversation string        `json:"conversation,omitempty"`
	// Ruled are the rulings on the calls, for later requests for the same answer.
	Ruled []ruledCall `json:"ruled,omitempty"`
	// Grants are the approvals among Missing, each for one request.
	Grants []mcpApproval `json:"grants,omitempty"`
	// HostedRuns are the calls that the provider ran after an approval, by the id of the
	// approval request.
	HostedRuns map[string]hostedRun `json:"hosted_runs,omitempty"`
	// Spent is the approval that a request has used, in a record of its use.
	Spent string `json:"spent,omitempty"`
	// Delivered are the answers of a conversation whose missing items upstream has.
	Delivered []string `json:"told,omitempty"`
	// Decided are texts about parked calls, in a record of [notice.DecidedLater].
	Decided []string `json:"decided,omitempty"`
}

// answerRound is one answer of upstream: all of the model's items, and the outputs from
// heldcall.
type answerRound struct {
	Items   []answerPart `json:"items"`
	Outputs []string     `json:"outputs,omitempty"`
}

// answerPart is one output item. One that the agent saw is found again by its ids and text.
type answerPart struct {
	Seen    bool   `json:"seen,omitempty"`
	Raw     string `json:"raw,omitempty"` // as the model made it; for a seen item, only where agents may leave it out or change it
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	Call    string `json:"call,omitempty"`
	Name    string `json:"name,omitempty"`
	Text    string `json:"text,omitempty"`
	Sealed  string `json:"sealed,omitempty"`  // fingerprint of its encrypted content
	Unknown bool   `json:"unknown,omitempty"` // to upstream: heldcall has made it
}

// ruledCall is the ruling on a call.
type ruledCall struct {
	Call         string           `json:"call"` // fingerprint
	Action       intercept.Action `json:"fate"`
	Arguments    string           `json:"arguments,omitempty"`
	ModelMessage string           `json:"told,omitempty"`
}

// sealedFingerprint is the fingerprint of the encrypted content of a reasoning item.
func sealedFingerprint(item gjson.Result) string {
	if content := item.Get("encrypted_content").Str; content != "" {
		return intercept.Fingerprint(content)
	}
	return ""
}

// seenCall is the fingerprint of a call that the agent got or repeats. Only function calls
// have their input in one field, which agents do not rewrite.
func seenCall(typ, id, name, input string) intercept.CallFingerprint {
	if typ != "function_call" && typ != "custom_tool_call" {
		return intercept.CallFingerprint{ID: id, Name: name}
	}
	return intercept.NewCallFingerprint(id, name, input)
}

// mcpApproval is an approval that the agent's next request brings.
type mcpApproval struct {
	ID      string `json:"id"`      // of the approval request
	Key     string `json:"key"`     // no other approval request has it
	Label   string `json:"label"`   // of the server, in the approval request
	Address string `json:"address"` // of the server that runs the call: see [offers.address]
}

// hostedRun is a call that the provider ran after an approval.
type hostedRun struct {
	ID      string `json:"id,omitempty"`
	Content string `json:"said"` // fingerprint of it, for agents that leave out ids
}

// runOf is the record of a call that the provider ran.
func runOf(call gjson.Result) hostedRun {
	content := make([]string, 0, 4)
	for _, name := range []string{"server_label", "name", "arguments", "output"} {
		content = append(content, call.Get(name).String())
	}
	return hostedRun{call.Get("id").Str, intercept.Fingerprint(content...)}
}
