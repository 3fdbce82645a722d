package conformance

import (
	"encoding/json"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// messages is Anthropic's Messages API.
type messages struct{}

// Fold reads an answer as a client does that collects content blocks by their
// index. A second beginning of the message voids the first.
func (messages) Fold(body []byte) *Answer {
	a := &Answer{}
	f := messagesFold{answer: a}
	a.read(body, f.event)
	f.finish()
	return a
}

type messagesFold struct {
	answer   *Answer
	blocks   []*block // in order of their beginning
	roles    int
	finishes []string
}

// block is one content block on its way.
type block struct {
	index   int64
	start   gjson.Result
	text    string // or thinking
	signed  string
	input   string // the sum of its pieces
	stopped bool
	deltas  int
}

func (f *messagesFold) event(_ event, data gjson.Result) {
	switch data.Get("type").String() {
	case "message_start":
		f.blocks, f.finishes, f.roles = nil, nil, 0
		f.message(data.Get("message"))
	case "message": // a whole answer
		f.message(data)
		for i, whole := range data.Get("content").Array() {
			f.blocks = append(f.blocks, &block{index: int64(i), start: whole, stopped: true})
		}
		f.reason(data.Get("stop_reason"))
	case "content_block_start":
		f.blocks = append(f.blocks, &block{index: data.Get("index").Int(), start: data.Get("content_block")})
	case "content_block_delta":
		if b := f.block(data.Get("index").Int()); b != nil {
			b.add(data.Get("delta"))
		}
	case "content_block_stop":
		if b := f.block(data.Get("index").Int()); b != nil {
			b.stopped = true
		}
	case "message_delta":
		f.usage(data.Get("usage"))
		f.reason(data.Get("delta.stop_reason"))
	case "error":
		f.answer.Errors = append(f.answer.Errors, data.Get("error").Raw)
	}
}

func (f *messagesFold) message(message gjson.Result) {
	f.answer.named(message.Get("id").String())
	f.usage(message.Get("usage"))
	if message.Get("role").String() != "" {
		f.roles++
	}
}

// usage adopts reported tokens: the end repeats, corrects or leaves out those of the
// beginning.
func (f *messagesFold) usage(u gjson.Result) {
	total := &f.answer.Usage
	if in := u.Get("input_tokens"); in.Type == gjson.Number {
		total.Prompt = in.Int()
	}
	if out := u.Get("output_tokens"); out.Type == gjson.Number {
		total.Completion = out.Int()
	}
	total.Total = total.Prompt + total.Completion
}

func (f *messagesFold) reason(reason gjson.Result) {
	if reason.Type == gjson.String {
		f.finishes = append(f.finishes, reason.Str)
	}
}

// block is the last one with an index.
func (f *messagesFold) block(index int64) *block {
	for i := len(f.blocks) - 1; i >= 0; i-- {
		if f.blocks[i].index == index {
			return f.blocks[i]
		}
	}
	return nil
}

func (b *block) add(delta gjson.Result) {
	b.deltas++
	switch delta.Get("type").String() {
	case "text_delta":
		b.text += delta.Get("text").String()
	case "thinking_delta":
		b.text += delta.Get("thinking").String()
	case "signature_delta":
		b.signed += delta.Get("signature").String()
	case "input_json_delta":
		b.input += delta.Get("partial_json").String()
	}
}

// whole is the block as an agent sends it back.
func (b *block) whole() gjson.Result {
	raw := b.start.Raw
	set := func(path string, value any) {
		if changed, err := sjson.Set(raw, path, value); err == nil {
			raw = changed
		}
	}
	switch b.start.Get("type").String() {
	case "text":
		set("text", b.start.Get("text").String()+b.text)
	case "thinking":
		set("thinking", b.start.Get("thinking").String()+b.text)
		set("signature", b.start.Get("signature").String()+b.signed)
	default:
		if json.Valid([]byte(b.input)) {
			set("input", json.RawMessage(b.input))
		}
	}
	return gjson.Parse(raw)
}

// call is a block as people are asked about it. A tool without parameters is
// called with no input at all.
func (b *block) call() *Call {
	arguments := b.input
	if b.deltas == 0 || arguments == "" {
		arguments = b.start.Get("input").Raw
	}
	return &Call{Index: b.index, ID: b.start.Get("id").String(), Name: b.start.Get("name").String(), Arguments: arguments}
}

func (f *messagesFold) finish() {
	if len(f.blocks) == 0 && f.roles == 0 && len(f.finishes) == 0 {
		return // an error, or nothing
	}
	choice := f.answer.First()
	choice.Roles, choice.Finishes = f.roles, f.finishes
	for _, b := range f.blocks {
		whole := b.whole()
		choice.Items = append(choice.Items, whole.Raw)
		switch whole.Get("type").String() {
		case "text":
			choice.Text += whole.Get("text").String()
		case "thinking":
			choice.Reasoning += whole.Get("thinking").String()
		case "tool_use":
			choice.Calls = append(choice.Calls, b.call())
		}
	}
}

func (messages) StructuredCalls(body []byte) int {
	n := 0
	each(body, func(data gjson.Result) {
		for _, b := range append(data.Get("content").Array(), data.Get("content_block")) {
			if b.Get("type").String() == "tool_use" {
				n++
			}
		}
	})
	return n
}

// Others leaves out the blocks of calls with all their events.
func (messages) Others(body []byte) []byte {
	calls := make(map[float64]bool) // by index
	isCall := func(value any) bool {
		b, _ := value.(map[string]any)
		return b["type"] == "tool_use"
	}
	return rest(body, func(value any) any {
		event, _ := value.(map[string]any)
		if content, ok := event["content"].([]any); ok {
			var kept []any
			for _, b := range content {
				if !isCall(b) {
					kept = append(kept, b)
				}
			}
			event["content"] = kept
		}
		index, ok := event["index"].(float64)
		if started := event["content_block"]; started != nil {
			calls[index] = isCall(started)
		}
		if ok && calls[index] {
			return nil
		}
		return event
	})
}
