package chat

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// readWhole reads an answer that is one JSON value.
func (a *answer) readWhole(value []byte) error {
	continuing := a.out.continuing
	if a.body.whole = true; !continuing && !strictjson.NamesCall(value) {
		a.body.unread = value
		return nil
	}
	c, err := decodeWhole(string(value))
	if err != nil {
		return err
	}
	if c.failed && c.hasCalls() {
		return intercept.NotUnderstood("it reports an error and a call at once")
	}
	if c.failed && continuing {
		return intercept.NotUnderstood("after a denial it reports an error")
	}
	a.body.json, a.body.usage = c.raw, c.usage
	a.out.learnHead(c.head)
	for i := range c.choices {
		d := &c.choices[i]
		if err := a.body.open(len(d.calls)); err != nil {
			return err
		}
		choice, err := a.body.choice(d.index, &a.out)
		if err != nil {
			return err
		}
		if err := choice.readWhole(d); err != nil {
			return err
		}
	}
	return nil
}

// readWhole reads the choice of a whole answer. Every entry is a call of its own, with
// any number.
func (c *choice) readWhole(d *choiceDelta) error {
	if len(d.calls) > maxCalls {
		return intercept.NotUnderstood("a choice has more than %d calls", maxCalls)
	}
	c.finish(d)
	c.raw = d.raw
	for _, t := range d.texts {
		c.messages[t.place].setField(t.field, t.value)
	}
	for i := range d.calls {
		f := &d.calls[i]
		f.index = i
		call := c.assemblers[f.place].open(f)
		call.choice = c
		call.add(f, true)
	}
	return nil
}

// whole is an answer that is one JSON value, over all bodies.
func (w *rewriter) whole() ([]intercept.Event, error) {
	out, p := w.out, w.plan
	body, err := out.join(w.body)
	if err != nil {
		return nil, fmt.Errorf("join the choices of an answer: %w", err)
	}
	c, err := decodeWhole(body)
	if err != nil {
		return nil, err
	}
	e := edit{Patch: strictjson.Patch{JSON: body}, w: w, chunk: c}
	for position, l := range out.choices {
		d := &c.choices[position]
		path := fmt.Sprintf("choices.%d.", position)
		if l.now.changes(p) {
			e.withhold(path, d, l.now)
		}
		if len(l.now.calls()) > 0 {
			e.wholeCalls(path, l.now)
		}
		e.finishReason(path, d, l)
		e.wholeText(path+"message.", l)
		e.wholeReasoning(path+"message.", l)
	}
	if len(out.priorUsage) > 0 {
		e.Set("usage", string(strictjson.AddUsage(out.priorUsage, []byte(w.body.usage))))
	}
	return []intercept.Event{{Data: e.JSON}}, e.Err
}

// join returns the first body with its choice as the last body has it, if the answer was continued.
func (o *output) join(last *upstreamBody) (string, error) {
	if !o.continuing {
		return last.json, nil
	}
	l := o.choices[0]
	choice := strictjson.Patch{JSON: l.now.raw}
	if index := gjson.Get(choice.JSON, "index"); index.Exists() && index.Raw != strconv.Itoa(l.index) {
		choice.Set("index", strconv.Itoa(l.index))
	}
	p := strictjson.Patch{JSON: o.firstJSON, Err: choice.Err}
	p.Set("choices.0", choice.JSON)
	return p.JSON, p.Err
}

// wholeText puts the text before a denial, and the notice in place of calls, around the
// message's own text.
func (e *edit) wholeText(path string, l *outputChoice) {
	if l.prior.text == "" && l.notice == "" {
		return
	}
	text := l.text()
	content := gjson.Get(e.JSON, path+"content")
	if !content.IsArray() {
		e.Set(path+"content", strictjson.Quote(text+strictjson.Paragraph(text, l.notice)))
		return
	}
	if position := firstText(content); position >= 0 {
		field := strconv.Itoa(position) + ".text"
		e.Set(path+"content."+field, strictjson.Quote(l.prior.text+strictjson.Paragraph(l.prior.text, content.Get(field).String())))
	} else if l.prior.text != "" {
		e.Set(path+"content.-1", textPart(l.prior.text))
	}
	if l.notice != "" {
		e.Set(path+"content.-1", textPart(strictjson.Paragraph(text, l.notice)))
	}
}

// firstText returns the position of the first part of a content with text, -1 for none.
func firstText(content gjson.Result) int {
	return slices.IndexFunc(content.Array(), func(part gjson.Result) bool { return part.Get("text").String() != "" })
}

func textPart(text string) string { return `{"type":"text","text":` + strictjson.Quote(text) + `}` }
