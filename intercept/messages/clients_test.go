package messages

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/tidwall/gjson"
)

// client is how one kind of SDK puts the calls of a stream together.
type client struct {
	name     string
	named    bool // it skips events without a name
	typed    bool // it skips events whose data have no type
	strict   bool // it skips events about calls that do not fit the schemas
	position bool // it counts the blocks of a message that has started, and takes an index for a position
	buffer   bool // __json_buf of a block is the beginning of its input
	pieces   bool // it takes the input from the deltas only
}

var clients = []client{
	{name: "lenient"},
	{name: "@anthropic-ai/sdk", named: true, typed: true, position: true, buffer: true},
	{name: "AI SDK", typed: true, strict: true},
	{name: "LangChain", typed: true, pieces: true},
}

// clientBlock is a block as a client has it.
type clientBlock struct {
	index                  int64
	call                   bool
	name, input, fragments string
	buffer                 string
	grown                  bool
}

// calls lists the calls that the client ends with, as name(arguments).
func (c client) calls(out []byte) (list []string) {
	var blocks []*clientBlock
	started := !c.position
	for _, part := range intercepttest.Parts(out) {
		payloads, err := intercepttest.Payloads(part)
		if err != nil {
			continue
		}
		for _, payload := range payloads {
			name, e := string(sse.Parse(part).Name), gjson.ParseBytes(payload)
			if kind := c.kind(name, e); kind != "" {
				if started = started || kind == "message_start"; started {
					blocks = c.event(blocks, kind, e)
				}
			}
		}
	}
	for _, b := range blocks {
		if b.call {
			list = append(list, b.name+"("+c.arguments(b)+")")
		}
	}
	return list
}

// kind is the type of an event, "" for one that the client skips.
func (c client) kind(name string, e gjson.Result) string {
	kind := e.Get("type").Str
	if kind == "" && !c.typed {
		kind = name
	}
	if (c.named && name == "") || (c.strict && !strictly(kind, e)) {
		return ""
	}
	return kind
}

// event takes an event of a stream.
func (c client) event(blocks []*clientBlock, kind string, e gjson.Result) []*clientBlock {
	switch kind {
	case "message_start":
		if !c.pieces {
			for i, block := range e.Get("message.content").Array() {
				blocks = append(blocks, newClientBlock(int64(i), block))
			}
		}
	case "content_block_start":
		return append(blocks, newClientBlock(e.Get("index").Int(), e.Get("content_block")))
	case "content_block_delta":
		if b := c.find(blocks, e.Get("index").Int()); b != nil && b.call && e.Get("delta.type").Str == "input_json_delta" {
			b.fragments += e.Get("delta.partial_json").Str
			b.grown = true
		}
	}
	return blocks
}

// strictly reports whether an event fits the schema of its kind, if it is about calls.
func strictly(kind string, e gjson.Result) bool {
	switch {
	case kind == "content_block_start" && e.Get("content_block.type").Str == "tool_use":
		return openingSchema.Fits(e)
	case kind == "content_block_delta" && e.Get("delta.type").Str == "input_json_delta":
		return inputSchema.Fits(e)
	case kind == "message_start" && e.Get("message.content.#").Int() > 0:
		return startSchema.Fits(e)
	}
	return true
}

func newClientBlock(index int64, block gjson.Result) *clientBlock {
	input := block.Get("input")
	b := &clientBlock{index: index, call: block.Get("type").Str == "tool_use", name: block.Get("name").Str, buffer: block.Get("__json_buf").Str}
	if input.Type != gjson.Null && input.Raw != `""` && strings.Trim(input.Raw, "{} ") != "" {
		b.input = input.Raw
	}
	return b
}

func (c client) find(blocks []*clientBlock, index int64) *clientBlock {
	if c.position {
		if index < int64(len(blocks)) {
			return blocks[index]
		}
		return nil
	}
	for _, b := range slices.Backward(blocks) {
		if b.index == index {
			return b
		}
	}
	return nil
}

func (c client) arguments(b *clientBlock) string {
	arguments := b.input + b.fragments
	switch {
	case c.buffer && b.grown:
		arguments = b.buffer + b.fragments
	case c.pieces:
		arguments = b.fragments
	}
	if arguments == "" {
		return "{}"
	}
	return arguments
}

// checkClients fails if a client ends with a call that was not judged. A client may miss
// calls: all of them if it skips the start of the message.
func checkClients(t testing.TB, upstream, out []byte, judged []string) {
	t.Helper()
	if bytes.HasPrefix(bytes.TrimLeft(out, " \t\r\n\ufeff"), []byte("{")) {
		checkClientsOfWhole(t, upstream, out, judged)
		return
	}
	for _, c := range clients {
		left := slices.Clone(judged)
		for _, call := range c.calls(out) {
			i := slices.Index(left, call)
			if i < 0 {
				t.Fatalf("%s runs %s, judged were %q\nupstream: %s\nagent: %s", c.name, call, judged, upstream, out)
			}
			left = slices.Delete(left, i, i+1)
		}
	}
}

// judged lists the calls that were released, with the arguments that they were
// released with.
func judged(p *intercepttest.Played, edited bool) (list []string) {
	for _, calls := range p.Calls {
		for _, c := range calls {
			if edited {
				c.Arguments = intercepttest.Edited
			}
			list = append(list, c.Name+"("+c.Arguments+")")
		}
	}
	return list
}

// checkClientsOfWhole is checkClients for a whole answer.
func checkClientsOfWhole(t testing.TB, upstream, out []byte, judged []string) {
	t.Helper()
	var got []string
	for _, block := range gjson.GetBytes(out, "content").Array() {
		if block.Get("type").Str == "tool_use" {
			input := block.Get("input").Raw
			if input == "" || input == "null" || input == `""` || strings.Trim(input, "{} ") == "" {
				input = "{}"
			}
			got = append(got, block.Get("name").Str+"("+input+")")
		}
	}
	if !slices.Equal(got, judged) {
		t.Fatalf("clients run %q, judged were %q\nupstream: %s\nagent: %s", got, judged, upstream, out)
	}
}
