package chat

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// tell puts into a lane what the model is told of its denied calls, with which
// it goes on.
func (s *settling) tell(c *choice) error {
	l := c.lane
	l.speech = append(l.speech, c.said().voice.speech()...)
	for _, m := range s.told(c) {
		l.hidden = append(l.hidden, m)
		if err := s.store(len(m)); err != nil {
			return err
		}
	}
	if s.upstream.Kind() == intercept.FormWhole {
		s.think(c)
	}
	l.turns++
	l.waits = true
	return nil
}

// store bounds what is remembered of the bodies before.
func (a *answer) store(n int) error {
	if a.stored += n; a.limits.MaxBytes > 0 && a.stored > a.limits.MaxBytes {
		return intercept.TooLong()
	}
	return nil
}

// told lists what the model said in a choice and what it is told about each
// call, as messages.
func (s *settling) told(c *choice) []string {
	id := s.identify(c)
	messages := []string{c.said().message(c.calls(), id)}
	var legacy []string // behind the others: role tool has to follow the calls at once
	for _, call := range c.calls() {
		if call.kind == kindLegacy {
			legacy = append(legacy, call.legacyResult(s.fates[call].Told))
			continue
		}
		messages = append(messages, toolResult(id(call), s.fates[call].Told))
	}
	return append(messages, legacy...)
}

// identify returns the function that names the calls of a choice towards the
// model: by their own ids, or made-up ones where upstream gave none or gave one
// twice.
func (s *settling) identify(c *choice) func(*call) string {
	return func(call *call) string {
		taken := call.id == ""
		for i, other := range c.calls() {
			if other == call && taken {
				return intercept.MadeUpID(s.limits.TurnID, 2*c.lane.turns*maxCalls+i)
			}
			if other == call {
				break
			}
			taken = taken || other.id == call.id
		}
		return call.id
	}
}

// proceed lets the model go on in a lane. What is remembered of the choices that
// are done goes with what the agent gets of them.
func (s *settling) proceed(l *lane, out []byte) (intercept.Settlement, error) {
	body, err := extend(s.req.Envelope().Body, l.hidden)
	if err != nil {
		return intercept.Settlement{}, fmt.Errorf("continue after a denial: %w", err)
	}
	settled := intercept.Settlement{Bytes: out}
	if s.upstream.Kind() == intercept.FormStream {
		settled.Hidden = s.records
	} else if err := s.store(len(s.whole)); err != nil {
		return intercept.Settlement{}, err
	}
	if s.first == "" {
		s.first = s.whole
	}
	s.spent = intercept.AddUsage(s.spent, []byte(s.usage))
	s.going = l
	next := s.req.With(body)
	settled.Next = &next
	return settled, nil
}

// remember describes what the agent does not see of a choice that is done, for
// the later requests of the conversation. A choice whose calls all went on
// unchanged in the first body needs no record.
func (s *settling) remember(c *choice) error {
	if s.aborted != nil || s.failed {
		return nil
	}
	rec := s.record(c)
	if rec == nil {
		return nil
	}
	raw, err := rec.encode()
	if err != nil {
		return fmt.Errorf("describe a hidden turn: %w", err)
	}
	s.records = append(s.records, raw)
	return nil
}

func (s *settling) record(c *choice) *record {
	l := c.lane
	rec := &record{Seen: intercept.Seen{Turn: s.limits.TurnID, Before: s.req.ending(), Opening: intercept.Opening(s.req.opening()), Text: l.heard()}, LastText: c.said().written(), Spoken: l.allSpoken()}
	rec.Turns, rec.Speech = append(rec.Turns, l.hidden...), append(rec.Speech, l.speech...)
	rec.Last = lastOf(c.said(), l.named)
	id := s.identify(c)
	changed := len(rec.Turns) > 0
	for _, call := range c.calls() {
		if !s.reaches(call) {
			changed = true
			rec.LastCalls = append(rec.LastCalls, lastCall{Seen: -1, Entry: call.entry(id(call)), Denial: toolResult(id(call), s.fates[call].Told)})
			continue
		}
		seen := intercept.NewSeenCall(call.id, call.name, call.args.String())
		if r := s.fates[call]; r.Fate == intercept.Edit {
			changed = true
			seen = intercept.NewSeenCall(call.id, call.name, r.Arguments)
			seen.Note = r.Told
		}
		rec.LastCalls = append(rec.LastCalls, lastCall{Seen: len(rec.Calls)})
		rec.Calls = append(rec.Calls, seen)
	}
	if !changed {
		return nil
	}
	if l.note != "" {
		rec.Turns, rec.Speech = append(rec.Turns, s.told(c)...), append(rec.Speech, c.said().voice.speech()...)
		rec.Last = lastOf(&utterance{}, append(l.named, c.said().order...))
		rec.LastCalls = nil
		rec.LastText = l.note
		rec.Text += intercept.Paragraph(rec.Text, l.note)
	}
	return rec
}

// extend returns body, a chat request, with messages appended, for one choice,
// and with a tool choice that forces a call relaxed, so that the model may take
// another way. All other bytes stay.
func extend(body []byte, messages []string) ([]byte, error) {
	r, err := parseRequest(intercept.Envelope{Body: body})
	if err != nil {
		return nil, err
	}
	at, _ := r.At("messages")
	body = intercept.Replace(body, at, intercept.AppendItems(r.Field("messages"), messages...))
	if gjson.ParseBytes(r.Field("n")).Type == gjson.Number {
		if body, err = sjson.SetRawBytes(body, "n", []byte("1")); err != nil {
			return nil, fmt.Errorf("ask for one choice: %w", err)
		}
	}
	return relax(body, r)
}

func relax(body []byte, r *request) ([]byte, error) {
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
