package conformance

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// Fold reads an answer as a client does that goes by output_index: ids of items
// change from event to event at some servers. The streamed pieces of an item count
// if no event has it whole, and the closing response if nothing was streamed.
func (responses) Fold(body []byte) *Answer {
	a := &Answer{}
	f := responsesFold{answer: a, choice: a.First()}
	a.read(body, f.event)
	f.finish()
	return a
}

type responsesFold struct {
	answer  *Answer
	choice  *Choice
	items   []*streamedItem // in order of their index
	closing []gjson.Result
	tools   gjson.Result
}

// streamedItem is the state of one output item.
type streamedItem struct {
	index           int64
	added, done     gjson.Result
	text, reasoning string
	arguments       string // or input, or diff
	commands        []string
}

func (f *responsesFold) event(_ event, data gjson.Result) {
	kind := data.Get("type").String()
	response := data.Get("response")
	switch {
	case kind == "error":
		f.failed(data)
		return
	case data.Get("object").String() == "response": // a whole answer
		response = data
	case data.Get("error").IsObject() && kind == "":
		f.answer.Errors = append(f.answer.Errors, data.Get("error").Raw)
		return
	}
	if response.IsObject() {
		f.response(response)
		return
	}
	if data.Get("output_index").Exists() {
		f.item(data.Get("output_index").Int()).event(kind, data)
	}
}

func (f *responsesFold) failed(data gjson.Result) {
	failure := data.Get("error")
	if !failure.IsObject() {
		failure = data // as the API reference has it
	}
	f.answer.Errors = append(f.answer.Errors, failure.Raw)
}

func (f *responsesFold) response(response gjson.Result) {
	f.answer.named(response.Get("id").String())
	f.closing = response.Get("output").Array()
	if tools := response.Get("tools"); tools.IsArray() {
		f.tools = tools
	}
	if u := response.Get("usage"); u.IsObject() {
		f.answer.Usage = Usage{u.Get("input_tokens").Int(), u.Get("output_tokens").Int(), u.Get("total_tokens").Int()}
	}
	if failure := response.Get("error"); failure.IsObject() {
		f.answer.Errors = append(f.answer.Errors, failure.Raw)
	}
	switch status := response.Get("status").String(); status {
	case "queued", "in_progress", "":
	default:
		if why := response.Get("incomplete_details.reason").String(); why != "" {
			status += ": " + why
		}
		f.choice.Finishes = append(f.choice.Finishes, status)
	}
}

func (f *responsesFold) item(index int64) *streamedItem {
	for _, item := range f.items {
		if item.index == index {
			return item
		}
	}
	item := &streamedItem{index: index}
	at := slices.IndexFunc(f.items, func(other *streamedItem) bool { return other.index > index })
	if at < 0 {
		at = len(f.items)
	}
	f.items = slices.Insert(f.items, at, item)
	return item
}

func (i *streamedItem) event(kind string, data gjson.Result) {
	delta := data.Get("delta").String()
	switch {
	case kind == "response.output_item.added":
		i.added = data.Get("item")
	case kind == "response.output_item.done":
		i.done = data.Get("item")
	case kind == "response.output_text.delta" || kind == "response.refusal.delta":
		i.text += delta
	case kind == "response.reasoning_summary_text.delta" || kind == "response.reasoning_text.delta":
		i.reasoning += delta
	case strings.HasPrefix(kind, "response.shell_call_command."):
		i.command(int(data.Get("command_index").Int()), kind, data)
	case !isCallEvent(kind):
	case strings.HasSuffix(kind, ".delta"):
		i.arguments += delta
	default: // done, with the text under a name of its own
		for _, field := range []string{"arguments", "input", "diff"} {
			if whole := data.Get(field); whole.Exists() {
				i.arguments = whole.String()
			}
		}
	}
}

func (i *streamedItem) command(n int, kind string, data gjson.Result) {
	for len(i.commands) <= n {
		i.commands = append(i.commands, "")
	}
	if strings.HasSuffix(kind, ".delta") {
		i.commands[n] += data.Get("delta").String()
	} else {
		i.commands[n] = data.Get("command").String()
	}
}

// whole is the item as it is known at the end.
func (i *streamedItem) whole() gjson.Result {
	if i.done.Exists() || !i.added.Exists() {
		return i.done
	}
	item := i.added.Raw
	set := func(path string, value any) {
		if changed, err := sjson.Set(item, path, value); err == nil {
			item = changed
		}
	}
	switch i.added.Get("type").String() {
	case "function_call", "mcp_approval_request":
		if i.arguments != "" {
			set("arguments", i.arguments)
		}
	case "custom_tool_call":
		set("input", i.arguments)
	case "apply_patch_call":
		if i.arguments != "" {
			set("operation.diff", i.arguments)
		}
	case "shell_call":
		set("action.commands", i.commands)
	}
	return gjson.Parse(item)
}

// finish turns the items into the answer.
func (f *responsesFold) finish() {
	for n, item := range f.closing {
		if len(f.items) <= n && (len(f.items) == 0 || f.items[0].added.Raw == "") {
			f.items = append(f.items, &streamedItem{index: int64(n), done: item})
		}
	}
	for _, item := range f.items {
		whole := item.whole()
		if !whole.Exists() {
			continue
		}
		f.choice.Items = append(f.choice.Items, whole.Raw)
		said, thought := item.text, item.reasoning
		switch whole.Get("type").String() {
		case "message":
			if said == "" {
				said = joined(whole.Get("content"))
			}
		case "reasoning":
			if thought == "" {
				thought = joined(whole.Get("summary")) + joined(whole.Get("content"))
			}
		}
		f.choice.Text += said
		f.choice.Reasoning += thought
		if isCall(whole) && !f.searches(whole) {
			call := callOf(whole)
			call.Index = item.index
			f.choice.Calls = append(f.choice.Calls, call)
		}
	}
}

// searches reports a search that xAI runs itself: a custom tool call of no tool
// that the agent has.
func (f *responsesFold) searches(item gjson.Result) bool {
	if item.Get("type").String() != "custom_tool_call" || f.tools.Get(`#(type=="x_search")`).Raw == "" {
		return false
	}
	return !slices.ContainsFunc(f.tools.Array(), func(tool gjson.Result) bool { return tool.Get("name").String() == item.Get("name").String() })
}
