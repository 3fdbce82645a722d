package hosted

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat"
	"github.com/heldcall/heldcall/intercept/responses"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// Requests are counted by whether they offer tools.
func TestCount(t *testing.T) {
	var o Offers
	count := func(d intercept.Dialect, method, path, body string) {
		t.Helper()
		parsed, err := d.Request(intercept.Envelope{Method: method, Path: path, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		o.Count(&conversation.Request{}, parsed, slog.New(slog.DiscardHandler))
	}
	count(chat.Dialect{}, "POST", "/chat/completions", `{"model":"m","stream":false,"messages":[{"role":"user","content":"do it"}]}`)
	count(responses.Dialect{}, "POST", "/responses", `{"model":"m","input":"x","tools":[{"type":"function","name":"bash"}]}`)
	count(responses.Dialect{}, "GET", "/responses/resp_1", "")
	if requests, offering := o.Requests(); requests != 2 || offering != 1 {
		t.Errorf("%d requests, %d with tools", requests, offering)
	}
}

func TestSeen(t *testing.T) {
	var s seen
	if !s.first("a") || s.first("a") || !s.first("b") {
		t.Error("keys are not remembered")
	}
	for i := range maxSeen {
		s.first(fmt.Sprint(i))
	}
	if len(s.keys) > maxSeen {
		t.Errorf("%d keys are remembered", len(s.keys))
	}
}
