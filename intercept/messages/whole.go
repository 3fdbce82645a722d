package messages

import (
	"bytes"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// readWhole reads an answer that is one JSON body.
func (a *answer) readWhole(framed bool) error {
	body, err := a.upstream.Value(framed)
	if err != nil {
		return err
	}
	m, err := decodeWhole(string(body))
	if err != nil {
		return err
	}
	if m.failed && len(m.blocks) > 0 {
		return intercept.NotUnderstood("it reports an error and a message at once")
	}
	a.failed, a.started = m.failed, m.object
	if a.continuations == 0 {
		a.id, a.model = m.id, m.model
	}
	for i := range m.blocks {
		b, err := a.open(&m.blocks[i], i)
		if err != nil {
			return err
		}
		b.ended = true
		if b.call != nil {
			b.call.uniform = b.call.uniform && wholeCall.Fits(gjson.Parse(b.opened))
		}
	}
	a.learn(m)
	return nil
}

// Harmless implements [intercept.Dialect]. An error body passes unless it could
// be an answer with calls; the words of an error message alone do not stop it.
func (Dialect) Harmless(body []byte) bool {
	lower := bytes.ToLower(body)
	couldAnswer := bytes.Contains(lower, []byte("content")) && bytes.Contains(lower, []byte("tool_use")) || bytes.Contains(lower, []byte(`\u00`))
	if !couldAnswer && !intercept.MayHoldCall(body) {
		return true
	}
	if intercept.Strict(body) != nil {
		return !couldAnswer
	}
	m, err := decodeWhole(string(body))
	if err != nil {
		return !couldAnswer
	}
	for i := range m.blocks {
		if m.blocks[i].role == roleCall {
			return false
		}
	}
	return true
}

// finishWhole renders a whole answer whose calls were changed, or that comes
// after hidden turns.
func (s *settling) finishWhole() ([]byte, error) {
	m, err := decodeWhole(string(s.upstream.JSON()))
	if err != nil {
		return nil, err
	}
	if m.failed || !m.object {
		return s.upstream.Rest(), nil
	}
	e := edit{answer: s.answer, plan: s.plan, Patch: intercept.Patch{JSON: string(s.upstream.JSON())}, about: s.blocks}
	blocks := append([]string(nil), s.whole...)
	blocks = append(blocks, e.content(m.blocks)...)
	if s.plan.note != "" {
		blocks = append(blocks, textBlock(s.noted(s.plan.note)))
	}
	e.Set("content", "["+strings.Join(blocks, ",")+"]")
	e.stopReason("stop_reason", m)
	e.verdicts("safeguard_results")
	if len(s.spent) > 0 {
		e.Set("usage", s.usageSum())
	}
	for _, f := range []struct{ name, first, own string }{{"id", s.id, m.id}, {"model", s.model, m.model}} {
		if f.first != "" && f.own != "" && f.first != f.own {
			e.Set(f.name, f.first)
		}
	}
	return []byte(e.JSON), e.Err
}
