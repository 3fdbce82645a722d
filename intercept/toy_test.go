package intercept_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// The toy dialect is the smallest dialect: a codec. Its events have one of the fields say
// (a text), call (a name), arg (a piece), done, err, end and wait (it is withheld until the
// end), and those about a call an id. A whole answer is {"events":[...]}.

// toyRequest is a request whose answers are read by a toy.
type toyRequest struct {
	intercept.Request
	overtakes bool // text overtakes calls
}

func (r toyRequest) Codec(l intercept.Limits) intercept.Codec { return &toy{toyRequest: r, limits: l} }

// toy is the codec.
type toy struct {
	toyRequest
	limits intercept.Limits
	toyBody
	said    string
	turns   int // continuations
	noticed bool
}

// toyBody is what a toy has read of a body.
type toyBody struct {
	calls                          []*intercept.Unit
	events                         []gjson.Result // of the latest part
	whole, ended, failed, textHeld bool
}

type toyCall struct {
	intercept.Unit
	id, name    string
	args        strings.Builder
	done, shown bool
}

func (t *toy) Begin() intercept.Traits {
	t.toyBody = toyBody{}
	return intercept.Traits{}
}

func (t *toy) Read(p *intercept.Part) error {
	t.events, t.whole = t.events[:0], p.Whole
	for _, data := range p.Payloads {
		e := gjson.ParseBytes(data)
		if t.events = append(t.events, e); p.Whole {
			t.events = e.Get("events").Array()
		}
	}
	words := len(t.events) > 0
	for _, e := range t.events {
		if err := t.event(p, e); err != nil {
			return err
		}
		words = words && e.Get("say").Exists()
	}
	p.Overtakes = t.overtakes && words && !t.textHeld && !p.Last
	p.Complete, p.Failed, p.Rewritten = t.ended, t.failed, t.turns > 0 && !t.failed
	if t.failed {
		t.calls = nil
	}
	p.Form = t.form(p)
	p.Spent = len(t.events) == 1 && (t.events[0].Get("arg").Exists() || t.events[0].Get("done").Exists()) && !p.Last
	return nil
}

func (t *toy) event(p *intercept.Part, e gjson.Result) error {
	c := t.find(e.Get("id").Str)
	switch keys := e.Get("@keys").String(); {
	case keys == `["say"]`:
		t.said += e.Get("say").Str
	case keys == `["err"]`:
		t.failed = true
	case keys == `["wait"]`:
		p.Withheld = true
	case keys == `["end"]`:
		t.ended, p.Ends = true, true
	case keys == `["call","id"]` && c == nil && !t.ended && !slices.ContainsFunc(t.calls, isOpen):
		c = &toyCall{Unit: intercept.Unit{Call: true}, id: e.Get("id").Str, name: e.Get("call").Str}
		c.Of, t.calls = c, append(t.calls, &c.Unit)
		p.Open(&c.Unit)
		return p.Event(&c.Unit, "")
	case c == nil || c.done || t.ended:
		return intercept.NotUnderstood("an event of no call")
	case keys == `["done","id"]`, keys == `["arg","id"]`:
		if c.done = e.Get("done").Exists(); c.done {
			p.Completed(&c.Unit)
		}
		c.args.WriteString(e.Get("arg").Str)
		return p.Event(&c.Unit, e.Get("arg").Str)
	default:
		return intercept.NotUnderstood("an event of no known type")
	}
	return p.Event(nil, "")
}

func (t *toy) find(id string) *toyCall {
	if i := slices.IndexFunc(t.calls, func(u *intercept.Unit) bool { return u.Of.(*toyCall).id == id }); i >= 0 {
		return t.calls[i].Of.(*toyCall)
	}
	return nil
}
func isOpen(u *intercept.Unit) bool { return !u.Of.(*toyCall).done }

func (t *toy) Disposed(_ *intercept.Part, d intercept.Disposition) {
	said := func(e gjson.Result) bool { return e.Get("say").Exists() }
	t.textHeld = t.textHeld || (d == intercept.Held && slices.ContainsFunc(t.events, said))
}

func (t *toy) Close(framed, held bool) (contents intercept.Contents, err error) {
	cut := !t.whole && !t.ended && !t.failed && (held || !framed)
	if cut || slices.ContainsFunc(t.calls, isOpen) {
		return contents, intercept.Cut()
	}
	return intercept.Contents{Calls: t.calls, Text: func() string { return t.said }}, nil
}

func (t *toy) Call(u *intercept.Unit) intercept.Call {
	c, ambiguities := u.Of.(*toyCall), slices.Clip(u.Ambiguities)
	ambiguities.CheckArguments(c.args.String())
	return intercept.Call{ID: c.id, Name: c.name, Arguments: c.args.String(), Ambiguous: ambiguities}
}

func (t *toy) Plan(p *intercept.Plan) (s intercept.Resolution, err error) {
	p.Unchanged = len(t.calls) == 0 && (t.turns == 0 || t.failed)
	denied := p.AllDenied(t.calls)
	switch p.Open = denied && p.MayContinue(t.calls, t.turns, t.turns, t.limits.MaxContinuations); {
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

func (t *toy) Rewrite(part *intercept.Part, plan *intercept.Plan) ([]intercept.Event, error) {
	if !part.Whole {
		return part.Map(func(_ int, e intercept.Event) ([]intercept.Event, error) { return t.rewrite(e, plan), nil })
	}
	var list []string
	for _, e := range t.events {
		for _, more := range t.rewrite(intercept.Event{Data: e.Raw}, plan) {
			list = append(list, more.Data)
		}
	}
	return toyEvents(`{"events":[` + strings.Join(list, ",") + `]}`), nil
}

func (t *toy) rewrite(e intercept.Event, plan *intercept.Plan) []intercept.Event {
	switch c := t.find(gjson.Get(e.Data, "id").Str); {
	case c != nil && (c.shown || !plan.Reaches(&c.Unit)), gjson.Get(e.Data, "end").Exists() && plan.Open:
		return nil
	case c != nil:
		c.shown = true
		args, edited := plan.Edit(&c.Unit)
		if !edited {
			args = c.args.String()
		}
		id := strictjson.Quote(c.id)
		return toyEvents(fmt.Sprintf(`{"call":%s,"id":%s}`, strictjson.Quote(c.name), id), fmt.Sprintf(`{"arg":%s,"id":%s}`, strictjson.Quote(args), id), fmt.Sprintf(`{"done":true,"id":%s}`, id))
	case gjson.Get(e.Data, "end").Exists():
		return append(t.Notice(plan), e)
	}
	return []intercept.Event{e}
}

func toyEvents(list ...string) (events []intercept.Event) {
	for _, data := range list {
		events = append(events, intercept.Event{Data: data})
	}
	return events
}

func (t *toy) Notice(p *intercept.Plan) []intercept.Event {
	if p.Notice == "" || t.noticed {
		return nil
	}
	t.noticed = true
	return toyEvents(`{"say":` + strictjson.Quote(p.Notice) + "}")
}

func (*toy) Heartbeat(intercept.Heartbeat) []intercept.Event { return toyEvents(`{"say":""}`) }
func (*toy) Fail(*intercept.Error, bool) []intercept.Event   { return toyEvents(`{"err":true}`) }
