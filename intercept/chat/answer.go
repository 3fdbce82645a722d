package chat

import (
	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// maxCalls is how many calls a choice has at most, and maxAllCalls all choices together:
// events are compared with all calls before them.
const (
	maxCalls    = 512
	maxAllCalls = 2048
)

// answer implements [intercept.Codec].
type answer struct {
	req    *request
	limits intercept.Limits
	body   upstreamBody // the current one
	batch  eventBatch   // the part of it that was read last
	out    output
}

func newAnswer(r *request, limits intercept.Limits) *answer {
	a := &answer{req: r, limits: limits}
	a.batch = eventBatch{req: r, body: &a.body, out: &a.out}
	return a
}

// Begin implements [intercept.Codec].
func (a *answer) Begin() intercept.Traits {
	if a.out.open {
		a.out.advance(&a.body)
	}
	a.body = upstreamBody{}
	return intercept.Traits{}
}

// Close implements [intercept.Codec].
func (a *answer) Close(framed, _ bool) (contents intercept.Contents, err error) {
	if !a.body.ended(framed) {
		return contents, intercept.Cut()
	}
	if err := a.body.separable(); err != nil {
		return contents, err
	}
	if a.out.continuing && len(a.body.choices) == 0 && !a.body.failed {
		return contents, intercept.EmptyContinuation()
	}
	a.body.close()
	return intercept.Contents{Calls: a.units(), Text: a.text}, nil
}

// units lists the calls of the body.
func (a *answer) units() (list []*intercept.Unit) {
	for _, c := range a.body.choices {
		list = append(list, c.units()...)
	}
	return list
}

// Call implements [intercept.Codec].
func (*answer) Call(u *intercept.Unit) intercept.Call {
	c := callOf(u)
	return intercept.Call{ID: c.id, Name: c.name, Arguments: c.args.String(), FreeText: c.kind == kindCustom, Ambiguous: c.ambiguities()}
}

// text is the text of the answer for the user.
func (a *answer) text() string {
	if a.body.unread != nil {
		return strictjson.ContentText(gjson.GetBytes(a.body.unread, "choices.0.message.content"))
	}
	return a.out.text()
}

// Notice implements [intercept.Codec].
func (a *answer) Notice(*intercept.Plan) []intercept.Event { return a.out.notices() }

// Heartbeat implements [intercept.Codec]. The event repeats the id of the stream, without
// choices or with an empty delta of one that has not ended.
func (a *answer) Heartbeat(heartbeat intercept.Heartbeat) []intercept.Event {
	if a.out.head.id == "" {
		return nil
	}
	if heartbeat != intercept.HeartbeatDelta {
		return []intercept.Event{a.out.head.event()}
	}
	for _, l := range a.out.choices {
		if !l.sent.finish {
			return []intercept.Event{a.out.head.event(choiceJSON(l.index, "", "null"))}
		}
	}
	return nil
}

// Fail implements [intercept.Codec].
func (*answer) Fail(e *intercept.Error, _ bool) []intercept.Event {
	return []intercept.Event{{Data: string(Dialect{}.Error(e))}}
}
