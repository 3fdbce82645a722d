package intercept_test

import (
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// toyForm is the form of an event with a text, or with a piece of a call: what a dialect adds
// so that such events need no decoder.
type toyForm struct {
	*toy
	call *toyCall
}

func (t *toy) form(p *intercept.Part) (form intercept.Template) {
	if len(t.events) != 1 || t.turns > 0 {
		return form
	}
	form.Units, form.Overtakes = p.Units(), t.overtakes
	for _, field := range []string{"say", "arg"} {
		if v := t.events[0].Get(field); v.Type == gjson.String {
			repeats := toyForm{toy: t}
			if form.Call = p.Units()[0]; form.Call != nil {
				repeats.call = form.Call.Of.(*toyCall)
			}
			form.Repeater, form.Slots = repeats, []strictjson.Span{strictjson.Inner(v)}
		}
	}
	return form
}

func (f toyForm) Repeat(texts [][]byte, held bool) (added string, size int, ok bool) {
	var b strings.Builder
	strictjson.Unquote(&b, texts[0])
	switch {
	case f.ended || (held && f.call == nil && (!f.overtakes || f.textHeld)) || (f.call != nil && f.call.done):
		return "", 0, false
	case f.call == nil:
		f.said += b.String()
	default:
		f.call.args.WriteString(b.String())
	}
	return b.String(), b.Len(), true
}
