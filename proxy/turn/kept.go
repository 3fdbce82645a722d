package turn

import (
	"bytes"

	"github.com/heldcall/heldcall/intercept"
)

// keptAnswers are the upstream's answers of a turn, for a [Snapshot]. A nil *keptAnswers
// keeps nothing.
type keptAnswers struct {
	Head      *keptHead    // of the first answer
	Exchanges []keptAnswer // with the upstream
	Passes    []bool       // the results of [intercept.Limits.Pass], in the order of the calls
}

// keptAnswer is an answer of the upstream and the rulings on its calls.
type keptAnswer struct {
	ContentType string
	Body        []byte
	Framed      bool
	Rulings     []intercept.Ruling // nil: its calls are under review
}

// keepHead keeps the head of an answer.
func (k *keptAnswers) keepHead(r Response) {
	if k != nil {
		k.Head = new(keptHead)
		r.CopyHead(k.Head)
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
	if k != nil {
		k.Exchanges = append(k.Exchanges, keptAnswer{ContentType: string(r.ContentType())})
	}
}

// keep keeps a block of the answer. The dialect may change p afterwards.
func (k *keptAnswers) keep(p []byte) {
	if k != nil {
		last := &k.Exchanges[len(k.Exchanges)-1]
		last.Body = append(last.Body, p...)
	}
}

// end ends the answer.
func (k *keptAnswers) end(framed bool) {
	if k != nil {
		k.Exchanges[len(k.Exchanges)-1].Framed = framed
	}
}

// keepRulings keeps the rulings on the calls of the answer.
func (k *keptAnswers) keepRulings(rulings []intercept.Ruling) {
	if k != nil {
		k.Exchanges[len(k.Exchanges)-1].Rulings = rulings
	}
}

// replay reads the answers again, which restores the state of the answer, and sends the
// agent the bytes that may pass.
func (k *keptAnswers) replay(t *Turn) error {
	k.Head.copyTo(t.output.agent.Head())
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
	t.exchange.count, t.exchange.kept = len(k.Exchanges), k
	t.output.answer.Shrink()
	return nil
}

// replay reads the answer again.
func (kept *keptAnswer) replay(o *output) error {
	o.answer.Begin(kept.ContentType)
	out, err := o.answer.Write(bytes.Clone(kept.Body)) // the dialect may change it
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
	settled, err := o.answer.Resolve(kept.Rulings)
	if err != nil {
		return err
	}
	o.emit(settled.Bytes)
	return nil
}

// keptHead is the head of an answer as the agent gets it. It implements [HeadWriter].
type keptHead struct {
	Status  int
	Message []byte // "" for the usual one
	Fields  []headerField
}

type headerField struct{ Name, Value string }

func (h *keptHead) SetStatusCode(code int)          { h.Status = code }
func (h *keptHead) SetStatusMessage(message []byte) { h.Message = bytes.Clone(message) }
func (h *keptHead) AddBytesKV(name, value []byte) {
	h.Fields = append(h.Fields, headerField{string(name), string(value)})
}

// copyTo copies the head. A nil head is one of which nothing is known.
func (h *keptHead) copyTo(w HeadWriter) {
	if h == nil {
		return
	}
	w.SetStatusCode(h.Status)
	if len(h.Message) > 0 {
		w.SetStatusMessage(h.Message)
	}
	for _, f := range h.Fields {
		w.AddBytesKV([]byte(f.Name), []byte(f.Value))
	}
}
