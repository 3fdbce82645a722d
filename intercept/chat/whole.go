package chat

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// ReadWhole implements [intercept.Codec].
func (a *answer) ReadWhole(p *intercept.Part) error {
	a.whole = true
	if a.continuing == nil && !strictjson.NamesCall(p.Bytes) {
		return nil
	}
	c, err := wire.DecodeWhole(string(p.Bytes))
	if err != nil {
		return err
	}
	if c.Failed && c.HasCalls() {
		return intercept.NotUnderstood("it reports an error and a call at once")
	}
	if c.Failed && a.continuing != nil {
		return intercept.NotUnderstood("after a denial it reports an error")
	}
	a.body, a.usage = c.Raw, c.Usage
	if a.continuing == nil {
		a.head = c.Head
	}
	for i := range c.Choices {
		if err := a.wholeChoice(&c.Choices[i]); err != nil {
			return err
		}
	}
	return nil
}

// SafeError implements [intercept.Dialect]. An error body passes unless it could
// be an answer with calls; the words of an error message alone do not stop it.
func (Dialect) SafeError(body []byte) bool {
	if !strictjson.MayHoldCall(body) {
		return true
	}
	lower := bytes.ToLower(body)
	couldAnswer := bytes.Contains(lower, []byte("choices")) || bytes.Contains(lower, []byte(`\u00`))
	if strictjson.Strict(body) != nil {
		return !couldAnswer
	}
	c, err := wire.DecodeWhole(string(body))
	if err != nil {
		return !couldAnswer
	}
	return !c.HasCalls()
}

// wholeChoice takes the message of a choice. Here every entry is a call of its
// own, whatever its number.
func (a *answer) wholeChoice(d *wire.ChoiceDelta) error {
	c, err := a.choice(d.Index)
	if err != nil {
		return err
	}
	if len(d.Calls) > maxCalls {
		return intercept.NotUnderstood("a choice has more than %d calls", maxCalls)
	}
	c.finish(d)
	c.output.raw = d.Raw
	for _, t := range d.Texts {
		c.says[t.Place].take(t.Field, t.Value)
	}
	assistant := gjson.Get(d.Raw, "message.role").Str == "assistant" // some clients drop the calls of any other role
	for i := range d.Calls {
		f := &d.Calls[i]
		uniform := assistant && f.UniformWhole(i)
		f.Index = i
		r := &c.assemblers[f.Place]
		call := r.open(f)
		call.id, call.name, call.object = f.ID, f.Name, f.Object
		call.hasID, call.Odd, call.choice = f.HasID, !uniform, c
		call.args.WriteString(f.Args)
		call.keep(f)
	}
	return nil
}

// RewriteWhole implements [intercept.Codec].
func (a *answer) RewriteWhole(_ []byte, p *intercept.Plan) ([]byte, error) {
	body, err := a.assemble()
	if err != nil {
		return nil, fmt.Errorf("put the choices of an answer together: %w", err)
	}
	c, err := wire.DecodeWhole(body)
	if err != nil {
		return nil, err
	}
	e := edit{answer: a, plan: p, Patch: strictjson.Patch{JSON: body}, chunk: c}
	for position, l := range a.outputs {
		d := &c.Choices[position]
		path := fmt.Sprintf("choices.%d.", position)
		if a.changed(l.now, p) {
			e.withhold(path, d, l.now)
			e.wholeCalls(path, l.now)
		}
		e.finishReason(path, d, l)
		e.wholeText(path+"message.", l)
		e.wholeThought(path+"message.", l)
	}
	if len(a.priorUsage) > 0 {
		e.Set("usage", string(strictjson.AddUsage(a.priorUsage, []byte(a.usage))))
	}
	return []byte(e.JSON), e.Err
}

// assemble is the first body with each choice as its last body has it. The order
// is that of the lanes.
func (a *answer) assemble() (body string, err error) {
	if a.continuing == nil {
		return a.body, nil
	}
	body = a.first
	count := len(gjson.Get(body, "choices").Array())
	for position, l := range a.outputs {
		raw := l.raw
		if index := gjson.Get(raw, "index"); index.Exists() && index.Raw != strconv.Itoa(l.index) && l.turns > 0 {
			if raw, err = sjson.SetRaw(raw, "index", strconv.Itoa(l.index)); err != nil {
				return "", err
			}
		}
		path := "choices." + strconv.Itoa(position)
		if position >= count {
			path = "choices.-1"
		}
		if l.turns == 0 {
			continue
		}
		if body, err = sjson.SetRaw(body, path, raw); err != nil {
			return "", err
		}
	}
	return body, nil
}

// wholeText puts what was said before a denial, and the note that stands in
// place of calls, around the message's own text.
func (e *edit) wholeText(path string, l *outputChoice) {
	if l.text == "" && l.notice == "" {
		return
	}
	heard := l.heard()
	content := gjson.Get(e.JSON, path+"content")
	if !content.IsArray() {
		e.Set(path+"content", strictjson.Quote(heard+strictjson.Paragraph(heard, l.notice)))
		return
	}
	if at := firstText(content); at >= 0 {
		own := content.Get(strconv.Itoa(at) + ".text").String()
		e.Set(path+"content."+strconv.Itoa(at)+".text", strictjson.Quote(l.text+strictjson.Paragraph(l.text, own)))
	} else if l.text != "" {
		e.Set(path+"content.-1", textPart(l.text))
	}
	if l.notice != "" {
		e.Set(path+"content.-1", textPart(strictjson.Paragraph(heard, l.notice)))
	}
}

// firstText is the place of the first part of a content that has text, -1 where
// none has.
func firstText(content gjson.Result) int {
	at, found := -1, false
	content.ForEach(func(_, part gjson.Result) bool {
		at++
		found = part.Get("text").String() != ""
		return !found
	})
	if !found {
		return -1
	}
	return at
}

func textPart(text string) string { return `{"type":"text","text":` + strictjson.Quote(text) + `}` }
