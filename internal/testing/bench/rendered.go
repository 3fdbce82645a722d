package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	chatwire "github.com/heldcall/heldcall/intercept/chat"
	messageswire "github.com/heldcall/heldcall/intercept/messages"
	responseswire "github.com/heldcall/heldcall/intercept/responses"
)

// expected is one form of an answer that the agent may get.
type expected struct {
	body  []byte
	seeds []int // where the number of the exchange is
}

func (e *expected) clone() expected { return expected{bytes.Clone(e.body), e.seeds} }

// is reports whether an answer is the expected one of an exchange.
func (e *expected) is(answer []byte, seed int64) bool {
	stamp(e.body, e.seeds, seed)
	return bytes.Equal(answer, e.body)
}

// render adds the forms of an answer with a call in which heldcall gives it to the agent: it renders the call, when that is
// complete or at the end of the answer. Other hops pass what upstream sent.
func (sc *script) render(sent []byte) error {
	for _, early := range []bool{false, true} {
		body, err := sc.dialect.rendered(sent, early)
		if err != nil {
			return fmt.Errorf("render the answer of %s: %w", sc.dialect.name, err)
		}
		sc.forms = append(sc.forms, expected{body, marks(body, seedField)})
	}
	return nil
}

// rendered reads an answer as heldcall does, and releases its calls: early, or at its end.
func (d *dialect) rendered(sent []byte, early bool) (out []byte, err error) {
	wire := map[string]intercept.Dialect{"chat": chatwire.Dialect{}, "messages": messageswire.Dialect{}, "responses": responseswire.Dialect{}}[d.name]
	request, err := wire.Request(intercept.Envelope{
		Method: "POST", Path: strings.TrimPrefix(d.path, "/v1"), Body: []byte(`{"model":"gpt-bench-1","stream":true,` + d.conversation + d.tail),
	})
	if err != nil {
		return nil, err
	}
	answer := intercept.NewAnswer(request, intercept.Limits{MaxBytes: 64 << 20})
	take := func(more []byte, failure error) {
		out = append(out, more...)
		if err == nil {
			err = failure
		}
	}
	for _, event := range splitEvents(sent) {
		take(answer.Write(event))
		for early && err == nil && answer.Ripe() && len(answer.Ready()) > 0 {
			take(answer.Release())
		}
	}
	if take(answer.End(true)); err != nil {
		return nil, err
	}
	rulings := make([]intercept.Ruling, len(answer.Calls()))
	for i := range rulings {
		rulings[i].Action = intercept.Release
	}
	resolution, err := answer.Resolve(rulings)
	return append(out, resolution.Bytes...), err
}
