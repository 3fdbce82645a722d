package chat

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/chat/history"
	"github.com/heldcall/heldcall/intercept/chat/wire"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// tell puts into an output what the model reads about its denied calls, with which
// it goes on.
func (a *answer) tell(c *choice, p *intercept.Plan) error {
	l := c.output
	l.speech = append(l.speech, c.said().audio.speech()...)
	for _, m := range a.told(c) {
		l.hidden = append(l.hidden, m)
		if err := p.Store(len(m)); err != nil {
			return err
		}
	}
	if a.whole {
		a.think(c, p)
	}
	l.turns++
	l.continues = true
	return nil
}

// told lists what the model said in a choice and what it is told about each
// call, as messages.
func (a *answer) told(c *choice) []string {
	id := a.identify(c)
	messages := []string{c.said().message(c.calls(), id)}
	var legacy []string // behind the others: role tool has to follow the calls at once
	for _, call := range c.calls() {
		if call.kind == wire.KindLegacy {
			legacy = append(legacy, call.legacyResult(call.ruling().ModelMessage))
			continue
		}
		messages = append(messages, toolResult(id(call), call.ruling().ModelMessage))
	}
	return append(messages, legacy...)
}

// identify returns the function that names the calls of a choice towards the
// model: by their own ids, or made-up ones where upstream gave none or gave one
// twice.
func (a *answer) identify(c *choice) func(*call) string {
	return func(call *call) string {
		taken := call.id == ""
		for i, other := range c.calls() {
			if other == call && taken {
				return strictjson.MadeUpID(a.limits.TurnID, 2*c.output.turns*maxCalls+i)
			}
			if other == call {
				break
			}
			taken = taken || other.id == call.id
		}
		return call.id
	}
}

// proceed lets the model go on in an output. What is remembered of the choices that
// are done goes with what the agent gets of them.
func (a *answer) proceed(l *outputChoice, p *intercept.Plan) (intercept.Resolution, error) {
	body, err := extend(a.req.Envelope().Body, l.hidden)
	if err != nil {
		return intercept.Resolution{}, fmt.Errorf("continue after a denial: %w", err)
	}
	var settled intercept.Resolution
	if !a.whole {
		settled.Hidden = a.records
	} else if err := p.Store(len(a.body)); err != nil {
		return intercept.Resolution{}, err
	}
	if a.first == "" {
		a.first = a.body
	}
	a.priorUsage = strictjson.AddUsage(a.priorUsage, []byte(a.usage))
	a.continuing = l
	next := a.req.With(body)
	settled.Next = &next
	return settled, nil
}

// remember describes what the agent does not see of a choice that is done, for
// the later requests of the conversation. A choice whose calls all went on
// unchanged in the first body needs no record.
func (a *answer) remember(c *choice, p *intercept.Plan) error {
	if p.Aborted != nil || a.failed {
		return nil
	}
	rec := a.record(c, p)
	if rec == nil {
		return nil
	}
	raw, err := rec.Encode()
	if err != nil {
		return fmt.Errorf("describe a hidden turn: %w", err)
	}
	a.records = append(a.records, raw)
	return nil
}

func (a *answer) record(c *choice, p *intercept.Plan) *history.Record {
	l := c.output
	rec := &history.Record{TurnFingerprint: intercept.TurnFingerprint{Turn: a.limits.TurnID, Before: a.req.Ending(), Opening: intercept.Opening(a.req.Opening()), Text: l.heard()}, LastText: c.said().written(), Spoken: l.allSpoken()}
	rec.Turns, rec.Speech = append(rec.Turns, l.hidden...), append(rec.Speech, l.speech...)
	rec.Last = lastOf(c.said(), l.named)
	id := a.identify(c)
	changed := len(rec.Turns) > 0
	for _, call := range c.calls() {
		if !p.Reaches(&call.Unit) {
			changed = true
			rec.LastCalls = append(rec.LastCalls, history.LastCall{Seen: -1, Entry: call.entry(id(call)), Denial: toolResult(id(call), call.ruling().ModelMessage)})
			continue
		}
		seen := intercept.NewCallFingerprint(call.id, call.name, call.args.String())
		if r := call.ruling(); r.Action == intercept.Edit {
			changed = true
			seen = intercept.NewCallFingerprint(call.id, call.name, r.Arguments)
			seen.Note = r.ModelMessage
		}
		rec.LastCalls = append(rec.LastCalls, history.LastCall{Seen: len(rec.Calls)})
		rec.Calls = append(rec.Calls, seen)
	}
	if !changed {
		return nil
	}
	if l.notice != "" {
		rec.Turns, rec.Speech = append(rec.Turns, a.told(c)...), append(rec.Speech, c.said().audio.speech()...)
		rec.Last = lastOf(&assistantMessage{}, append(l.named, c.said().order...))
		rec.LastCalls = nil
		rec.LastText = l.notice
		rec.Text += strictjson.Paragraph(rec.Text, l.notice)
	}
	return rec
}

// extend returns body, a chat request, with messages appended, for one choice,
// and with a tool choice that forces a call relaxed, so that the model may take
// another way. All other bytes stay.
func extend(body []byte, messages []string) ([]byte, error) {
	r, err := history.ParseRequest(intercept.Envelope{Body: body})
	if err != nil {
		return nil, err
	}
	at, _ := r.At("messages")
	body = strictjson.Replace(body, at, strictjson.AppendItems(r.Field("messages"), messages...))
	if gjson.ParseBytes(r.Field("n")).Type == gjson.Number {
		if body, err = sjson.SetRawBytes(body, "n", []byte("1")); err != nil {
			return nil, fmt.Errorf("ask for one choice: %w", err)
		}
	}
	return relax(body, r)
}

func relax(body []byte, r *history.Request) ([]byte, error) {
	for _, field := range []string{"tool_choice", "function_call"} {
		v := gjson.ParseBytes(r.Field(field))
		if v.Get("allowed_tools.mode").Exists() { // stays bound to some of the tools
			field += ".allowed_tools.mode"
			v = v.Get("allowed_tools.mode")
		}
		if v.IsObject() || v.Str == "required" || v.Str == "any" {
			relaxed, err := sjson.SetBytes(body, field, "auto")
			if err != nil {
				return nil, fmt.Errorf("relax %s: %w", field, err)
			}
			body = relaxed
		}
	}
	return body, nil
}
