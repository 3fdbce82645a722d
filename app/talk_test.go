package app_test

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// talk is a conversation of an agent with the model. The agent repeats what it read.
type talk struct {
	w        *world
	path     string
	session  string
	patience string // that it announces, in seconds
	streamed bool
	history  []any
	fields   map[string]any // of its requests, beside the history; nil removes one
	raw      string         // the last answer
}

func newTalk(w *world, api fakemodel.API, streamed bool) *talk {
	return &talk{w: w, session: "s1", path: map[fakemodel.API]string{fakemodel.Chat: "/v1/chat/completions", fakemodel.Responses: "/v1/responses", fakemodel.Messages: "/v1/messages"}[api], streamed: streamed}
}

// read is an answer as a client reads it.
type read struct {
	text  string
	calls []fakemodel.Call
}

// say adds a message of the user and sends the history.
func (k *talk) say(text string) read {
	k.w.t.Helper()
	k.history = append(k.history, map[string]any{"role": "user", "content": text})
	return k.send()
}

// send sends the history, and adds the answer to it.
func (k *talk) send() read {
	k.w.t.Helper()
	parameters := map[string]any{"type": "object"}
	body := map[string]any{
		"model": "m", "stream": k.streamed, "messages": k.history,
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "bash", "parameters": parameters}}},
	}
	if strings.HasSuffix(k.path, "/responses") {
		body["input"] = k.history
		body["tools"] = []any{map[string]any{"type": "function", "name": "bash", "parameters": parameters}}
		delete(body, "messages")
	}
	if strings.HasSuffix(k.path, "/messages") {
		body["max_tokens"] = 99
		body["tools"] = []any{map[string]any{"name": "bash", "input_schema": parameters}}
	}
	maps.Copy(body, k.fields)
	maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
	raw, err := json.Marshal(body)
	if err != nil {
		k.w.t.Fatal(err)
	}
	k.raw = k.w.post(k.path, string(raw), "X-Heldcall-Session", k.session, "X-Stainless-Timeout", k.patience, "anthropic-version", "2023-06-01", "x-api-key", "k").rest()
	got := k.read(k.raw)
	k.add(got)
	return got
}

// add adds an answer to the history, as agents of each API do.
func (k *talk) add(got read) {
	var calls []any
	switch {
	case strings.HasSuffix(k.path, "/completions"):
		message := map[string]any{"role": "assistant", "content": got.text}
		for _, c := range got.calls {
			calls = append(calls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
			message["tool_calls"] = calls
		}
		k.history = append(k.history, message)
	case strings.HasSuffix(k.path, "/messages"):
		if got.text != "" {
			calls = append(calls, map[string]any{"type": "text", "text": got.text})
		}
		for _, c := range got.calls {
			calls = append(calls, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)})
		}
		k.history = append(k.history, map[string]any{"role": "assistant", "content": calls})
	default:
		if got.text != "" {
			k.history = append(k.history, map[string]any{"role": "assistant", "content": got.text})
		}
		for _, c := range got.calls {
			k.history = append(k.history, map[string]any{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments})
		}
	}
}

// result adds the result of a call.
func (k *talk) result(id, text string) {
	switch {
	case strings.HasSuffix(k.path, "/completions"):
		k.history = append(k.history, map[string]any{"role": "tool", "tool_call_id": id, "content": text})
	case strings.HasSuffix(k.path, "/messages"):
		k.history = append(k.history, map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": text}}})
	default:
		k.history = append(k.history, map[string]any{"type": "function_call_output", "call_id": id, "output": text})
	}
}

func (k *talk) read(answer string) (got read) {
	payloads := []gjson.Result{gjson.Parse(answer)}
	if k.streamed {
		payloads = nil
		for line := range strings.Lines(answer) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				payloads = append(payloads, gjson.Parse(data))
			}
		}
	}
	open := func(id, name, arguments string) {
		got.calls = append(got.calls, fakemodel.Call{ID: id, Name: name, Arguments: arguments})
	}
	more := func(part string) {
		if part != "" {
			got.calls[len(got.calls)-1].Arguments += part
		}
	}
	for _, p := range payloads {
		for _, delta := range []gjson.Result{p.Get("choices.0.delta"), p.Get("choices.0.message")} {
			got.text += delta.Get("content").Str
			for _, c := range delta.Get("tool_calls").Array() {
				if c.Get("id").Exists() {
					open(c.Get("id").Str, c.Get("function.name").Str, "")
				}
				more(c.Get("function.arguments").Str)
			}
		}
		for _, block := range append(p.Get("content").Array(), p.Get("content_block")) {
			got.text += block.Get("text").Str
			if block.Get("type").Str == "tool_use" {
				open(block.Get("id").Str, block.Get("name").Str, "")
			}
			if block.Get("type").Str == "tool_use" && !k.streamed {
				more(block.Get("input").Raw)
			}
		}
		got.text += p.Get("delta.text").Str
		more(p.Get("delta.partial_json").Str)
		for _, item := range append(p.Get("output").Array(), p.Get("response.output").Array()...) {
			got.text += item.Get("content.0.text").Str
			if item.Get("type").Str == "function_call" {
				open(item.Get("call_id").Str, item.Get("name").Str, item.Get("arguments").Str)
			}
		}
	}
	return got
}
