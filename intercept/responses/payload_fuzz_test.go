package responses

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// FuzzDecode: an event without its long texts is read as the whole event is.
func FuzzDecode(f *testing.F) {
	long := strings.Repeat(`a \"call\" of {\"type\":\"function_call\"} \n`, 5)
	item := `{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"%"}],"role":"assistant"}`
	sealed := `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"%"}],"encrypted_content":"%"}`
	call := `{"type":"function_call","id":"fc_1","call_id":"c1","name":"bash","arguments":"{\"text\":\"%\"}"}`
	computer := `{"type":"computer_call","id":"cu_1","call_id":"c2","action":{"type":"type","text":"%"},"caller":{"type":"program","caller_id":"p","text":"%"}}`
	unknown := `{"type":"robot","id":"r","text":"%","result":"%","content":[{"type":"x","text":"%","description":"%"}]}`
	for _, payload := range []string{
		`{"type":"response.output_text.done","item_id":"msg_1","text":"%","logprobs":[]}`,
		`{"type":"response.content_part.done","part":{"type":"output_text","text":"%"},"sequence_number":7}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`,
		`{"type":"response.output_item.done","item":` + sealed + `,"item_id":"rs_1"}`,
		`{"type":"response.output_item.done","item":` + call + `}`,
		`{"type":"response.output_item.added","item":` + computer + `}`,
		`{"type":"response.output_item.added","item":` + unknown + `}`,
		`{"type":"response.completed","response":{"id":"r1","instructions":"%","output":[` + item + `,` + sealed + `,` + call + `,` + computer + `],"tools":[{"type":"function","name":"bash","description":"%","parameters":{}}],"usage":{"text":"%"}}}`,
		`{"type":"response.output_text.delta","delta":"x","text":"%","sequence_number":3}`,
		`{"type":"text","text":"%","result":{"text":"%"},"name":"x","input":"%"}`,
		`{"text":"%","description":"%"}`, `[{"text":"%"}]`, ` {"type":"robot","text":"%"} `,
	} {
		payload = strings.ReplaceAll(payload, "%", long)
		f.Add([]byte(payload), "response.output_text.done", long)
		f.Add([]byte(payload), "", "")
	}
	f.Fuzz(func(t *testing.T, payload []byte, name, before string) {
		texts := strictjson.Texts{Names: longTexts}
		texts.Abridge([]byte(`{"text":"` + before + `"}`))
		abridged := texts.Abridge(payload)
		if !abridged.IsStrict() && !strictjson.CutText(payload) {
			return
		}
		got, err := decodeEvent(abridged, []string{name}, true)
		want, wantErr := decodeEvent(strictjson.Unabridged(payload), []string{name}, true)
		if (err == nil) != (wantErr == nil) || (err != nil && err.Error() != wantErr.Error()) {
			t.Fatalf("%s: %v, without the long texts: %v", payload, wantErr, err)
		}
		if abridged.Short() {
			want.slots = got.slots // events with long texts have none
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{}, inputEvent{}, entry{}, entryInput{}, object{}, responseHead{}, callForm{})); diff != "" {
			t.Fatalf("%s (-whole +abridged):\n%s", payload, diff)
		}
	})
}

// FuzzMayHaveItem: there is no call in JSON that is not searched for one.
func FuzzMayHaveItem(f *testing.F) {
	for _, in := range []string{
		`[{"type":"function","name":"bash","description":"a \"call_id\"","parameters":{"type":"object","properties":{"type":{"type":"string"}}}}]`,
		`[{"type":"function_call"}]`, `{"a":{"Type" : "Shell_Call"}}`, `[{"t\u0079pe":"function_call"}]`, `[{"type":"function\u005fcall"}]`,
		`[{"call_id":"c","input":"i"}]`, `{"a":{"CALL_ID":1,"arguments":{}}}`, `[{"type":["function_call"],"call\u005fid":1,"action":2}]`, `{"type":{"type":"custom_tool_call"}}`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if strictjson.Strict(in) != nil || mayHaveItem(string(in)) || strictjson.Deep(in) {
			return
		}
		if callsWithin(gjson.ParseBytes(in), 0) {
			t.Fatalf("not searched, and a call is in it: %s", in)
		}
	})
}
