package intercept_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// The toy dialect is the smallest dialect: a codec. Its events have one of the fields say
// (a text), call (a name), arg (a piece), done, err, end and wait (it is withheld until the
// end), and those about a call an id.

// toyRequest is a request whose answers are read by a toy.
type toyRequest struct {
	intercept.Request
	overtakes bool // text overtakes calls
}

func (r toyRequest) Codec(l intercept.Limits) intercept.Codec {
	return &toy{toyRequest: r, limits: l}
}

// toy is the codec.
type toy struct {
	toyRequest
	limits    intercept.Limits
	calls     []*toyCall
	events    []gjson.Result
	said      string
	ended     bool
	failed    bool
	whole     bool
	turns     int
	noticed   bool
	textHeld  bool
	continued bool
}

type toyCall struct {
	intercept.Unit
	id, name string
	args     strings.Builder
	done     bool
	shown    bool
}

func (t *toy) Begin() intercept.Traits {
	t.calls, t.events, t.ended, t.failed, t.textHeld, t.continued = nil, nil, false, false, false, t.turns > 0
	return intercept.Traits{}
}

func (t *toy) Read(p *intercept.Part) error {
	t.events = t.events[:0]
	words := len(p.Payloads) > 0
	for _, payload := range p.Payloads {
		e := gjson.ParseBytes(payload)
		t.events = append(t.events, e)
		if err := t.event(p, e); err != nil {
			return err
		}
		words = words && e.Get("say").Exists()
	}
	p.Overtakes = t.overtakes && words && !t.textHeld && !p.Last
	p.Complete, p.Failed, p.Rewritten = t.ended, t.failed, t.continued && !t.failed
	if t.failed {
		t.calls = nil
	}
	p.Form = t.form(p)
	p.Spent = len(t.events) == 1 && (t.events[0].Get("arg").Exists() || t.events[0].Get("done").Exists()) && !p.Last
	return nil
}

func (t *toy) event(p *intercept.Part, e gjson.Result) error {
	var keys []string
	e.ForEach(func(k, _ gjson.Result) bool {
		keys = append(keys, k.Str)
		return true
	})
	switch strings.Join(keys, " ") {
	case "say":
		t.said += e.Get("say").Str
		return p.Event(nil, "")
	case "err":
		t.failed = true
		return p.Event(nil, "")
	case "wait":
		p.Withheld = true
		return p.Event(nil, "")
	case "end":
		t.ended, p.Ends = true, true
		return p.Event(nil, "")
	case "call id":
		c := &toyCall{Unit: intercept.Unit{Call: true}, id: e.Get("id").Str, name: e.Get("call").Str}
		c.Of = c
		if t.find(c.id) != nil || t.ended || (len(t.calls) > 0 && !t.calls[len(t.calls)-1].done) {
			return intercept.NotUnderstood("a call begins where none can")
		}
		t.calls = append(t.calls, c)
		p.Open(&c.Unit)
		return p.Event(&c.Unit, "")
	case "arg id", "done id":
		c := t.find(e.Get("id").Str)
		if c == nil || c.done || t.ended {
			return intercept.NotUnderstood("an event of no call")
		}
		if e.Get("done").Exists() {
			c.done = true
			p.Completed(&c.Unit)
			return p.Event(&c.Unit, "")
		}
		c.args.WriteString(e.Get("arg").Str)
		return p.Event(&c.Unit, e.Get("arg").Str)
	}
	return intercept.NotUnderstood("an event of no known type")
}

func (t *toy) find(id string) *toyCall {
	for _, c := range t.calls {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (t *toy) ReadWhole(p *intercept.Part) error {
	t.whole = true
	for _, e := range gjson.ParseBytes(p.Bytes).Get("events").Array() {
		if err := t.event(p, e); err != nil {
			return err
		}
	}
	return nil
}

func (t *toy) Close(framed, held bool) (contents intercept.Contents, err error) {
	for _, c := range t.calls {
		if contents.Calls = append(contents.Calls, &c.Unit); !c.done && !t.failed {
			return contents, intercept.Cut()
		}
	}
	if !t.whole && !t.ended && !t.failed && (held || !framed) {
		return contents, intercept.Cut()
	}
	contents.Text = func() string { return t.said }
	return contents, nil
}

func (t *toy) units() (list []*intercept.Unit) {
	for _, c := range t.calls {
		list = append(list, &c.Unit)
	}
	return list
}

func (t *toy) Call(u *intercept.Unit) intercept.Call {
	c := u.Of.(*toyCall)
	list := slices.Clip(u.Ambiguities)
	list.CheckArguments(c.args.String())
	return intercept.Call{ID: c.id, Name: c.name, Arguments: c.args.String(), Ambiguous: list}
}

func (t *toy) Heartbeat(intercept.Form, intercept.Heartbeat) []byte { return nil }
func (t *toy) Fail(dst []byte, _ *intercept.Error, _ bool) []byte {
	return toyEvent(dst, `{"err":true}`)
}
func (t *toy) Notice(p *intercept.Plan) []byte { return t.notice(p) }
func (t *toy) RewriteWhole([]byte, *intercept.Plan) ([]byte, error) {
	return []byte(`{"events":[]}`), nil
}

func toyEvent(dst []byte, payload string) []byte { return sse.AppendData(dst, "", []byte(payload)) }

func (t *toy) notice(p *intercept.Plan) (out []byte) {
	if p.Notice != "" && !t.noticed {
		t.noticed = true
		out = toyEvent(nil, `{"say":`+strictjson.Quote(p.Notice)+"}")
	}
	return out
}

func (t *toy) Rewrite(part []byte, units []*intercept.Unit, p *intercept.Plan) ([]byte, error) {
	payloads, err := intercept.Payloads(part)
	if err != nil {
		return nil, err
	}
	return intercept.RewritePart(part, payloads, func(i int, payload []byte) (intercept.Rewrite, error) {
		r := intercept.Rewrite{JSON: string(payload)}
		switch u := units[i]; {
		case gjson.GetBytes(payload, "end").Exists():
			r.Drop, r.Before = p.Open, t.notice(p)
		case u == nil:
		case !p.Reaches(u):
			r.Drop = true
		default:
			r.Drop, r.Before = true, u.Of.(*toyCall).render(p)
		}
		return r, nil
	})
}

// render renders a call in canonical form, once.
func (c *toyCall) render(p *intercept.Plan) []byte {
	if c.shown {
		return nil
	}
	c.shown = true
	args, edited := p.Edit(&c.Unit)
	if !edited {
		args = c.args.String()
	}
	id := strictjson.Quote(c.id)
	out := toyEvent(nil, fmt.Sprintf(`{"call":%s,"id":%s}`, strictjson.Quote(c.name), id))
	out = toyEvent(out, fmt.Sprintf(`{"arg":%s,"id":%s}`, strictjson.Quote(args), id))
	return toyEvent(out, fmt.Sprintf(`{"done":true,"id":%s}`, id))
}

func (t *toy) Disposed(_ *intercept.Part, d intercept.Disposition) {
	if d == intercept.Held {
		for _, e := range t.events {
			t.textHeld = t.textHeld || e.Get("say").Exists()
		}
	}
}

func (t *toy) Plan(p *intercept.Plan) (s intercept.Resolution, err error) {
	p.Unchanged = len(t.calls) == 0 && (!t.continued || t.failed)
	denied := p.AllDenied(t.units())
	switch p.Open = denied && p.MayContinue(t.units(), t.turns, t.turns, t.limits.MaxContinuations); {
	case p.Open:
		t.turns++
		s.Next = &intercept.Envelope{Body: []byte("go on")}
	case p.Aborted != nil:
		p.Notice = p.Aborted.ModelMessage
	case denied:
		p.Notice = p.Denial(t.turns)
	}
	return s, nil
}

// toyForm is the form of an event with a text, or with a piece of a call.
type toyForm struct {
	*toy
	call *toyCall
}

func (t *toy) form(p *intercept.Part) (form intercept.Template) {
	if len(t.events) != 1 || t.continued {
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
