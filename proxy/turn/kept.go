package turn

import (
	"bytes"
	"errors"

	"github.com/heldcall/heldcall/intercept"
	"github.com/klauspost/compress/s2"
)

// maxKept bounds the bytes of the upstream's answers that a turn keeps. A turn with more
// is not stored.
const maxKept = 16 << 20

// keptBlock is how many bytes of an answer are kept as they are. Longer answers are kept
// in compressed blocks: the events of a stream repeat most of their bytes.
const keptBlock = 32 << 10

// keptAnswers are the upstream's answers of a turn, for a [Snapshot]. A nil *keptAnswers
// keeps nothing.
type keptAnswers struct {
	Head      keptHead     // of the first answer
	Exchanges []keptAnswer // with the upstream
	Passes    []bool       // the results of [intercept.Limits.Pass], in the order of the calls

	reserve func(n int) bool // takes memory
	size    int              // bytes of all answers
	dropped bool             // they are too long
}

// keptAnswer is an answer of the upstream and the rulings on its calls.
type keptAnswer struct {
	ContentType string
	Blocks      [][]byte // of the body, compressed
	Framed      bool
	Rulings     []intercept.Ruling // nil: its calls are under review

	rest []byte // of the body, after the blocks
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
	last := &k.Exchanges[len(k.Exchanges)-1]
	k.size += len(p)
	last.rest = append(last.rest, p...)
	if k.size > maxKept || (len(last.rest) >= keptBlock && !k.reserve(last.pack())) {
		k.dropped, k.Exchanges = true, nil
	}
}

// pack compresses the rest of the body. It returns the size of the new block.
func (kept *keptAnswer) pack() int {
	if len(kept.rest) == 0 {
		return 0
	}
	block := bytes.Clone(s2.Encode(nil, kept.rest))
	kept.Blocks, kept.rest = append(kept.Blocks, block), nil
	return len(block)
}

// body returns the bytes of the answer. It fails for blocks of more than maxKept bytes.
func (kept *keptAnswer) body() ([]byte, error) {
	body := bytes.Clone(kept.rest)
	for _, block := range kept.Blocks {
		plain, err := unpack(block, maxKept-len(body))
		if err != nil {
			return nil, err
		}
		body = append(body, plain...)
	}
	return body, nil
}

// unpack returns the bytes of a compressed block, at most limit.
func unpack(block []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, errors.New("a compressed block is too long")
	}
	return s2.Decode(nil, block)
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
	k.reserve = t.output.agent.Reserve
	t.exchange.count, t.exchange.kept = len(k.Exchanges), k
	t.output.answer.Shrink()
	return nil
}

// replay reads the answer again.
func (kept *keptAnswer) replay(o *output) error {
	body, err := kept.body()
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

// keptHead is the head of an answer as the agent gets it. It implements [HeadWriter].
type keptHead struct {
	Status  int    // 0: nothing is known of the head
	Message []byte // "" for the usual one
	Fields  []byte // a line each
}

func (h *keptHead) SetStatusCode(code int)          { h.Status = code }
func (h *keptHead) SetStatusMessage(message []byte) { h.Message = bytes.Clone(message) }
func (h *keptHead) AddBytesKV(name, value []byte) {
	if h.Fields == nil {
		h.Fields = make([]byte, 0, 512)
	}
	h.Fields = append(append(append(append(h.Fields, name...), ':'), value...), '\n')
}

// copyTo copies the head.
func (h *keptHead) copyTo(w HeadWriter) {
	if h.Status == 0 {
		return
	}
	w.SetStatusCode(h.Status)
	if len(h.Message) > 0 {
		w.SetStatusMessage(h.Message)
	}
	for line := range bytes.Lines(h.Fields) {
		if name, value, ok := bytes.Cut(line, []byte(":")); ok {
			w.AddBytesKV(name, bytes.TrimSuffix(value, []byte("\n")))
		}
	}
}
