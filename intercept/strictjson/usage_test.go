package strictjson

import "testing"

func TestAddUsage(t *testing.T) {
	tests := []struct{ a, b, want string }{
		{``, `{"total_tokens":3}`, `{"total_tokens":3}`},
		{`null`, `{"total_tokens":3}`, `{"total_tokens":3}`},
		{`{"total_tokens":3}`, `null`, `{"total_tokens":3}`},
		{`{"total_tokens":3,"d":{"cached":1}}`, `{"total_tokens":4,"d":{"cached":2,"audio":5}}`, `{"total_tokens":7,"d":{"cached":3,"audio":5}}`},
		{`{"cost":0.5,"tier":"a"}`, `{"cost":0.25,"tier":"b"}`, `{"cost":0.75,"tier":"a"}`},
		{`{"a.b":1}`, `{"a.b":2}`, `{"a.b":3}`},
		{`{"n":9007199254740993}`, `{"n":1}`, `{"n":9007199254740994}`},
	}
	for _, tt := range tests {
		if got := string(AddUsage([]byte(tt.a), []byte(tt.b))); got != tt.want {
			t.Errorf("%s + %s: got %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}
