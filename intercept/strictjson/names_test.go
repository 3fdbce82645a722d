package strictjson

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestNamesCall(t *testing.T) {
	tests := []struct {
		json string
		want bool
	}{
		{`{"type":"message","content":[{"type":"output_text","text":"call the \"function_call\": {\"input\": 1} \\","logprobs":[]}]}`, false},
		{`{"text":"\u0063all","type":"text"}`, false},
		{`{"type":null,"text":"call"}`, false},
		{`"call"`, false},
		{`{"x_call":1}`, true},
		{`{"x":[{"CALLS":1}]}`, true},
		{`{"c\u0061lls":1}`, true},
		{`{"a\"call":1}`, true},
		{`{"a\\":"call","type" : "TOOL_use"}`, true},
		{`{"TYPE":"function\u005fcall"}`, true},
		{`{"type":["a call"]}`, true},
		{`{"type":{"a":"a call"}}`, true},
		{`{"name":"bash","input":{}}`, true},
		{`{"a`, true},
		{`{"usage":{"input_tokens":1,"server_tool_use":null},"name":"x","actions":[],"approval":{}}`, false},
		{`{"Action":1}`, true},
		{`{"parameter\u017f":1}`, true},
		{"{\"argument\u017f\":1}", true},
		{`{"parallel_tool_calls":true}`, true},
	}
	for _, tt := range tests {
		if got, bytes := NamesCall(tt.json), NamesCall([]byte(tt.json)); got != tt.want || bytes != tt.want {
			t.Errorf("%s: got %v, as bytes %v", tt.json, got, bytes)
		}
	}
}

// FuzzNamesCall compares the scan with the search that it spares: JSON that the scan
// passes contains nothing suspect at any depth.
func FuzzNamesCall(f *testing.F) {
	for _, in := range []string{
		`{"tool_calls":[{"function":{"name":"x","arguments":"{}"}}]}`, `{"t\u006fol_\u0063alls":[1]}`, `{"a":{"name":"x","input":{}}}`,
		`{"content":"call me \" \\"}`, `{"CALLS":["x"]}`, `{"x":{"type":"function_call"}}`, `{"type":["call"],"TYPE":{"x":"tool_use"}}`, `{"argument\u017f":1,"name":"x"}`,
		"{\"argument\u017f\":1,\"name\":\"x\"}", `{"a":[{"input_tokens":1,"name":"x","ACTION":null}]}`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if Strict(in) != nil || NamesCall(in) {
			return
		}
		v := gjson.ParseBytes(in)
		if reason := suspect("", v, 0); reason != "" && !strings.Contains(reason, "too deeply") {
			t.Fatalf("cleared %q: %s", in, reason)
		}
	})
}
