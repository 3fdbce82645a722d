package turn

import (
	"fmt"
	"testing"

	"github.com/heldcall/heldcall/intercept/responses"
)

// Requests are counted by whether they offer tools.
func TestCountOffer(t *testing.T) {
	b := newBench(t, allowAll)
	count := func(r *Request) { b.offers.count(r, b.prepared(t, r).Parsed, b.Log) }
	count(chatRequest(false))
	count(requestTo(responses.Dialect{}, "/responses", `{"model":"m","input":"x","tools":[{"type":"function","name":"bash"}]}`))
	fetch := requestTo(responses.Dialect{}, "/responses/resp_1", "")
	fetch.Envelope.Method = "GET"
	count(fetch)
	if requests, offering := b.ToolOffers(); requests != 2 || offering != 1 {
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
