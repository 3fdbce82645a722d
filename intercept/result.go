package intercept

import (
	"strings"

	"github.com/tidwall/gjson"
)

// ToolResult is the result of a call, as a request of the agent contains it.
type ToolResult struct {
	CallID string
	// Text is the texts of the result. A part that is not a text is its kind in brackets,
	// such as [image].
	Text string
	// Failed reports that the agent declares the call as failed. Chat Completions has no
	// field for that.
	Failed bool
	// Truncated reports that Text is only the beginning of the result.
	Truncated bool
}

// UnnamedCallID is an id for a call of a tool that has none, and for its result.
func UnnamedCallID(tool string) string { return "function " + tool }

// maxResultText is the largest number of bytes that are read of one result.
const maxResultText = 64 << 10

// NewToolResult returns the result of a call with a content: a text, a part, or a list of
// parts. The texts are copies.
func NewToolResult(callID string, content gjson.Result) ToolResult {
	var b strings.Builder
	truncated := false
	add := func(part gjson.Result) bool {
		text := partText(part)
		if b.Len() > 0 {
			text = "\n" + text
		}
		if left := maxResultText - b.Len(); len(text) > left {
			text, truncated = strings.ToValidUTF8(text[:left], ""), true
		}
		b.WriteString(text)
		return !truncated
	}
	if content.IsArray() {
		content.ForEach(func(_, part gjson.Result) bool { return add(part) })
	} else {
		add(content)
	}
	return ToolResult{CallID: strings.Clone(callID), Text: b.String(), Truncated: truncated}
}

// partText is the text of a part of a result.
func partText(part gjson.Result) string {
	if !part.IsObject() {
		return part.String()
	}
	if text := part.Get("text"); text.Type == gjson.String {
		return text.Str
	}
	kind := part.Get("type").Str
	for _, known := range []string{"image", "audio", "file", "document"} {
		if strings.Contains(kind, known) {
			return "[" + known + "]"
		}
	}
	switch {
	case strings.Contains(kind, "screenshot"):
		return "[image]"
	case kind == "":
		return part.Raw
	}
	return "[" + kind + "]"
}
