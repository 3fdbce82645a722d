package fakemodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// ResponsesStream builds a streamed answer of the Responses API, byte for byte
// as OpenAI writes it: numbered events around output items, and the whole
// response in the events that open and close it. Its methods append and return
// the stream, so that they chain. The zero value writes usable defaults.
type ResponsesStream struct {
	ID      string
	Model   string
	Created int64
	// Request is the body that is answered. The response repeats its settings, which
	// also determine the events of reasoning.
	Request []byte
	// Fragment is how many characters one delta holds at most; 0 means 4.
	Fragment int

	eventLog
	output []json.RawMessage // the items that are done
	final  []byte            // the response as the last event has it
}

const defaultResponseID = "resp_5c1ed0ca110000000000000000000000000000000000000000"

// Raw appends bytes as they are: a comment, a broken event.
func (s *ResponsesStream) Raw(event string) *ResponsesStream {
	s.add(event)
	return s
}

// Event appends an event of a type with the next sequence number. OpenAI writes
// the type first and the other fields in the order of the alphabet.
func (s *ResponsesStream) Event(kind string, fields map[string]any) *ResponsesStream {
	numbered := make(map[string]any, len(fields)+1)
	maps.Copy(numbered, fields)
	numbered["sequence_number"] = len(s.events)
	var payload strings.Builder
	fmt.Fprintf(&payload, `{"type":%s`, quote(kind))
	for _, name := range slices.Sorted(maps.Keys(numbered)) {
		fmt.Fprintf(&payload, ",%s:%s", quote(name), encode(numbered[name]))
	}
	return s.Raw("event: " + kind + "\ndata: " + payload.String() + "}\n\n")
}

// Begin opens the response. In the background it is queued first.
func (s *ResponsesStream) Begin() *ResponsesStream {
	status := "in_progress"
	if s.background() {
		status = "queued"
	}
	s.lifecycle("response.created", status, nil)
	if s.background() {
		s.lifecycle("response.queued", status, nil)
	}
	return s.lifecycle("response.in_progress", "in_progress", nil)
}

// Keepalive appends the event with which OpenAI keeps a connection open.
func (s *ResponsesStream) Keepalive() *ResponsesStream {
	return s.Event("keepalive", nil)
}

// Complete closes the response with all items so far.
func (s *ResponsesStream) Complete(u Usage) *ResponsesStream {
	return s.lifecycle("response.completed", "completed", &u)
}

// Incomplete closes a response that was cut for a reason such as
// max_output_tokens. The last item was cut with it.
func (s *ResponsesStream) Incomplete(reason string, u Usage) *ResponsesStream {
	s.final = s.object("incomplete", &u, map[string]any{"incomplete_details": map[string]string{"reason": reason}})
	return s.Event("response.incomplete", map[string]any{"response": json.RawMessage(s.final)})
}

// Fail ends the response with an error event and a failed response, as OpenAI
// does inside a 200.
func (s *ResponsesStream) Fail(code, message string) *ResponsesStream {
	s.Event("error", map[string]any{"error": map[string]any{"type": code, "code": code, "message": message, "param": nil}})
	s.final = s.object("failed", nil, map[string]any{"error": map[string]string{"code": code, "message": message}})
	return s.Event("response.failed", map[string]any{"response": json.RawMessage(s.final)})
}

// Whole is the response as its last event has it, as one JSON document laid out
// as OpenAI does.
func (s *ResponsesStream) Whole() []byte { return append(indent(s.final, ""), '\n') }

func (s *ResponsesStream) lifecycle(kind, status string, u *Usage) *ResponsesStream {
	s.final = s.object(status, u, nil)
	return s.Event(kind, map[string]any{"response": json.RawMessage(s.final)})
}

func (s *ResponsesStream) background() bool { return gjson.GetBytes(s.Request, "background").Bool() }

type responsesUsage struct {
	InputTokens  int `json:"input_tokens"`
	InputDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens  int `json:"output_tokens"`
	OutputDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int `json:"total_tokens"`
}

func (u Usage) responses() responsesUsage {
	return responsesUsage{InputTokens: u.Prompt, OutputTokens: u.Completion, TotalTokens: u.Prompt + u.Completion}
}

// settings are the fields of a response in order, with their defaults for requests without
// them.
var settings = []struct{ name, absent string }{
	{"id", ""},
	{"object", `"response"`},
	{"created_at", ""},
	{"status", ""},
	{"background", "false"},
	{"completed_at", "null"},
	{"conversation", ""},
	{"error", "null"},
	{"frequency_penalty", "0.0"},
	{"incomplete_details", "null"},
	{"instructions", "null"},
	{"max_output_tokens", "null"},
	{"max_tool_calls", "null"},
	{"model", ""},
	{"moderation", "null"},
	{"output", "[]"},
	{"parallel_tool_calls", "true"},
	{"presence_penalty", "0.0"},
	{"previous_response_id", "null"},
	{"prompt_cache_key", "null"},
	{"prompt_cache_retention", "null"},
	{"reasoning", `{"effort":null,"summary":null}`},
	{"safety_identifier", "null"},
	{"service_tier", `"default"`},
	{"store", "true"},
	{"temperature", "1.0"},
	{"text", `{"format":{"type":"text"},"verbosity":"medium"}`},
	{"tool_choice", `"auto"`},
	{"tools", "[]"},
	{"top_logprobs", "0"},
	{"top_p", "1.0"},
	{"truncation", `"disabled"`},
	{"usage", "null"},
	{"user", "null"},
	{"metadata", "{}"},
}

// object is the response in its present state. more holds fields that are not as the
// request has them.
func (s *ResponsesStream) object(status string, u *Usage, more map[string]any) []byte {
	created := or(s.Created, defaultCreated)
	own := map[string]any{
		"id": or(s.ID, defaultResponseID), "object": "response", "created_at": created, "status": status,
		"model": or(s.Model, or(gjson.GetBytes(s.Request, "model").String(), defaultModel)),
	}
	if status == "completed" {
		own["completed_at"] = created + 1
	}
	if u != nil {
		own["output"], own["usage"] = append([]json.RawMessage{}, s.output...), u.responses()
	}
	if id := conversationOf(s.Request); id != "" {
		own["conversation"] = map[string]string{"id": id}
	}
	maps.Copy(own, more)
	var fields []string
	for _, field := range settings {
		value := rawField(s.Request, field.name, field.absent)
		if given, ok := own[field.name]; ok {
			value = string(encode(given))
		}
		if value != "" {
			fields = append(fields, quote(field.name)+":"+value)
		}
	}
	return []byte("{" + strings.Join(fields, ",") + "}")
}

// conversationOf is the id of the conversation that a request belongs to.
func conversationOf(request []byte) string {
	conversation := gjson.GetBytes(request, "conversation")
	if conversation.IsObject() {
		return conversation.Get("id").String()
	}
	return conversation.String()
}
