package chat

import (
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

func headOf(t *testing.T, fields string) chunkHead {
	t.Helper()
	c, err := decodeChunk(`{` + fields + `"choices":[]}`)
	if err != nil {
		t.Fatal(err)
	}
	return c.head
}

func TestHeadLike(t *testing.T) {
	const full = `"id":"a","object":"chat.completion.chunk","created":1,"model":"m",`
	for _, tt := range []struct {
		name, first, head string
		want              bool
	}{
		{"the same", full, full, true},
		{"another model and time", full, `"id":"a","object":"chat.completion.chunk","created":2,"model":"n",`, true},
		{"another fingerprint", full, full + `"system_fingerprint":"f",`, true},
		{"another id", full, `"id":"b","object":"chat.completion.chunk","created":1,"model":"m",`, false},
		{"another object", full, `"id":"a","object":"chat.completion","created":1,"model":"m",`, false},
		{"no time", full, `"id":"a","object":"chat.completion.chunk","model":"m",`, false},
		{"no model", full, `"id":"a","object":"chat.completion.chunk","created":1,`, false},
		{"a fractional time", full, `"id":"a","object":"chat.completion.chunk","created":1.5,"model":"m",`, false},
		{"a time of 16 digits", full, `"id":"a","object":"chat.completion.chunk","created":1234567890123456,"model":"m",`, false},
		{"neither time nor model", `"id":"a",`, `"id":"a",`, true},
	} {
		if got := headOf(t, tt.head).like(headOf(t, tt.first)); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

func TestHeadEvent(t *testing.T) {
	for _, tt := range []struct{ name, fields, want string }{
		{"all", `"id":"a","created":1,"model":"m","system_fingerprint":"f",`, `{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"f","choices":[{"index":0,"delta":{},"finish_reason":null}]}`},
		{"none", "", `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":null}]}`},
		{"values that clients do not read", `"id":1,"created":"now","model":{},"system_fingerprint":null,`, `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":null}]}`},
	} {
		head := headOf(t, tt.fields).readable()
		if got := string(head.event(choiceJSON(0, "", "null"))); got != "data: "+tt.want+"\n\n" {
			t.Errorf("%s: got %s", tt.name, got)
		}
		if chunk := head.chunk(); strictjson.Strict([]byte(chunk)) != nil {
			t.Errorf("%s: a chunk without choices is %s", tt.name, chunk)
		}
	}
}
