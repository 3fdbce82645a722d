package chat

import (
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// schema and fields shorten the tables below.
type (
	schema = strictjson.Schema
	fields = map[string]*strictjson.Schema
)

var (
	aText       = &schema{Types: strictjson.String}
	aTextOrNull = &schema{Types: strictjson.String | strictjson.Null}
	aNumber     = &schema{Types: strictjson.Number}
	aCount      = &schema{Types: strictjson.Number | strictjson.Null}
	aNull       = &schema{Types: strictjson.Null}
	anyObject   = &schema{Types: strictjson.Object | strictjson.Null, Open: true}
	anyArray    = &schema{Types: strictjson.Array | strictjson.Null, Open: true}
	anyScalar   = &schema{Types: strictjson.Null | strictjson.Number | strictjson.String}
	noItems     = &schema{Types: strictjson.Array | strictjson.Null}
	signed      = &schema{Types: strictjson.Object | strictjson.Null, Fields: fields{"google": {Types: strictjson.Object | strictjson.Null, Fields: fields{
		"thought_signature": aTextOrNull, "thought": {Types: strictjson.Bool | strictjson.Null},
	}}}}
)

// callExtras are the fields that providers put beside the fields of a call and want back
// with it, in the entry and in the object with the name.
var callExtras = fields{
	"extra_content": signed, "provider_specific_fields": anyObject,
	"description":       aNull,
	"thought_signature": aTextOrNull, "signature": aTextOrNull,
}

// withFields returns the fields of both.
func withFields(own, more fields) fields {
	all := make(fields, len(own)+len(more))
	for _, list := range []fields{own, more} {
		for name, s := range list {
			all[name] = s
		}
	}
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

// keptFields are the fields that heldcall keeps of an event from which it takes a call.
// They are more than [textFields]: a client that does not read them misses no call.
var keptFields = withFields(textFields, fields{
	"content":     {Types: strictjson.String | strictjson.Array, Open: true},
	"audio":       {Types: strictjson.Object, Open: true},
	"annotations": {Types: strictjson.Array, Open: true},
	"images":      {Types: strictjson.Array, Open: true},
})

// kept reports whether heldcall keeps the text of an event from which it takes a call.
func (t *deltaText) kept() bool {
	s := keptFields[t.field]
	return s != nil && ((t.value.Type == gjson.String && s.Types&strictjson.String != 0) || s.Fits(t.value))
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

// uniformWhole reports whether all clients read a call alike that is the i-th of the
// message of a whole answer.
func (f *fragment) uniformWhole(i int) bool {
	return f.place == inMessage && f.name != "" && (!f.hasIndex || f.index == i) &&
		callSchemas[f.kind].whole.Fits(gjson.Parse(f.raw))
}
