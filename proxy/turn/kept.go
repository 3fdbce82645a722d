package turn

import (
	"bytes"
	"errors"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/proxy/packed"
)

// maxKept bounds the bytes of the upstream's answers that a turn keeps. A turn with more
// is not stored.
const maxKept = 16 << 20

// keptAnswers are the upstream's answers of a turn, for a [Snapshot]. A nil *keptAnswers
// keeps nothing.
type keptAnswers struct {
	Head      packed.Head  // of the first answer
	Exchanges []keptAnswer // with the upstream
	Passes    []bool       // the results of [intercept.Limits.Pass], in the order of the calls

	reserve func(n int) bool // takes memory
	size    int              // bytes of all answers
	dropped bool             // they are too long
}

// keptAnswer is an answer of the upstream and the rulings on its calls.
type keptAnswer struct {
	ContentType string
	Body        packed.Buffer
	Framed      bool
	Rulings     []intercept.Ruling // nil: its calls are under review
}

// keepHead keeps the head of an answer.
func (k *keptAnswers) keepHead(r Response) {
	if k != nil {
		r.CopyHead(&k.Head)
	}
}

// keepPass keeps a result of [intercept.Limits.Pass].
func (k *keptAnswers) keepPass(passes bool) {
	if k != nil {
		k.Passes = append(k.Passes, passes)
	}
}

// begin begins to keep an answer.
func (k *keptAnswers) begin(r Response) {
	if k != nil && !k.dropped {
		k.Exchanges = append(k.Exchanges, keptAnswer{ContentType: string(r.ContentType())})
	}
}

// keep keeps a piece of the answer. The dialect may change p afterwards.
func (k *keptAnswers) keep(p []byte) {
	if k == nil || k.dropped {
		return
	}
	k.size += len(p)
	if added := k.Exchanges[len(k.Exchanges)-1].Body.Add(p); k.size > maxKept || (added > 0 && !k.reserve(added)) {
		k.close()
		k.dropped, k.Exchanges = true, nil
	}
}

// pack compresses what is not compressed yet.
func (k *keptAnswers) pack() {
	if k == nil {
		return
	}
	for i := range k.Exchanges {
		k.Exchanges[i].Body.Pack()
	}
}

// close ends keeping.
func (k *keptAnswers) close() {
	if k == nil {
		return
	}
	for i := range k.Exchanges {
		k.Exchanges[i].Body.Close()
	}
}

// end ends the answer.
func (k *keptAnswers) end(framed bool) {
	if k != nil && !k.dropped {
		k.Exchanges[len(k.Exchanges)-1].Framed = framed
	}
}

// keepRulings keeps the rulings on the calls of the answer.
func (k *keptAnswers) keepRulings(rulings []intercept.Ruling) {
	if k != nil && !k.dropped {
		k.Exchanges[len(k.Exchanges)-1].Rulings = rulings
	}
}

// replay reads the answers again, which restores the state of the answer, and sends the
// agent the bytes that may pass.
func (k *keptAnswers) replay(t *Turn) error {
	if len(k.Exchanges) == 0 {
		return errors.New("it has no answer")
	}
	k.Head.CopyTo(t.output.agent.Head())
	asked := 0
	t.output.begin(func(c intercept.Call) bool {
		if asked < len(k.Passes) {
			asked++
			return k.Passes[asked-1]
		}
		return t.passByName(c)
	})
	for i := range k.Exchanges {
		if err := k.Exchanges[i].replay(&t.output); err != nil {
			return err
		}
	}
	k.reserve = t.output.agent.Reserve
	t.exchange.count, t.exchange.kept = len(k.Exchanges), k
	t.output.answer.Shrink()
	return nil
}

// replay reads the answer again.
func (kept *keptAnswer) replay(o *output) error {
	body, err := kept.Body.Bytes(maxKept)
	if err != nil {
		return err
	}
	o.answer.Begin(kept.ContentType)
	out, err := o.answer.Write(body)
	if err != nil {
		return err
	}
	o.emit(bytes.Clone(out))
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
	o.emit(settled.Bytes)
	return nil
}
