package turn

import (
	"bytes"
	"errors"

	"github.com/heldcall/heldcall/proxy/packed"
)

// replay reads the answers again, which restores the state of the answer, and sends the
// agent the bytes that may pass.
func (t *Turn) replay(k *packed.Answers) error {
	if len(k.Exchanges) == 0 {
		return errors.New("it has no answer")
	}
	k.Head.CopyTo(t.output.agent.Head())
	t.output.begin()
	for i := range k.Exchanges {
		if err := t.output.replay(&k.Exchanges[i]); err != nil {
			return err
		}
	}
	k.Continue(t.output.agent.Reserve)
	t.exchange.Count, t.exchange.Kept = len(k.Exchanges), k
	t.output.answer.Shrink()
	return nil
}

func (o *output) replay(kept *packed.Answer) error {
	body, err := kept.Body.Bytes(packed.MaxAnswers)
	if err != nil {
		return err
	}
	o.answer.Begin()
	out, err := o.answer.Write(body)
	if err != nil {
		return err
	}
	o.emit(bytes.Clone(out))
	if out, err = o.answer.ReleaseFirst(kept.Left); err != nil {
		return err
	}
	o.emit(o.exchange.Upstream.Redact(out))
	if out, err = o.answer.End(kept.Framed); err != nil {
		return err
	}
	o.emit(bytes.Clone(out))
	if kept.Rulings == nil {
		return nil
	}
	if len(kept.Rulings) != len(o.answer.Calls()) {
		return errors.New("it has rulings on other calls")
	}
	settled, err := o.answer.Resolve(kept.Rulings)
	if err != nil {
		return err
	}
	o.emit(o.exchange.Upstream.Redact(settled.Bytes))
	return nil
}
