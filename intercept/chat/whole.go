package chat

import (
	"bytes"
	"fmt"

	"github.com/heldcall/heldcall/intercept"
)

// readWhole reads an answer that is one JSON body.
func (a *answer) readWhole(framed bool) error {
	body := a.upstream.JSON()
	if err := intercept.Strict(body); err != nil {
		if !framed {
			return intercept.Cut()
		}
		return intercept.NotUnderstood("its body is not strict JSON (duplicate name, invalid UTF-8 or syntax)")
	}
	if a.continuations == 0 && !intercept.MayHoldCall(body) {
		return nil
	}
	c, err := decodeWhole(string(body))
	if err != nil {
		return err
	}
	if c.failed && c.hasCalls() {
		return intercept.NotUnderstood("it reports an error and a call at once")
	}
	a.usage = c.usage
	if a.continuations == 0 {
		a.head = c.head
	}
	for i := range c.choices {
		if err := a.wholeChoice(&c.choices[i]); err != nil {
			return err
		}
	}
	return nil
}

// Harmless implements [intercept.Dialect]. An error body passes unless it could
// be an answer with calls; the words of an error message alone do not stop it.
func (Dialect) Harmless(body []byte) bool {
	if !intercept.MayHoldCall(body) {
		return true
	}
	lower := bytes.ToLower(body)
	couldAnswer := bytes.Contains(lower, []byte("choices")) || bytes.Contains(lower, []byte(`\u00`))
	if intercept.Strict(body) != nil {
		return !couldAnswer
	}
	c, err := decodeWhole(string(body))
	if err != nil {
		return !couldAnswer
	}
	return !c.hasCalls()
}

// wholeChoice takes the message of a choice. Here every entry is a call of its
// own, whatever its number.
func (a *answer) wholeChoice(d *choiceDelta) error {
	c, err := a.choice(d.index)
	if err != nil {
		return err
	}
	if len(d.calls) > maxCalls {
		return intercept.NotUnderstood("a choice has more than %d calls", maxCalls)
	}
	c.finish(d)
	for _, t := range d.texts {
		c.says[t.place].add(t.field, t.value)
	}
	for i := range d.calls {
		f := &d.calls[i]
		f.index = i
		r := &c.rosters[f.place]
		call := r.open(f)
		call.id, call.name, call.object = f.id, f.name, f.object
		call.args.WriteString(f.args)
		call.keep(f.own)
	}
	return nil
}

// finishWhole renders a whole answer whose calls were changed, or that comes
// after hidden turns.
func (s *settling) finishWhole() ([]byte, error) {
	c, err := decodeWhole(string(s.upstream.JSON()))
	if err != nil {
		return nil, err
	}
	e := edit{answer: s.answer, plan: s.plan, Patch: intercept.Patch{JSON: c.raw}, chunk: c, refs: s.wholeRefs(c)}
	for position := range c.choices {
		d := &c.choices[position]
		path := fmt.Sprintf("choices.%d.", position)
		e.calls(path, d)
		e.finishReason(path, d)
		s.wholeText(&e, path+"message.", d)
	}
	e.usageSum()
	if s.continuations > 0 {
		e.rehead()
	}
	return []byte(e.JSON), e.Err
}

// wholeRefs ties the entries of the body to their calls again.
func (s *settling) wholeRefs(c *chunk) (refs []ref) {
	for i := range c.choices {
		known, err := s.choice(c.choices[i].index)
		if err != nil {
			continue
		}
		next := [2]int{}
		for j := range c.choices[i].calls {
			at := c.choices[i].calls[j].place
			refs = append(refs, ref{known.rosters[at].calls[next[at]], true})
			next[at]++
		}
	}
	return refs
}

// wholeText puts what was said before a denial, and the note that stands in
// place of calls, around the message's own text.
func (s *settling) wholeText(e *edit, path string, d *choiceDelta) {
	c, err := s.choice(d.index)
	if err != nil {
		return
	}
	own := c.said().text()
	text := own
	if before := s.before(c); before != "" {
		text = before + intercept.Paragraph(before, own)
	}
	if note := s.plan.notes[d.index]; note != "" {
		text += intercept.Paragraph(text, note)
	}
	if text != own {
		e.Set(path+"content", intercept.Quote(text))
	}
}
