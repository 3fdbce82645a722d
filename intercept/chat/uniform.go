package chat

import (
	"bytes"

	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// A call is uniform if every event that carries a part of it is read alike by all
// known clients: the event fits a schema of known fields, its envelope is that of
// the answer, and its place in the stream leaves no choice of how to assemble the
// call. A call that is not uniform is released in canonical form.

// schema and fields abbreviate the tables below.
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

// callExtras are the fields that providers put beside the fields of a call and want
// back with it, in the entry and in the object that has the name.
var callExtras = fields{
	"extra_content": signed, "provider_specific_fields": anyObject,
	"description":       aNull,
	"thought_signature": aTextOrNull, "signature": aTextOrNull,
}

// with returns the fields of both.
func with(own, more fields) fields {
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
	opening := &schema{Types: strictjson.Object, Fields: with(fields{"name": aText, input: aTextOrNull}, callExtras), Required: []string{"name"}}
	more := &schema{Types: strictjson.Object, Fields: with(fields{"name": aTextOrNull, input: aTextOrNull}, callExtras)}
	whole := &schema{Types: strictjson.Object, Fields: with(fields{"name": aText, input: aText}, callExtras), Required: []string{"name", input}}
	return callSchema{
		opening: &schema{Types: strictjson.Object, Fields: with(fields{"index": aNumber, "id": aText, "type": tag, body: opening}, callExtras), Required: []string{"index", body}},
		more:    &schema{Types: strictjson.Object, Fields: with(fields{"index": aNumber, "id": aTextOrNull, "type": {Types: strictjson.String | strictjson.Null, Values: tag.Values}, body: more}, callExtras), Required: []string{"index", body}},
		whole:   &schema{Types: strictjson.Object, Fields: with(fields{"index": aNumber, "id": aText, "type": tag, body: whole}, callExtras), Required: []string{body}},
	}
}

// saidFields are the fields of a delta that say something besides calls, with the types
// that clients read.
var saidFields = fields{
	"content": aTextOrNull, "refusal": aTextOrNull,
	"reasoning": aTextOrNull, "reasoning_content": aTextOrNull, "reasoning_text": aTextOrNull, "reasoning_opaque": aTextOrNull,
	"reasoning_details": anyArray, "thinking_blocks": anyArray,
	"thought_signature": aTextOrNull, "signature": aTextOrNull, "encrypted_content": aTextOrNull,
	"extra_content": signed, "provider_specific_fields": anyObject,
}

// keptFields are the fields that heldcall keeps of an event when it takes a call out
// of it. They are more than [saidFields]: what some clients do not read costs them no call.
var keptFields = with(saidFields, fields{
	"content":     {Types: strictjson.String | strictjson.Array, Open: true},
	"audio":       {Types: strictjson.Object, Open: true},
	"annotations": {Types: strictjson.Array, Open: true},
	"images":      {Types: strictjson.Array, Open: true},
})

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
				"delta": {Types: strictjson.Object, Fields: with(saidFields, fields{
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

// plain reports whether every client that follows the standard finds the part's
// one event, and nothing else in it. The last part of a stream that lacks its
// blank line is lost in most clients.
func (p *eventBatch) plain() bool {
	if p.part.Last || len(p.part.Payloads) != 1 {
		return false
	}
	e := sse.Parse(p.part.Bytes)
	return len(e.Data) == 1 && len(e.Stray) == 0 && e.Name == nil && e.Indented == 0 && bytes.HasSuffix(p.part.Bytes, []byte("\n"))
}

// uniform reports whether an event that carries parts of calls fits, with the
// envelope that the answer began with.
func (p *eventBatch) uniform(c *chunk) bool {
	return len(c.choices) == 1 && p.plain() && c.head.like(p.began) && eventSchema.Fits(gjson.Parse(c.raw))
}

// like reports whether the head of an event is that of the answer. Providers change
// the model and the time within an answer, and no client compares them.
func (h head) like(first head) bool {
	return h.id == first.id && h.object == first.object && (h.created == "") == (first.created == "") && (h.model == "") == (first.model == "") &&
		(h.created == "" || digits(h.created))
}

// digits reports whether a raw value is a whole number without a sign, of a size
// that every client reads.
func digits(raw string) bool {
	for i := range len(raw) {
		if raw[i] < '0' || raw[i] > '9' {
			return false
		}
	}
	return raw != "" && len(raw) <= 15
}

// uniform reports whether all clients read the fragment alike at its place: it
// opens the next call of its choice, or continues the call of the fragment before.
func (r *roster) uniform(f *fragment, c *call, opened bool, before *call) bool {
	if f.place != inDelta || c != r.last() || (f.kind != kindLegacy && (!f.hasIndex || f.index != len(r.calls)-1)) {
		return false
	}
	s := &callSchemas[f.kind]
	if opened {
		return f.name != "" && s.opening.Fits(gjson.Parse(f.raw))
	}
	return c == before && c.kind == f.kind && f.name == "" && f.id == "" && s.more.Fits(gjson.Parse(f.raw))
}

// uniformWhole reports whether all clients read a call of a whole answer alike,
// which is the i-th of its message.
func (f *fragment) uniformWhole(i int) bool {
	return f.place == inMessage && f.name != "" && (!f.hasIndex || f.index == i) &&
		callSchemas[f.kind].whole.Fits(gjson.Parse(f.raw))
}
