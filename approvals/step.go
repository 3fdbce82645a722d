package approvals

const (
	// MaxSteps is the largest number of steps of a [Context].
	MaxSteps = 6
	// MaxStepResult is the most bytes of the result of a [Step].
	MaxStepResult = 240
)

// Step is an earlier call in the conversation, as the agent has it: allowed by policy, by people, or denied.
type Step struct {
	ToolCallID string `json:"tool_call_id,omitempty"`
	ToolName   string `json:"tool_name"`
	Preview    string `json:"preview"` // of the arguments, on one short line
	// Result is the beginning of what the model has read as the result, at most [MaxStepResult] bytes. It is "" for a call
	// of the same answer, and where results are not recorded.
	Result string `json:"result,omitempty"`
	// Waits is true for a call of the same answer, which has no result yet.
	Waits bool `json:"waits,omitempty"`
}

// DropResults removes the results of the steps, where results are not recorded.
func (c *Context) DropResults() {
	for i := range c.Steps {
		c.Steps[i].Result = ""
	}
}
