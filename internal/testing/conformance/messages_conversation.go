package conformance

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/tidwall/gjson"
)

var toolUseID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// CheckConversation judges a request as Anthropic does: the user begins, every
// tool_use is answered in the one message right after it and before any text, no
// turn ends in thinking, and tools are offered as long as they are spoken of.
func (messages) CheckConversation(body []byte) error {
	if !gjson.ValidBytes(body) {
		return fmt.Errorf("the body is not JSON")
	}
	if gjson.GetBytes(body, "max_tokens").Int() <= 0 {
		return fmt.Errorf("max_tokens: field required")
	}
	var open []string
	used := make(map[string]bool)
	for i, m := range gjson.GetBytes(body, "messages").Array() {
		role := m.Get("role").String()
		if (role != "user" && role != "assistant") || (i == 0 && role != "user") {
			return fmt.Errorf("messages.%d: role %q", i, role)
		}
		blocks := blocksOf(m)
		if err := answered(open, blocks); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
		var err error
		if open, err = checkBlocks(role, blocks, used); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the tool_use %v have no tool_result at the end", open)
	}
	if len(used) > 0 && len(gjson.GetBytes(body, "tools").Array()) == 0 {
		return fmt.Errorf("requests which include tool_use or tool_result blocks must define tools")
	}
	return nil
}

// blocksOf are the content blocks of a message. A text is one block.
func blocksOf(message gjson.Result) []gjson.Result {
	content := message.Get("content")
	if content.Type == gjson.String {
		return []gjson.Result{gjson.Parse(`{"type":"text","text":` + content.Raw + `}`)}
	}
	return content.Array()
}

// answered returns an error unless blocks begin with exactly one result for each of open.
func answered(open []string, blocks []gjson.Result) error {
	missing := slices.Clone(open)
	for _, b := range blocks {
		id := b.Get("tool_use_id").String()
		switch {
		case b.Get("type").String() != "tool_result":
			if len(missing) > 0 {
				return fmt.Errorf("the tool_use %v have no tool_result before a %s", missing, b.Get("type"))
			}
		case !slices.Contains(missing, id):
			return fmt.Errorf("a tool_result for %q, which is no open tool_use", id)
		default:
			missing = slices.DeleteFunc(missing, func(m string) bool { return m == id })
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the tool_use %v have no tool_result", missing)
	}
	return nil
}

// checkBlocks judges the blocks of one message and returns the ids of its calls.
func checkBlocks(role string, blocks []gjson.Result, used map[string]bool) (calls []string, err error) {
	if len(blocks) == 0 {
		return nil, fmt.Errorf("no content")
	}
	for j, b := range blocks {
		kind, id := b.Get("type").String(), b.Get("id").String()
		switch {
		case kind == "text" && b.Get("text").String() == "":
			return nil, fmt.Errorf("content.%d: text content blocks must be non-empty", j)
		case isThinking(b) && j == len(blocks)-1 && role == "assistant":
			return nil, fmt.Errorf("the final block in an assistant message cannot be thinking")
		case kind != "tool_use":
			continue
		case role != "assistant":
			return nil, fmt.Errorf("content.%d: a tool_use of the user", j)
		case !toolUseID.MatchString(id):
			return nil, fmt.Errorf("content.%d: the id %q", j, id)
		case used[id]:
			return nil, fmt.Errorf("content.%d: the id %q is there twice", j, id)
		case !b.Get("input").IsObject():
			return nil, fmt.Errorf("content.%d: the input %s is no object", j, b.Get("input").Raw)
		}
		used[id] = true
		calls = append(calls, id)
	}
	return calls, nil
}

func isThinking(b gjson.Result) bool {
	kind := b.Get("type").String()
	return kind == "thinking" || kind == "redacted_thinking"
}

func (messages) CheckPrefix(original, body []byte) error {
	return checkPrefix("messages", original, body)
}

func (messages) Told(body []byte) []Told {
	var told []Told
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		var calls []Told
		for _, b := range blocksOf(m) {
			switch b.Get("type").String() {
			case "tool_use":
				calls = append(calls, Told{Call: Call{ID: b.Get("id").String(), Name: b.Get("name").String(), Arguments: b.Get("input").Raw}})
			case "tool_result":
				for i := range told {
					if told[i].Call.ID == b.Get("tool_use_id").String() {
						told[i].Result = joined(b.Get("content"))
					}
				}
			}
		}
		if calls != nil {
			told = calls
		}
	}
	return told
}

// CheckThoughts returns an error unless the message with the calls of the answer begins with
// all of its reasoning, byte for byte, up to its first call.
func (messages) CheckThoughts(answer, body []byte) error {
	made := Messages.Fold(answer).First()
	want := thoughts(made.Items)
	if len(want) == 0 {
		return nil
	}
	calls := make(map[string]bool)
	for _, call := range made.Calls {
		calls[call.ID] = true
	}
	for i, m := range gjson.GetBytes(body, "messages").Array() {
		var items []string
		turn := false
		for _, b := range blocksOf(m) {
			items = append(items, b.Raw)
			turn = turn || (b.Get("type").String() == "tool_use" && calls[b.Get("id").String()])
		}
		if got := thoughts(items); turn && !slices.Equal(want, got) {
			return fmt.Errorf("messages.%d: the thinking %q became %q", i, want, got)
		}
	}
	return nil
}

// thoughts are the thinking blocks among items, each as what has to come back
// unchanged of it.
func thoughts(items []string) []string {
	var all []string
	for _, raw := range items {
		if b := gjson.Parse(raw); isThinking(b) {
			all = append(all, b.Get("thinking").String()+"\x00"+b.Get("signature").String()+"\x00"+b.Get("data").String())
		}
	}
	return all
}
