package chat

import (
	"slices"

	"github.com/heldcall/heldcall/intercept"

	"github.com/heldcall/heldcall/intercept/strictjson"
)

// records are those of the hidden parts of the answer, which is complete, for the later requests of the
// conversation. A choice whose calls the agent gets unchanged in the first body needs none.
func (a *answer) records(p *intercept.Plan) (list [][]byte, err error) {
	for _, c := range a.body.choices {
		rec := a.record(c, p)
		if rec == nil {
			continue
		}
		raw, err := intercept.EncodeRecord(rec)
		if err != nil {
			return nil, err
		}
		list = append(list, raw)
	}
	return list, nil
}

// hides reports whether the agent gets less of a choice than the model's output, or another one.
func (c *choice) hides(p *intercept.Plan) bool {
	return len(c.output.prior.hidden) > 0 || slices.ContainsFunc(c.calls(), func(call *call) bool {
		return !p.Reaches(&call.Unit) || call.ruling().Action == intercept.Edit
	})
}

func (a *answer) record(c *choice, p *intercept.Plan) *answerRecord {
	if !c.hides(p) {
		return nil
	}
	l, message, id := c.output, c.message(), c.ids(a.limits.TurnID)
	rec := &answerRecord{
		TurnFingerprint: intercept.TurnFingerprint{Turn: a.limits.TurnID, Before: a.req.Ending(), Opening: intercept.Opening(a.req.Opening().String()), Text: l.text()},
		Turns:           slices.Clone(l.prior.hidden),
		Speech:          slices.Clone(l.prior.speech),
		Spoken:          l.spoken(),
		LastText:        message.written(),
		Last:            message.last(l.prior.extras),
	}
	for _, call := range c.calls() {
		if !p.Reaches(&call.Unit) {
			rec.LastCalls = append(rec.LastCalls, lastCall{Seen: -1, Entry: call.entry(id(call)), Denial: toolResult(id(call), call.ruling().ModelMessage)})
			continue
		}
		fingerprint := intercept.NewCallFingerprint(call.id, call.name, call.args.String())
		if r := call.ruling(); r.Action == intercept.Edit {
			fingerprint = intercept.NewCallFingerprint(call.id, call.name, r.Arguments)
			fingerprint.Note = r.ModelMessage
		}
		rec.LastCalls = append(rec.LastCalls, lastCall{Seen: len(rec.Calls)})
		rec.Calls = append(rec.Calls, fingerprint)
	}
	if l.notice != "" {
		rec.Turns, rec.Speech = append(rec.Turns, c.denied(id)...), append(rec.Speech, message.audio.speech()...)
		rec.Last = (&assistantMessage{}).last(slices.Concat(l.prior.extras, message.order))
		rec.LastCalls = nil
		rec.LastText = l.notice
		rec.Text += strictjson.Paragraph(rec.Text, l.notice)
	}
	return rec
}

// denied lists the model's message of the choice and the results of its denied calls.
func (c *choice) denied(id func(*call) string) []string {
	messages := []string{c.message().render(c.calls(), id)}
	var legacy []string // after the others: role tool has to follow the calls at once
	for _, call := range c.calls() {
		if call.isLegacy() {
			legacy = append(legacy, call.legacyResult(call.ruling().ModelMessage))
			continue
		}
		messages = append(messages, toolResult(id(call), call.ruling().ModelMessage))
	}
	return append(messages, legacy...)
}

// ids returns the function that names the calls of the choice to the model: by their own
// ids, or by made-up ones where upstream gave none or repeats one.
func (c *choice) ids(turnID string) func(*call) string {
	return func(call *call) string {
		taken := call.id == ""
		for i, other := range c.calls() {
			if other == call && taken {
				return strictjson.MadeUpID(turnID, 2*c.output.prior.count*maxCalls+i)
			}
			if other == call {
				break
			}
			taken = taken || other.id == call.id
		}
		return call.id
	}
}

// last describes the message as the last turn of a choice whose earlier turns had fields
// with the given names.
func (u *assistantMessage) last(before []string) (l lastTurn) {
	if content := u.contentValue(); content[0] == '[' {
		l.Content = content
	}
	l.Audio, l.Spoken = u.audio.id, u.audio.text()
	for _, name := range u.order {
		l.Extras = append(l.Extras, rawField{Name: name, Raw: u.extras[name].value()})
	}
	for _, name := range before {
		if _, again := u.extras[name]; !again && !slices.Contains(l.Gone, name) {
			l.Gone = append(l.Gone, name)
		}
	}
	return l
}
