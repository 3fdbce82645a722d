package history

import (
	"github.com/go-json-experiment/json"
	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// Record is what heldcall remembers of an answer whose agent saw less, or other,
// than the model said. Items are kept as the text they were sent as, so that each
// splice is the same bytes.
type Record struct {
	intercept.TurnFingerprint
	Rounds []Round `json:"rounds,omitempty"`
	// Response is the id by which the agent knows the answer, Chain those by which
	// upstream knows its parts.
	Response     string   `json:"response,omitempty"`
	Chain        []string `json:"chain,omitempty"`
	Conversation string   `json:"conversation,omitempty"`
	// Missing are the items that upstream needs before it goes on from what it
	// keeps: outputs of calls that the agent never saw.
	Missing []string `json:"missing,omitempty"`
	// Ran are the arguments that ran, by call id, where upstream keeps others.
	Ran map[string]string `json:"ran,omitempty"`
	// Ruled are the rulings on the calls that were judged, for later requests for the
	// answer again.
	Ruled []Ruled `json:"ruled,omitempty"`
	// Grants are the approvals among what is missing, each for one request.
	Grants []MCPApproval `json:"grants,omitempty"`
	// Made are the calls that the provider has run because they were approved, each by
	// the id of the question.
	Made map[string]HostedRun `json:"hosted_runs,omitempty"`
	// Spent is the approval that a request has used, where the record is of that.
	Spent string `json:"spent,omitempty"`
	// ModelMessage are the answers of a conversation whose missing items upstream has got.
	Told []string `json:"told,omitempty"`
}

// Round is one answer of upstream: the whole of what the model said, and what it
// read from heldcall.
type Round struct {
	Items   []Part   `json:"items"`
	Outputs []string `json:"outputs,omitempty"`
}

// Part is one output item. What the agent saw is known again by its ids and text.
type Part struct {
	Seen    bool   `json:"seen,omitempty"`
	Raw     string `json:"raw,omitempty"` // as the model made it; of what was seen, only where agents may leave it out or change it
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	Call    string `json:"call,omitempty"`
	Name    string `json:"name,omitempty"`
	Text    string `json:"text,omitempty"`
	Sealed  string `json:"sealed,omitempty"`  // fingerprint of its encrypted content
	Unknown bool   `json:"unknown,omitempty"` // to upstream: heldcall has made it
}

// Ruled is the ruling on a call.
type Ruled struct {
	Call      string           `json:"call"` // fingerprint
	Fate      intercept.Action `json:"fate"`
	Arguments string           `json:"arguments,omitempty"`
	Told      string           `json:"told,omitempty"`
}

// Encode renders the record as it is stored.
func (rec *Record) Encode() ([]byte, error) { return json.Marshal(rec) }

// Sealed is the fingerprint of the encrypted content of a reasoning item.
func Sealed(item gjson.Result) string {
	if content := item.Get("encrypted_content").Str; content != "" {
		return intercept.Fingerprint(content)
	}
	return ""
}

// CallFingerprint is a call that the agent saw or shows. Only the input of those of
// functions is in one place that agents do not rewrite.
func SeenCall(typ, id, name, input string) intercept.CallFingerprint {
	if typ != "function_call" && typ != "custom_tool_call" {
		return intercept.CallFingerprint{ID: id, Name: name}
	}
	return intercept.NewCallFingerprint(id, name, input)
}

// MCPApproval is an approval that the agent's next request brings.
type MCPApproval struct {
	ID      string `json:"id"`      // of the question
	Key     string `json:"key"`     // the same for nobody else's question
	Label   string `json:"label"`   // of the server, as the question names it
	Address string `json:"address"` // of the server that runs the call: see addressOf
}

// HostedRun is a call that the provider has run because it was approved.
type HostedRun struct {
	ID   string `json:"id,omitempty"`
	Said string `json:"said"` // fingerprint of it, for agents that leave out ids
}

// RunOf is the record of a call that the provider ran.
func RunOf(call gjson.Result) HostedRun {
	said := make([]string, 0, 4)
	for _, name := range []string{"server_label", "name", "arguments", "output"} {
		said = append(said, call.Get(name).String())
	}
	return HostedRun{call.Get("id").Str, intercept.Fingerprint(said...)}
}
