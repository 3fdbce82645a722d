package approvals

import "time"

// Limits of the texts of a [CallResult], in bytes.
const (
	MaxResultPreview = 4 << 10
	MaxNextText      = 1 << 10
)

// CallResult is what happened to a call after a person had approved it. The agent reports
// the result, in its next request to the model: the agent may report anything.
type CallResult struct {
	// ReleasedAt is the time at which the agent got the call, UTC.
	ReleasedAt time.Time `json:"released_at"`
	// ToolCallID is the id of the released call, "" for that of the request: the model makes a
	// parked call again, with another id.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// ReceivedAt is the time at which the agent's request with the result arrived, UTC.
	// Nil: none has, and the fields below are empty.
	ReceivedAt *time.Time `json:"received_at,omitempty"`
	// Preview is the beginning of the result, at most [MaxResultPreview] bytes. Secrets
	// that heldcall knows are removed. A part that is not a text is its kind in brackets.
	Preview string `json:"preview,omitempty"`
	// Error reports that the agent declares the call as failed. It is false where the wire
	// API has no field for that, as in Chat Completions.
	Error bool `json:"error,omitempty"`
	// Truncated reports that the result is longer than Preview.
	Truncated bool `json:"truncated,omitempty"`
	// NextText is the beginning of the model's answer to the result, at most [MaxNextText]
	// bytes.
	NextText string `json:"next_text,omitempty"`
}

// RequestResult is what became of the approved call of a request: its release, its result, or that it is not released.
type RequestResult struct {
	Request     string // its id
	Result      CallResult
	NotReleased string // why the agent does not get the call; "": it got it
}

// Received returns when the result arrived, zero if none has.
func (c *CallResult) Received() time.Time {
	if c == nil || c.ReceivedAt == nil {
		return time.Time{}
	}
	return *c.ReceivedAt
}

// Release describes the release for a person.
func (c *CallResult) Release() string {
	text := c.ReleasedAt.UTC().Format(time.RFC3339)
	if c.ReceivedAt == nil {
		text += ", no result yet"
	}
	return text
}

// Describe returns the result for a person, "" if there is none.
func (c *CallResult) Describe() string {
	if c.ReceivedAt == nil {
		return ""
	}
	text := "reported by the agent " + c.ReceivedAt.UTC().Format(time.RFC3339)
	if c.Error {
		text += ", failed"
	}
	if c.Truncated {
		text += ", the beginning"
	}
	return text + "\n" + c.Preview
}
