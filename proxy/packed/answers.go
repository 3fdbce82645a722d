package packed

import (
	"errors"

	"github.com/heldcall/heldcall/intercept"
)

// MaxAnswers bounds the bytes of the upstream's answers that a turn keeps.
const MaxAnswers = 16 << 20

// Answers are the upstream's answers of a turn. A nil *Answers keeps nothing.
type Answers struct {
	Head      Head     // of the first answer
	Exchanges []Answer // with the upstream

	reserve func(n int) bool // takes memory
	size    int              // bytes of all answers
	dropped bool             // they are too long
}

// Answer is an answer of the upstream and the rulings on its calls.
type Answer struct {
	Body    Buffer
	Framed  bool
	Left    int                `json:",omitempty"` // how many of its first calls have left before its end
	Rulings []intercept.Ruling // on the others; nil: they are under review
}

// NewAnswers returns no answers yet. Reserve takes the memory of those that are kept, in
// bytes.
func NewAnswers(reserve func(n int) bool) *Answers { return &Answers{reserve: reserve} }

// Continue prepares decoded answers for more answers. Reserve is that of [NewAnswers].
func (a *Answers) Continue(reserve func(n int) bool) { a.reserve = reserve }

// Complete reports whether all answers are kept.
func (a *Answers) Complete() bool { return a != nil && !a.dropped }

// Begin begins to keep an answer.
func (a *Answers) Begin() {
	if a.Complete() {
		a.Exchanges = append(a.Exchanges, Answer{})
	}
}

// Add keeps a piece of the answer. The caller may change p afterwards. If the answers are too
// long, or there is no memory, all are dropped.
func (a *Answers) Add(p []byte) {
	if !a.Complete() {
		return
	}
	a.size += len(p)
	if added := a.last().Body.Add(p); a.size > MaxAnswers || (added > 0 && !a.reserve(added)) {
		a.Close()
		a.dropped, a.Exchanges = true, nil
	}
}

func (a *Answers) last() *Answer { return &a.Exchanges[len(a.Exchanges)-1] }

// End ends the answer.
func (a *Answers) End(framed bool) {
	if a.Complete() {
		a.last().Framed = framed
	}
}

// Leave keeps that the next n calls of the answer have left before its end.
func (a *Answers) Leave(n int) {
	if a.Complete() {
		a.last().Left += n
	}
}

// Rule keeps the rulings on the calls of the answer.
func (a *Answers) Rule(rulings []intercept.Ruling) {
	if a.Complete() {
		a.last().Rulings = rulings
	}
}

// Pack compresses the answers that are not compressed yet.
func (a *Answers) Pack() {
	if a == nil {
		return
	}
	for i := range a.Exchanges {
		a.Exchanges[i].Body.Pack()
	}
}

// Unload drops the bytes of the answers, and returns how many answers there are. The caller
// has stored them: see [Answers.Load].
func (a *Answers) Unload() int {
	a.Head = Head{}
	for i := range a.Exchanges {
		a.Exchanges[i].Body = Buffer{}
	}
	return len(a.Exchanges)
}

// Load sets the bytes of the first n answers, which [Answers.Unload] has dropped.
func (a *Answers) Load(from *Answers, n int) error {
	if len(from.Exchanges) < n || len(a.Exchanges) < n {
		return errors.New("answers of the upstream are missing")
	}
	a.Head = from.Head
	for i := range n {
		a.Exchanges[i].Body = from.Exchanges[i].Body
	}
	return nil
}

// Close ends keeping. It may be called more than once.
func (a *Answers) Close() {
	if a == nil {
		return
	}
	for i := range a.Exchanges {
		a.Exchanges[i].Body.Close()
	}
}
