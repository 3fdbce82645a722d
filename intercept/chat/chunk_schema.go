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
	aTextOrNull = &schema{Types: strictjson.String | strictjson.Null}
	aNull       = &schema{Types: strictjson.Null}
	anyObject   = &schema{Types: strictjson.Object | strictjson.Null, Open: true}
	anyArray    = &schema{Types: strictjson.Array | strictjson.Null, Open: true}
	signed      = &schema{Types: strictjson.Object | strictjson.Null, Open: true, Fields: fields{"google": {Types: strictjson.Object | strictjson.Null, Open: true, Fields: fields{
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

// keptFields are the known fields of a delta beside calls.
var keptFields = fields{
	"content": {Types: strictjson.String | strictjson.Array, Open: true}, "refusal": aTextOrNull,
	"reasoning": aTextOrNull, "reasoning_content": aTextOrNull, "reasoning_text": aTextOrNull, "reasoning_opaque": aTextOrNull,
	"reasoning_details": anyArray, "thinking_blocks": anyArray,
	"thought_signature": aTextOrNull, "signature": aTextOrNull, "encrypted_content": aTextOrNull,
	"extra_content": signed, "provider_specific_fields": anyObject,
	"audio":       {Types: strictjson.Object, Open: true},
	"annotations": {Types: strictjson.Array, Open: true},
	"images":      {Types: strictjson.Array, Open: true},
}

// kept reports whether heldcall keeps the text of an event from which it takes a call: one that is
// in one of [keptFields] or, unless only known fields are asked for, in any other.
func (t *deltaText) kept(known bool) bool {
	s := keptFields[t.field]
	if s == nil {
		return !known && passes(t.field, t.value)
	}
	return (t.value.Type == gjson.String && s.Types&strictjson.String != 0) || s.Fits(t.value)
}

// passes reports whether a field of no known meaning has contents and may go out beside a call: no
// client copies it into an object's prototype.
func passes(name string, v gjson.Result) bool {
	empty := v.Type == gjson.Null || v.Raw == `""` || v.Raw == "{}" || v.Raw == "[]"
	return !empty && anyObject.Fits(gjson.Parse("{"+strictjson.Quote(name)+":"+v.Raw+"}"))
}
