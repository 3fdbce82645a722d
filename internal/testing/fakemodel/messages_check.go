package fakemodel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// checkMessages judges a request as Anthropic does: what has to be there, whose
// turn it is, every tool_use answered in the user's message right after it,
// thinking as it was made. The body is that of the request with the conversation that it
// continues. generates is false for what only counts tokens.
func (m *memory) checkMessages(r *Request, body []byte, generates bool) *refusal {
	switch {
	case r.Get("anthropic-version") == "":
		return invalid("", "anthropic-version: header is required")
	case !gjson.ValidBytes(body) || !gjson.ParseBytes(body).IsObject():
		return invalid("", "The request body is not valid JSON")
	case gjson.GetBytes(body, "model").String() == "":
		return invalid("", "model: Field required")
	case generates && gjson.GetBytes(body, "max_tokens").Int() <= 0:
		return invalid("", "max_tokens: Field required")
	case !gjson.GetBytes(body, "messages").IsArray():
		return invalid("", "messages: Field required")
	case cacheMarks(gjson.ParseBytes(body)) > 4:
		return invalid("", fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", cacheMarks(gjson.ParseBytes(body))))
	}
	check := messagesCheck{memory: m, body: body, messages: gjson.GetBytes(body, "messages").Array(), used: make(map[string]bool)}
	check.systemInside = strings.Contains(r.Get("anthropic-beta"), "mid-conversation")
	return check.run()
}

// cacheMarks counts the marks for the prompt cache in a value. What a tool's
// input or schema holds is none.
func cacheMarks(value gjson.Result) (n int) {
	value.ForEach(func(key, child gjson.Result) bool {
		switch key.Str {
		case "cache_control":
			n++
		case "input", "input_schema":
		default:
			if child.IsObject() || child.IsArray() {
				n += cacheMarks(child)
			}
		}
		return true
	})
	return n
}

type messagesCheck struct {
	memory   *memory
	body     []byte
	messages []gjson.Result
	used     map[string]bool // tool_use ids so far
	// systemInside is set where a beta lets the system speak between the others.
	systemInside bool
}

func (c *messagesCheck) run() *refusal {
	if len(c.messages) == 0 {
		return invalid("", "messages: at least one message is required")
	}
	var open []string // tool_use ids of the message before
	for i, message := range c.messages {
		blocks := blocksOf(message)
		failed := c.blocks(i, message, blocks)
		if failed == nil {
			failed = c.results(i, blocks, open)
		}
		if failed == nil && message.Get("role").String() == "assistant" {
			failed = c.thinking(i, blocks)
		}
		if failed != nil {
			return failed
		}
		open = toolUses(blocks)
	}
	if len(open) > 0 {
		return unansweredToolUse(len(c.messages)-1, open)
	}
	return c.tools()
}

var idPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// blocks judges one message by itself.
func (c *messagesCheck) blocks(i int, message gjson.Result, blocks []gjson.Result) *refusal {
	role := message.Get("role").String()
	switch {
	case role == "system" && i > 0 && c.systemInside:
	case role == "system":
		return invalid("", `messages: Unexpected role "system". The Messages API accepts a top-level `+"`system` parameter, not \"system\" as an input message role.")
	case role != "user" && role != "assistant":
		return invalid("", fmt.Sprintf(`messages.%d.role: Input should be 'user' or 'assistant'`, i))
	case i == 0 && role != "user":
		return invalid("", `messages: first message must use the "user" role`)
	case len(blocks) == 0 && (i < len(c.messages)-1 || role == "user"):
		return invalid("", fmt.Sprintf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i))
	}
	for j, block := range blocks {
		kind, id := block.Get("type").String(), block.Get("id").String()
		switch {
		case kind == "text" && block.Get("text").String() == "":
			return invalid("", "messages: text content blocks must be non-empty")
		case kind == "tool_use" && !idPattern.MatchString(id):
			return invalid("", fmt.Sprintf("messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, j))
		case kind == "tool_use" && !block.Get("input").IsObject():
			return invalid("", fmt.Sprintf("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j))
		case kind == "tool_use" && role != "assistant", kind == "tool_result" && role != "user":
			return invalid("", fmt.Sprintf("messages.%d: `%s` blocks can only be in `%s` messages", i, kind, map[string]string{"tool_use": "assistant", "tool_result": "user"}[kind]))
		case kind == "tool_use" && c.used[id]:
			return invalid("", fmt.Sprintf("messages.%d.content.%d: `tool_use` ids must be unique", i, j))
		}
		if kind == "tool_use" {
			c.used[id] = true
		}
	}
	return nil
}

// results judges what a message answers: each of open once, before anything else,
// and nothing else.
func (c *messagesCheck) results(i int, blocks []gjson.Result, open []string) *refusal {
	missing := slices.Clone(open)
	for j, block := range blocks {
		id := block.Get("tool_use_id").String()
		switch {
		case block.Get("type").String() != "tool_result":
			if len(missing) > 0 {
				return unansweredToolUse(i-1, missing)
			}
		case slices.Contains(missing, id):
			missing = slices.DeleteFunc(missing, func(m string) bool { return m == id })
		case slices.Contains(open, id):
			return invalid("", fmt.Sprintf("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i, j, id))
		default:
			return invalid("", fmt.Sprintf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
				"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, id))
		}
	}
	if len(missing) > 0 {
		return unansweredToolUse(i-1, missing)
	}
	return nil
}

func unansweredToolUse(i int, ids []string) *refusal {
	return invalid("", fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i, strings.Join(ids, ", ")))
}

func toolUses(blocks []gjson.Result) []string {
	var ids []string
	for _, block := range blocks {
		if block.Get("type").String() == "tool_use" {
			ids = append(ids, block.Get("id").String())
		}
	}
	return ids
}

// thinking judges the thinking of an assistant's message: signed, not at its end,
// and in the latest message as it was made.
func (c *messagesCheck) thinking(i int, blocks []gjson.Result) *refusal {
	for j, block := range blocks {
		if block.Get("type").String() == "thinking" && block.Get("signature").String() != signature(block.Get("thinking").String()) {
			if c.latest(i) {
				return modifiedThinking(i, j)
			}
			return invalid("", fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j))
		}
	}
	if n := len(blocks); n > 0 && isThinking(blocks[n-1]) {
		return invalid("", fmt.Sprintf("messages.%d: The final block in an assistant message cannot be `thinking`.", i))
	}
	calls := toolUses(blocks)
	if !c.latest(i) || len(calls) == 0 {
		return nil
	}
	made, known := c.memory.thoughts[calls[0]]
	got := thoughtsOf(blocks)
	switch {
	case !known:
	case len(got) > 0 && !slices.Equal(got, made):
		return modifiedThinking(i, 0)
	case len(got) == 0 && len(made) > 0 && gjson.GetBytes(c.body, "thinking.type").String() == "enabled":
		return invalid("", fmt.Sprintf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, "+
			"a final `assistant` message must start with a thinking block.", i, blocks[0].Get("type")))
	}
	return nil
}

func modifiedThinking(i, j int) *refusal {
	return invalid("", fmt.Sprintf("messages.%d.content.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "+
		"These blocks must remain as they were in the original response.", i, j))
}

// latest reports whether a message is the assistant's last one.
func (c *messagesCheck) latest(i int) bool {
	return !slices.ContainsFunc(c.messages[i+1:], func(m gjson.Result) bool { return m.Get("role").String() == "assistant" })
}

// tools judges the offer of tools beside the history and the settings.
func (c *messagesCheck) tools() *refusal {
	answered := slices.ContainsFunc(c.messages, func(m gjson.Result) bool {
		return slices.ContainsFunc(blocksOf(m), func(b gjson.Result) bool { return b.Get("type").String() == "tool_result" })
	})
	choice := gjson.GetBytes(c.body, "tool_choice.type").String()
	switch offered := len(gjson.GetBytes(c.body, "tools").Array()) > 0; {
	case (len(c.used) > 0 || answered) && !offered:
		return invalid("", "Requests which include `tool_use` or `tool_result` blocks must define tools")
	case choice != "" && !offered:
		return invalid("", "tool_choice may only be specified while providing tools")
	case (choice == "any" || choice == "tool") && thinks(c.body):
		return invalid("", "Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}
