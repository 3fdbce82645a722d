package chat

import (
	"testing"

	"github.com/tidwall/gjson"
)

// A message returns to the provider as one: strings grow, pieces of an item join, and
// items that differ stay apart.
func TestMessageOfPieces(t *testing.T) {
	for _, tt := range []struct {
		name   string
		deltas []string
		want   string // after the role
	}{
		{"nothing", []string{`{"content":null}`}, `"content":null`},
		{"text", []string{`{"content":"a\n"}`, `{"content":"\u00e9"}`}, `"content":"a\n\u00e9"`},
		{"fields for the reader", []string{`{"content":"a","annotations":[{}],"x":1}`}, `"content":"a"`},
		{"reasoning", []string{`{"reasoning":"a"}`, `{"reasoning":"b"}`}, `"content":null,"reasoning":"ab"`},
		{"an object: the last one with a signature", []string{`{"extra_content":{"signature":"s"}}`, `{"extra_content":{"x":1}}`}, `"content":null,"extra_content":{"signature":"s"}`},
		{"parts of text", []string{`{"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"text","text":"b"}]}`}, `"content":[{"type":"text","text":"ab"}]`},
		{"text, then parts", []string{`{"content":"a"}`, `{"content":[{"type":"image","url":"u"}]}`, `{"content":"b"}`}, `"content":[{"type":"text","text":"a"},{"type":"image","url":"u"},{"type":"text","text":"b"}]`},
		{"thoughts in parts", []string{`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`, `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}]}]}`}, `"content":[{"type":"thinking","thinking":[{"type":"text","text":"ab"}]}]`},
		{"details by number", []string{`{"reasoning_details":[{"type":"t","index":0,"text":"a"},{"type":"t","index":1,"text":"b"}]}`, `{"reasoning_details":[{"type":"t","index":1,"text":"c"}]}`}, `"content":null,"reasoning_details":[{"type":"t","index":0,"text":"a"},{"type":"t","index":1,"text":"bc"}]`},
		{"details of two types", []string{`{"reasoning_details":[{"type":"t","data":"a"}]}`, `{"reasoning_details":[{"type":"u","data":"b"}]}`}, `"content":null,"reasoning_details":[{"type":"t","data":"a"},{"type":"u","data":"b"}]`},
		{"a thought until its signature", []string{`{"thinking_blocks":[{"type":"thinking","thinking":"a","signature":""}]}`, `{"thinking_blocks":[{"type":"thinking","thinking":"b","signature":"s"}]}`, `{"thinking_blocks":[{"type":"thinking","thinking":"c"}]}`}, `"content":null,"thinking_blocks":[{"type":"thinking","thinking":"ab","signature":"s"},{"type":"thinking","thinking":"c"}]`},
		{"an empty text adds nothing", []string{`{"content":[{"type":"image"}]}`, `{"content":[{"type":"text","text":""}]}`, `{"content":[{"type":"text","text":"a"}]}`}, `"content":[{"type":"image"},{"type":"text","text":"a"}]`},
		{"null does not replace", []string{`{"reasoning_details":[{"type":"t","index":0,"format":"f"}]}`, `{"reasoning_details":[{"type":"t","index":0,"format":null}]}`}, `"content":null,"reasoning_details":[{"type":"t","index":0,"format":"f"}]`},
		{"scalars", []string{`{"reasoning_details":[1,"a"]}`, `{"reasoning_details":[1]}`}, `"content":null,"reasoning_details":[1,"a",1]`},
		{"no items", []string{`{"reasoning_details":[]}`}, `"content":null,"reasoning_details":[]`},
		{"sound", []string{`{"audio":{"id":"s","transcript":"a"}}`, `{"audio":{"id":"t","transcript":"b","data":"AA"}}`}, `"content":null,"audio":{"id":"s"}`},
		{"words of a sound without an id", []string{`{"audio":{"transcript":"a"}}`, `{"audio":{"transcript":"b"}}`}, `"content":"ab"`},
	} {
		var u assistantMessage
		for _, d := range tt.deltas {
			gjson.Parse(d).ForEach(func(k, v gjson.Result) bool {
				u.add(k.Str, v)
				return true
			})
		}
		if got := u.render(nil, nil); got != `{"role":"assistant",`+tt.want+`}` {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
