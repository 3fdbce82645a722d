// Package intercepttest is what the tests of the dialects share: it plays answers
// from the first upstream body to their end, and reads what the agent got as
// lenient parsers do.
package intercepttest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
)

// Played is one answer as its agent and its upstream saw it.
type Played struct {
	Before  []byte             // what reached the agent before the last ruling
	After   []byte             // what the last ruling released
	Calls   [][]intercept.Call // by upstream body
	Hidden  [][]byte
	Nexts   []string // bodies of the upstream requests that heldcall made itself
	Err     error    // an [*intercept.Error]; the agent got it too
	Early   int      // how many calls have left before the end of the answer: the first of Calls
	rulings int
	early   Ruler // nil: no call leaves before the end
}

// Out is all that the agent got.
func (p *Played) Out() []byte { return append(bytes.Clone(p.Before), p.After...) }

// Ruler rules on the n-th call of an answer.
type Ruler func(n int, c intercept.Call) intercept.Ruling

// Denial is the text of [DenyAll] for the model.
const Denial = "No."

// DenyAll denies every call.
func DenyAll(int, intercept.Call) intercept.Ruling { return intercept.Ruling{ModelMessage: Denial} }

// ReleaseAll releases every call.
func ReleaseAll(int, intercept.Call) intercept.Ruling {
	return intercept.Ruling{Action: intercept.Release}
}

// AbortAll ends the run.
func AbortAll(int, intercept.Call) intercept.Ruling {
	return intercept.Ruling{Action: intercept.Abort, ModelMessage: "Stopped."}
}

// Edited are the arguments that [EditAll] and [Mixed] give a call.
const Edited = `{"edited":true}`

// EditAll changes the arguments of every call.
func EditAll(int, intercept.Call) intercept.Ruling {
	return intercept.Ruling{Action: intercept.Edit, Arguments: Edited, ModelMessage: "Changed."}
}

// Mixed releases, denies and edits in turn.
func Mixed(n int, c intercept.Call) intercept.Ruling {
	return [...]Ruler{ReleaseAll, DenyAll, EditAll}[n%3](n, c)
}

// From is a ruler that begins with the n-th ruling of another.
func From(n int, r Ruler) Ruler {
	return func(i int, c intercept.Call) intercept.Ruling { return r(i+n, c) }
}

// Play drives an answer to a request from the first body to its end. A
// continuation is answered with the next body, the last of them again and again.
// Sizes cut the bodies into blocks; each block is wiped when the agent has its
// bytes. If the first size is odd, the answer forgets the forms of events after each
// block: it decodes each event. So blocks show that an event of a known form is read as
// the decoder reads it.
func Play(t testing.TB, r intercept.Request, bodies [][]byte, sizes []byte, limits intercept.Limits, rule Ruler) *Played {
	t.Helper()
	return play(t, &Played{}, r, bodies, sizes, limits, rule)
}

// PlayEarly is [Play] of an answer whose first calls leave as soon as they are complete, if the ruler releases them.
func PlayEarly(t testing.TB, r intercept.Request, bodies [][]byte, sizes []byte, limits intercept.Limits, rule Ruler) *Played {
	t.Helper()
	return play(t, &Played{early: rule}, r, bodies, sizes, limits, rule)
}

func play(t testing.TB, p *Played, r intercept.Request, bodies [][]byte, sizes []byte, limits intercept.Limits, rule Ruler) *Played {
	t.Helper()
	limits.TurnID = "t1"
	if limits.MaxBytes == 0 {
		limits.MaxBytes = 1 << 20
	}
	if limits.MaxContinuations == 0 {
		limits.MaxContinuations = 2
	}
	a := intercept.NewAnswer(r, limits)
	for i := 0; ; i++ {
		if p.Err = p.feed(a, bodies[min(i, len(bodies)-1)], sizes); p.Err != nil {
			break
		}
		if len(sizes) > 0 { // an answer in one block is resolved without it, with the same result
			a.Shrink()
		}
		more, err := p.settle(a, rule)
		if p.Err = err; err != nil || !more {
			break
		}
		if i > 16 && i > limits.MaxContinuations {
			t.Fatal("the answer has no end")
		}
	}
	if p.Err != nil {
		var e *intercept.Error
		if !errors.As(p.Err, &e) {
			t.Fatalf("%v is not an *intercept.Error", p.Err)
		}
		p.Before = append(p.Before, a.Fail(e)...)
	}
	return p
}

func (p *Played) feed(a *intercept.Answer, body, sizes []byte) error {
	a.Begin()
	for i := 0; len(body) > 0; i++ {
		n := len(body)
		if len(sizes) > 0 {
			n = min(n, 1+int(sizes[i%len(sizes)]))
		}
		block := bytes.Clone(body[:n])
		out, err := a.Write(block)
		p.Before = append(p.Before, out...)
		for j := range block {
			block[j] = '~'
		}
		if err == nil {
			err = p.release(a)
		}
		if err != nil {
			return err
		}
		if len(sizes) > 0 && sizes[0]%2 == 1 {
			a.Forget()
		}
		body = body[n:]
	}
	out, err := a.End(true)
	p.Before = append(p.Before, out...)
	return err
}

// release lets complete calls leave, if all of them may.
func (p *Played) release(a *intercept.Answer) error {
	for p.early != nil && a.Ripe() {
		calls := a.Ready()
		released := len(calls) > 0
		for i, c := range calls {
			released = released && p.early(p.rulings+i, c).Action == intercept.Release
		}
		if !released {
			if len(calls) > 0 {
				a.Wait()
			}
			return nil
		}
		out, err := a.Release()
		if err != nil {
			return err
		}
		p.Before = append(p.Before, out...)
		p.rulings, p.Early = p.rulings+len(calls), p.Early+len(calls)
	}
	return nil
}

func (p *Played) settle(a *intercept.Answer, rule Ruler) (more bool, err error) {
	calls := a.Calls()
	p.Calls = append(p.Calls, slices.Concat(a.Left(), calls))
	var rulings []intercept.Ruling
	for _, c := range calls {
		rulings = append(rulings, rule(p.rulings, c))
		p.rulings++
	}
	s, err := a.Resolve(rulings)
	if err != nil {
		return false, err
	}
	for i, raw := range s.Hidden { // as the store keeps them: each in the place of the one before
		if i == len(p.Hidden) {
			p.Hidden = append(p.Hidden, nil)
		}
		p.Hidden[i] = raw
	}
	if s.Next == nil {
		p.After = bytes.Clone(s.Bytes)
		return false, nil
	}
	p.Before = append(p.Before, s.Bytes...)
	p.Nexts = append(p.Nexts, string(s.Next.Body))
	return true, nil
}

// Parts are the parts of an event stream.
func Parts(stream []byte) (list [][]byte) {
	var s sse.Splitter
	s.Write(stream)
	for {
		part, ok, _ := s.Next()
		if !ok {
			if part = s.Rest(); len(part) == 0 {
				return list
			}
		}
		list = append(list, bytes.Clone(part))
	}
}

// Parse reads the events of a part of an event stream.
func Parse(part []byte) (*intercept.Part, error) {
	p := &intercept.Part{Bytes: part}
	return p, new(intercept.Stream).Parse(p)
}

// Payloads are the data of the events of a part of an event stream.
func Payloads(part []byte) ([][]byte, error) {
	p, err := Parse(part)
	return p.Payloads, err
}

// ReleaseFirst releases the first call and denies the others.
func ReleaseFirst(n int, c intercept.Call) intercept.Ruling {
	if n == 0 {
		return ReleaseAll(n, c)
	}
	return DenyAll(n, c)
}

// CheckEarly fails where an answer whose first calls leave early has another end than without that. It reports whether both
// have been read to the end.
func CheckEarly(t testing.TB, late, early *Played) (whole bool) {
	t.Helper()
	if early.Err == nil && late.Err != nil {
		t.Fatalf("only without an early release: %v", late.Err)
	}
	if early.Err != nil && late.Err == nil && (early.Early == 0 || !strings.Contains(early.Err.Error(), "was released")) {
		t.Fatalf("only with an early release: %v", early.Err)
	}
	if early.Err != nil {
		return false
	}
	for i := range early.Early { // later events do not make a call doubtful that has left
		late.Calls[0][i].Ambiguous = early.Calls[0][i].Ambiguous
	}
	if d := cmp.Diff(late.Calls, early.Calls); d != "" {
		t.Fatalf("calls (-late +early):\n%s", d)
	}
	if d := cmp.Diff(late.Nexts, early.Nexts); d != "" {
		t.Fatalf("requests to the model (-late +early):\n%s", d)
	}
	if d := cmp.Diff(late.Hidden, early.Hidden); d != "" {
		t.Fatalf("hidden turns (-late +early):\n%s", d)
	}
	return true
}

// CheckSame fails where an answer played in blocks differs from the same in one.
func CheckSame(t testing.TB, one, blocks *Played) {
	t.Helper()
	if got, want := fmt.Sprint(blocks.Err), fmt.Sprint(one.Err); got != want {
		t.Fatalf("in blocks: %s, in one: %s", got, want)
	}
	if d := cmp.Diff(string(one.Before), string(blocks.Before)); d != "" {
		t.Fatalf("before the ruling (-one +blocks):\n%s", d)
	}
	if d := cmp.Diff(string(one.After), string(blocks.After)); d != "" {
		t.Fatalf("after the ruling (-one +blocks):\n%s", d)
	}
	if d := cmp.Diff(one.Calls, blocks.Calls); d != "" {
		t.Fatalf("calls (-one +blocks):\n%s", d)
	}
}
