package messages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// proceed tells the model of the denials and lets it go on.
func (a *answer) proceed(p *intercept.Plan) (intercept.Resolution, error) {
	messages := a.told()
	body, err := extend(a.body, messages, a.container)
	if err != nil {
		return intercept.Resolution{}, fmt.Errorf("continue after a denial: %w", err)
	}
	a.settleBody(p)
	for _, m := range messages {
		if err := p.Store(len(m)); err != nil {
			return intercept.Resolution{}, err
		}
	}
	a.hidden = append(a.hidden, messages...)
	a.body = body
	a.continuations++
	next := a.req.With(body)
	return intercept.Resolution{Next: &next}, nil
}

// told is what the model said in its last attempt and what it is told about each
// call, as two messages.
func (a *answer) told() []string {
	var said, results []string
	for _, b := range a.blocks {
		if b.attempt != a.attempt {
			continue
		}
		said = append(said, b.render(a.identify(b)))
		if b.call != nil {
			results = append(results, toolResult(a.identify(b), b.told()))
		}
	}
	return []string{assistantMessage(said), userMessage(results)}
}

// identify names a call towards the model: by its own id, or a made-up one where
// upstream gave none or gave one twice.
func (a *answer) identify(call *block) string {
	if call.call == nil {
		return ""
	}
	taken := call.call.id == ""
	for i, b := range a.blocks {
		if b == call {
			if taken {
				return strictjson.MadeUpID(a.limits.TurnID, 2*a.continuations*maxBlocks+i)
			}
			break
		}
		taken = taken || (b.call != nil && b.call.id == call.call.id)
	}
	return call.call.id
}

// told is the text that the model reads about a call.
func (b *block) told() string {
	r, _ := b.Ruling()
	return r.ModelMessage
}

// settleBody adds what the agent has got of the current body to what outlives it.
func (a *answer) settleBody(p *intercept.Plan) {
	a.text += strictjson.Paragraph(a.text, a.said())
	a.priorUsage = strictjson.AddUsage(a.priorUsage, []byte(a.bodyState.usage))
	for _, b := range a.blocks {
		if !p.Reaches(&b.Unit) {
			continue
		}
		raw := b.render("")
		a.seen = append(a.seen, piece{Key: key(raw), Before: true})
		a.thinking = thinks(raw)
		a.base++
		if a.whole {
			a.rendered = append(a.rendered, raw)
		}
	}
}

// records describes what the agent did not see, for the later requests of the
// conversation. An answer whose calls all went on unchanged in the first turn
// needs none.
func (a *answer) records(p *intercept.Plan) ([][]byte, error) {
	if p.Aborted != nil || a.failed {
		return nil, nil // the run, or the answer, is over
	}
	rec := a.record(p)
	if rec == nil {
		return nil, nil
	}
	raw, err := rec.encode()
	if err != nil {
		return nil, fmt.Errorf("describe a hidden turn: %w", err)
	}
	return [][]byte{raw}, nil
}

func (a *answer) record(plan *intercept.Plan) *record {
	rec := &record{Turns: slices.Clone(a.hidden), Pieces: slices.Clone(a.seen)}
	rec.TurnFingerprint = intercept.TurnFingerprint{Turn: a.limits.TurnID, Before: a.req.ending(), Opening: intercept.Opening(a.req.opening()), Text: intercept.StripSpace(a.text + a.said() + plan.Notice)}
	changed := len(rec.Turns) > 0
	denied := plan.AllDenied(a.Calls())
	for _, b := range a.blocks {
		raw := b.render(a.identify(b))
		if !plan.Reaches(&b.Unit) {
			changed = true
			if !denied {
				rec.Pieces = append(rec.Pieces, piece{Raw: raw})
				rec.Results = append(rec.Results, toolResult(a.identify(b), b.told()))
			}
			continue
		}
		past := b.attempt != a.attempt && b.call == nil // the model knows nothing of it
		changed = changed || past
		p := piece{Key: key(raw), Raw: raw, Before: denied || past}
		if b.call != nil {
			p.Raw = ""
			seen := intercept.NewCallFingerprint(b.call.id, b.call.name, b.call.arguments())
			if edited, ok := plan.Edit(&b.Unit); ok {
				changed = true
				seen = intercept.NewCallFingerprint(b.call.id, b.call.name, edited)
				seen.Note = b.told()
			}
			rec.Calls = append(rec.Calls, seen)
		}
		rec.Pieces = append(rec.Pieces, p)
	}
	if !changed {
		return nil
	}
	if denied {
		rec.Turns = append(rec.Turns, a.told()...)
	}
	if note := plan.Notice; note != "" {
		raw := textBlock(strings.TrimSpace(note))
		rec.Pieces = append(rec.Pieces, piece{Key: key(raw), Raw: raw})
	}
	return rec
}

// extend returns body, a request, with messages appended, the container of the
// answer that it goes on from, and a tool choice that forces a call relaxed, so
// that the model may take another way. All other bytes stay.
func extend(body []byte, messages []string, container string) ([]byte, error) {
	r, err := parseRequest(intercept.Envelope{Body: body})
	if err != nil {
		return nil, err
	}
	at, _ := r.At("messages")
	p := strictjson.Patch{JSON: string(strictjson.Replace(body, at, strictjson.AppendItems(r.Field("messages"), messages...)))}
	r.relax(&p)
	r.stay(&p, container)
	if p.Err != nil {
		return nil, fmt.Errorf("extend the request: %w", p.Err)
	}
	return []byte(p.JSON), nil
}

func (r *request) relax(p *strictjson.Patch) {
	switch choice := r.value("tool_choice"); {
	case choice.Str == "any", choice.Str == "required":
		p.Set("tool_choice", `{"type":"auto"}`)
	case choice.Get("type").Str == "any", choice.Get("type").Str == "tool":
		p.Set("tool_choice.type", `"auto"`)
		if choice.Get("name").Exists() {
			p.Delete("tool_choice.name")
		}
	}
}

// stay lets the provider's code, which may wait for the results of its calls, go
// on in the container it runs in.
func (r *request) stay(p *strictjson.Patch, container string) {
	if container == "" {
		return
	}
	switch asked := r.value("container"); {
	case asked.Type == gjson.Null:
		p.Set("container", container)
	case asked.IsObject() && asked.Get("id").Type == gjson.Null:
		p.Set("container.id", container)
	}
}
