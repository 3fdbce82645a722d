package chat

import (
	"testing"

	"github.com/tidwall/gjson"
)

// The schemas accept the forms that all known clients read alike, and no other.
func TestCallSchemas(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		kind                 callKind
		raw                  string
		opening, more, whole bool
	}{
		{"an opening", kindFunction, `{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`, true, true, true},
		{"an opening without arguments", kindFunction, `{"index":0,"id":"a","function":{"name":"f"}}`, true, true, false},
		{"a continuation", kindFunction, `{"index":0,"function":{"arguments":"{"}}`, false, true, false},
		{"a continuation with nulls", kindFunction, `{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"{"}}`, false, true, false},
		{"no index", kindFunction, `{"id":"a","function":{"name":"f","arguments":"{}"}}`, false, false, true},
		{"arguments as an object", kindFunction, `{"index":0,"function":{"name":"f","arguments":{}}}`, false, false, false},
		{"an unknown field", kindFunction, `{"index":0,"function":{"name":"f","arguments":"{}"},"x":1}`, false, false, false},
		{"a signature", kindFunction, `{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}`, true, true, true},
		{"the type of another kind", kindFunction, `{"index":0,"id":"a","type":"custom","function":{"name":"f","arguments":"{}"}}`, false, false, false},
		{"a custom opening", kindCustom, `{"index":0,"id":"a","type":"custom","custom":{"name":"f","input":"x"}}`, true, true, true},
		{"a function as a custom call", kindCustom, `{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, false, false, false},
		{"a legacy call", kindLegacy, `{"name":"f","arguments":"{}"}`, true, true, true},
		{"a legacy continuation", kindLegacy, `{"arguments":"{}"}`, false, true, false},
		{"a legacy call with another field", kindLegacy, `{"name":"f","arguments":"{}","id":"a"}`, false, false, false},
	} {
		s, v := callSchemas[tt.kind], gjson.Parse(tt.raw)
		if got := [3]bool{s.opening.Fits(v), s.more.Fits(v), s.whole.Fits(v)}; got != [3]bool{tt.opening, tt.more, tt.whole} {
			t.Errorf("%s: opening, more, whole are %v", tt.name, got)
		}
	}
}

func TestEventSchema(t *testing.T) {
	const head = `"id":"a","object":"chat.completion.chunk","created":1,"model":"m",`
	for _, tt := range []struct {
		name, event string
		want        bool
	}{
		{"an event of OpenAI", `{` + head + `"system_fingerprint":null,"obfuscation":"x","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{}]},"logprobs":null,"finish_reason":null}],"usage":null}`, true},
		{"without choices", `{` + head + `"usage":null}`, false},
		{"a choice without an index", `{"choices":[{"delta":{}}]}`, false},
		{"a choice without a delta", `{"choices":[{"index":0}]}`, false},
		{"another object", `{"object":"chat.completion","choices":[]}`, false},
		{"another role", `{"choices":[{"index":0,"delta":{"role":"tool"}}]}`, false},
		{"a message", `{"choices":[{"index":0,"delta":{},"message":{}}]}`, false},
		{"an unknown field", `{"x":1,"choices":[]}`, false},
		{"a time as text", `{"created":"1","choices":[]}`, false},
		{"content as an array", `{"choices":[{"index":0,"delta":{"content":[]}}]}`, false},
		{"sound", `{"choices":[{"index":0,"delta":{"audio":{"data":"AA"}}}]}`, false},
		{"images", `{"choices":[{"index":0,"delta":{"images":[{}]}}]}`, false},
		{"no images", `{"choices":[{"index":0,"delta":{"images":[]}}]}`, true},
		{"a log probability without its token", `{"choices":[{"index":0,"delta":{},"logprobs":{"content":[{"logprob":0,"top_logprobs":[]}]}}]}`, false},
		{"usage with an unknown field", `{"choices":[],"usage":{"x":1}}`, false},
	} {
		if got := eventSchema.Fits(gjson.Parse(tt.event)); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

func TestUniformWhole(t *testing.T) {
	for _, tt := range []struct {
		name, message string
		want          bool
	}{
		{"a call", `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`, true},
		{"its number", `"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]`, true},
		{"another number", `"tool_calls":[{"index":1,"function":{"name":"f","arguments":"{}"}}]`, false},
		{"no name", `"tool_calls":[{"id":"a","function":{"name":"","arguments":"{}"}}]`, false},
		{"arguments as an object", `"tool_calls":[{"function":{"name":"f","arguments":{}}}]`, false},
		{"a legacy call", `"function_call":{"name":"f","arguments":"{}"}`, true},
	} {
		for place, want := range map[string]bool{"message": tt.want, "delta": false} {
			c, err := decodeWhole(choiceOf(`"` + place + `":{` + tt.message + `}`))
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if got := c.choices[0].calls[0].uniformWhole(0); got != want {
				t.Errorf("%s in %s: %t", tt.name, place, got)
			}
		}
	}
}

// An event from which heldcall takes a call keeps the texts of known fields and types.
func TestKept(t *testing.T) {
	for field, want := range map[string]bool{
		`"content":"a"`:                 true,
		`"content":[{"type":"text"}]`:   true,
		`"content":{"a":1}`:             false,
		`"audio":{"data":"AA"}`:         true,
		`"audio":"AA"`:                  false,
		`"images":[{"url":"u"}]`:        true,
		`"reasoning":"r"`:               true,
		`"reasoning":["r"]`:             false,
		`"reasoning_details":[{"a":1}]`: true,
		`"x_unknown":"a"`:               false,
	} {
		c, err := decodeChunk(deltaOf(field))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.choices[0].texts[0].kept(); got != want {
			t.Errorf("%s: %t", field, got)
		}
	}
}
