package results

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/edits"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/heldcall/heldcall/intercept/toolresult"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// maxEarlier is how many of the earlier calls of a conversation are searched for the text of a file.
const maxEarlier = 200

// Earlier are the calls of the conversation before an answer, with their results, as the agent's request has them. It is for
// the requests to people about that answer.
type Earlier struct {
	conversation *conversation.Conversation
	list         []toolresult.Content
}

// NewEarlier reads the results in the request of a conversation.
func NewEarlier(c *conversation.Conversation) *Earlier {
	list := slices.DeleteFunc(c.Parsed.ResultContents(), func(r toolresult.Content) bool { return r.Message || r.Call == "" })
	return &Earlier{c, list[max(0, len(list)-maxEarlier):]}
}

// Steps returns the last of the calls, and after them calls of the same answer that the agent gets.
func (e *Earlier) Steps(now []intercept.Call) []approvals.Step {
	var steps []approvals.Step
	for i := range e.list[max(0, len(e.list)-approvals.MaxSteps):] {
		content := &e.list[max(0, len(e.list)-approvals.MaxSteps)+i]
		call := e.callOf(content)
		step := e.step(call)
		step.ToolCallID = strings.Clone(content.CallID)
		texts, _ := content.Texts()
		step.Result = beginning(e.conversation.Redact(strings.Join(texts, "\n")), approvals.MaxStepResult)
		steps = append(steps, step)
	}
	for _, call := range now {
		step := e.step(call)
		step.ToolCallID, step.Waits = call.ID, true
		steps = append(steps, step)
	}
	return steps[max(0, len(steps)-approvals.MaxSteps):]
}

func (e *Earlier) callOf(r *toolresult.Content) intercept.Call {
	return e.conversation.Request.Dialect.ResultCall(r.Call)
}

func (e *Earlier) step(call intercept.Call) approvals.Step {
	return approvals.Step{ToolName: strings.Clone(match.Shorten(call.Name, 100)), Preview: strings.Clone(e.conversation.Redact(match.Preview(subjectOf(call))))}
}

// subjects are the arguments that show best what a call is about.
var subjects = []string{"command", "cmd", "file_path", "filePath", "path", "url", "query", "pattern", "question", "description"}

// subjectOf returns the argument that shows best what a call is about, else all of them.
func subjectOf(call intercept.Call) string {
	var members map[string]json.RawMessage
	if call.FreeText || json.Unmarshal([]byte(call.Arguments), &members) != nil {
		return call.Arguments
	}
	for _, name := range subjects {
		var text string
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			return text
		}
	}
	return call.Arguments
}

// beginning returns at most n bytes of a text, with a mark if it is longer.
func beginning(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return strings.Clone(text)
	}
	const more = "…"
	return strings.ToValidUTF8(text[:n-len(more)], "") + more
}

// Known returns what the conversation shows of a file that a call edits: the lines of its edits, by the latest result that
// shows the text of the file with the numbers of its lines. Once a later call names the file, the lines are not known.
func (e *Earlier) Known(f *edits.File) (known approvals.File, ok bool) {
	name, quoted := path.Base(strings.ReplaceAll(f.Path, `\`, "/")), strictjson.Quote(f.Path)
	for i := range slices.Backward(e.list) {
		call := e.callOf(&e.list[i])
		if !strings.Contains(call.Arguments, name) {
			continue
		}
		texts, _ := e.list[i].Texts()
		text, first := withoutNumbers(strings.Join(texts, "\n"))
		lines := f.Lines(text, first)
		if first == 0 || lines == nil || !strings.Contains(call.Arguments, quoted) {
			return approvals.File{}, false
		}
		return approvals.File{Path: f.Path, Exists: true, Source: approvals.FromResult, Lines: lines}, true
	}
	return approvals.File{}, false
}

// withoutNumbers returns the longest part of a text whose lines are numbered one by one, as agents show files to models, without
// the numbers, and the first number. It is 0 if there is none.
func withoutNumbers(text string) (plain string, first int) {
	var longest, part []string
	begin, last := 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		n, rest, ok := cutNumber(line)
		if !ok || n != last+1 || len(part) == 0 {
			part, begin = nil, n
		}
		if last = n; !ok {
			continue
		}
		if part = append(part, rest); len(part) > len(longest) {
			longest, first = part, begin
		}
	}
	return strings.Join(longest, "\n"), first
}

// cutNumber returns the number that a line of a file begins with, as in "    12→text", "12<tab>text" or "00012| text", and the line.
func cutNumber(line string) (n int, rest string, ok bool) {
	trimmed := strings.TrimLeft(line, " ")
	digits := len(trimmed) - len(strings.TrimLeft(trimmed, "0123456789"))
	n, err := strconv.Atoi(trimmed[:digits])
	if err != nil || n == 0 {
		return 0, "", false
	}
	for _, separator := range []string{"→", "\t", "| "} {
		if rest, ok = strings.CutPrefix(trimmed[digits:], separator); ok {
			return n, strings.TrimSuffix(rest, "\r"), true
		}
	}
	if rest, ok = strings.CutPrefix(trimmed[digits:], "|"); ok && rest == "" {
		return n, "", true
	}
	return 0, "", false
}
