package chat

import (
	"testing"

	"github.com/heldcall/heldcall/intercept"
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

func TestHeadEvent(t *testing.T) {
	for _, tt := range []struct{ name, fields, want string }{
		{"all", `"id":"a","created":1,"model":"m","system_fingerprint":"f",`, `{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"f","choices":[{"index":0,"delta":{},"finish_reason":null}]}`},
		{"none", "", `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":null}]}`},
		{"values that clients do not read", `"id":1,"created":"now","model":{},"system_fingerprint":null,`, `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":null}]}`},
	} {
		head := headOf(t, tt.fields).readable()
		if got := head.event(choiceJSON(0, "", "null")); got != (intercept.Event{Data: tt.want}) {
			t.Errorf("%s: got %s", tt.name, got)
		}
		if chunk := head.chunk(); strictjson.Strict([]byte(chunk)) != nil {
			t.Errorf("%s: a chunk without choices is %s", tt.name, chunk)
		}
	}
}
