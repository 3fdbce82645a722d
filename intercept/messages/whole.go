package messages

import (
	"bytes"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// ReadWhole implements [intercept.Codec].
func (a *answer) ReadWhole(p *intercept.Part) error {
	a.whole = true
	m, err := decodeWhole(string(p.Bytes))
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
		b, err := a.open(p, &m.blocks[i], i)
		if err != nil {
			return err
		}
		b.ended = true
		if b.call != nil {
			b.Odd = b.Odd || !wholeCall.Fits(gjson.Parse(b.opened))
		}
	}
	a.learn(m)
	return nil
}

// SafeError implements [intercept.Dialect]. An error body passes unless it could
// be an answer with calls; the words of an error message alone do not stop it.
func (Dialect) SafeError(body []byte) bool {
	lower := bytes.ToLower(body)
	couldAnswer := (bytes.Contains(lower, []byte("content")) && bytes.Contains(lower, []byte("tool_use"))) || bytes.Contains(lower, []byte(`\u00`))
	if !couldAnswer && !strictjson.MayHoldCall(body) {
		return true
	}
	if strictjson.Strict(body) != nil {
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

// RewriteWhole implements [intercept.Codec].
func (a *answer) RewriteWhole(value []byte, plan *intercept.Plan) ([]byte, error) {
	m, err := decodeWhole(string(value))
	if err != nil {
		return nil, err
	}
	if m.failed || !m.object {
		return nil, nil
	}
	e := edit{answer: a, plan: plan, Patch: strictjson.Patch{JSON: string(value)}}
	for _, b := range a.blocks {
		e.units = append(e.units, &b.Unit)
	}
	blocks := append([]string(nil), a.rendered...)
	blocks = append(blocks, e.content(m.blocks)...)
	if plan.Notice != "" {
		blocks = append(blocks, textBlock(a.paragraph(plan.Notice)))
	}
	e.Set("content", "["+strings.Join(blocks, ",")+"]")
	e.stopReason("stop_reason", m)
	e.verdicts("safeguard_results")
	e.usage()
	for _, f := range []struct{ name, first, own string }{{"id", a.id, m.id}, {"model", a.model, m.model}} {
		if f.first != "" && f.own != "" && f.first != f.own {
			e.Set(f.name, f.first)
		}
	}
	return []byte(e.JSON), e.Err
}
