package chat

import (
	"maps"
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// The schemas of the events with calls that all known clients read alike. What heldcall renders fits
// them: see [readUniform].

var (
	aText     = &schema{Types: strictjson.String}
	aNumber   = &schema{Types: strictjson.Number}
	aCount    = &schema{Types: strictjson.Number | strictjson.Null}
	anyScalar = &schema{Types: strictjson.Null | strictjson.Number | strictjson.String}
	noItems   = &schema{Types: strictjson.Array | strictjson.Null}
)

// withFields returns the fields of both.
func withFields(own, more fields) fields {
	all := maps.Clone(own)
	maps.Copy(all, more)
	return all
}

// callSchema is the schema of a call, or of a part of one, in an answer.
type callSchema struct{ opening, more, whole *schema }

// callSchemas are the schemas by kind of call.
var callSchemas = [...]callSchema{
	kindFunction: entrySchemas("function", "arguments"),
	kindCustom:   entrySchemas("custom", "input"),
	kindLegacy: {
		opening: &schema{Types: strictjson.Object, Fields: fields{"name": aText, "arguments": aTextOrNull}, Required: []string{"name"}},
		more:    &schema{Types: strictjson.Object, Fields: fields{"name": aTextOrNull, "arguments": aTextOrNull}},
		whole:   &schema{Types: strictjson.Object, Fields: fields{"name": aText, "arguments": aText}, Required: []string{"name", "arguments"}},
	},
}

func entrySchemas(body, input string) callSchema {
	tag := &schema{Types: strictjson.String, Values: []string{body}}
	opening := &schema{Types: strictjson.Object, Fields: withFields(fields{"name": aText, input: aTextOrNull}, callExtras), Required: []string{"name"}}
	more := &schema{Types: strictjson.Object, Fields: withFields(fields{"name": aTextOrNull, input: aTextOrNull}, callExtras)}
	whole := &schema{Types: strictjson.Object, Fields: withFields(fields{"name": aText, input: aText}, callExtras), Required: []string{"name", input}}
	return callSchema{
		opening: &schema{Types: strictjson.Object, Fields: withFields(fields{"index": aNumber, "id": aText, "type": tag, body: opening}, callExtras), Required: []string{"index", body}},
		more:    &schema{Types: strictjson.Object, Fields: withFields(fields{"index": aNumber, "id": aTextOrNull, "type": {Types: strictjson.String | strictjson.Null, Values: tag.Values}, body: more}, callExtras), Required: []string{"index", body}},
		whole:   &schema{Types: strictjson.Object, Fields: withFields(fields{"index": aNumber, "id": aText, "type": tag, body: whole}, callExtras), Required: []string{body}},
	}
}

// textFields are the fields of a delta besides calls, with the types that clients read.
var textFields = fields{
	"content": aTextOrNull, "refusal": aTextOrNull,
	"reasoning": aTextOrNull, "reasoning_content": aTextOrNull, "reasoning_text": aTextOrNull, "reasoning_opaque": aTextOrNull,
	"reasoning_details": anyArray, "thinking_blocks": anyArray,
	"thought_signature": aTextOrNull, "signature": aTextOrNull, "encrypted_content": aTextOrNull,
	"extra_content": signed, "provider_specific_fields": anyObject,
}

// eventSchema is the schema of an event that carries a part of a call. The entries
// of tool_calls and function_call have schemas of their own.
var eventSchema = &schema{
	Types: strictjson.Object, Required: []string{"choices"},
	Fields: fields{
		"id": aText, "object": {Types: strictjson.String, Values: []string{chunkObject}}, "created": aNumber, "model": aText,
		"system_fingerprint": aTextOrNull, "service_tier": aTextOrNull, "provider": aTextOrNull,
		"obfuscation": aTextOrNull, "p": aTextOrNull,
		"usage": usageSchema, "x_groq": anyObject, "timings": anyObject, "nvext": anyObject, "perf_metrics": anyObject,
		"prompt_filter_results": anyArray, "citations": anyArray, "search_results": anyArray, "prompt_token_ids": anyArray,
		"choices": {Types: strictjson.Array, Items: &schema{
			Types: strictjson.Object, Required: []string{"index", "delta"},
			Fields: fields{
				"index": aNumber, "finish_reason": aTextOrNull, "native_finish_reason": aTextOrNull, "logprobs": logprobsSchema,
				"stop_reason": anyScalar, "matched_stop": anyScalar, "token_ids": anyArray,
				"content_filter_results": anyObject, "content_filter_result": anyObject, "content_filter_offsets": anyObject,
				"delta": {Types: strictjson.Object, Fields: withFields(textFields, fields{
					"role":       {Types: strictjson.String | strictjson.Null, Values: []string{"assistant"}},
					"tool_calls": anyArray, "function_call": anyObject,
					"annotations": noItems, "audio": aNull, "images": noItems,
				})},
			},
		}},
	},
}

var logprobsSchema = &schema{Types: strictjson.Object | strictjson.Null, Fields: fields{"content": tokensSchema, "refusal": tokensSchema}}

var tokensSchema = &schema{Types: strictjson.Array | strictjson.Null, Items: &schema{
	Types: strictjson.Object, Required: []string{"token", "logprob", "top_logprobs"},
	Fields: fields{
		"token": aText, "logprob": aNumber, "bytes": anyArray,
		"top_logprobs": {Types: strictjson.Array, Items: &schema{
			Types: strictjson.Object, Fields: fields{"token": aText, "logprob": aNumber, "bytes": anyArray}, Required: []string{"token", "logprob"},
		}},
	},
}}

var usageSchema = &schema{Types: strictjson.Object | strictjson.Null, Fields: fields{
	"prompt_tokens": aCount, "completion_tokens": aCount, "total_tokens": aCount, "reasoning_tokens": aCount, "cached_tokens": aCount,
	"num_cached_tokens": aCount, "num_sources_used": aCount, "prompt_cache_hit_tokens": aCount, "prompt_cache_miss_tokens": aCount,
	"queue_time": aCount, "prompt_time": aCount, "completion_time": aCount, "total_time": aCount,
	"service_tier": aTextOrNull, "cost": aCount, "is_byok": {Types: strictjson.Bool},
	"prompt_tokens_details": tokenDetails, "completion_tokens_details": tokenDetails,
}}

var tokenDetails = &schema{Types: strictjson.Object | strictjson.Null, Fields: fields{
	"cached_tokens": aCount, "cache_write_tokens": aCount, "audio_tokens": aCount, "text_tokens": aCount, "image_tokens": aCount, "video_tokens": aCount,
	"reasoning_tokens": aCount, "accepted_prediction_tokens": aCount, "rejected_prediction_tokens": aCount,
}}

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
		s, v := &callSchemas[tt.kind], gjson.Parse(tt.raw)
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
