package messages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// continuable reports whether all calls were denied and heldcall can go on by
// itself.
func (s *settling) continuable() bool {
	return s.aborted == nil && s.ends == "" && s.continuations < s.limits.MaxContinuations && s.bereft()
}

// proceed tells the model of the denials and lets it go on.
func (s *settling) proceed() (intercept.Settlement, error) {
	messages := s.told()
	body, err := extend(s.body, messages, s.container)
	if err != nil {
		return intercept.Settlement{}, fmt.Errorf("continue after a denial: %w", err)
	}
	var out []byte
	if s.upstream.Kind() == intercept.FormStream {
		if out, err = s.remains(); err != nil {
			return intercept.Settlement{}, err
		}
	}
	s.settleTurn()
	s.hidden = append(s.hidden, messages...)
	s.body = body
	s.continuations++
	next := s.req.With(body)
	return intercept.Settlement{Bytes: out, Next: &next}, nil
}

// told is what the model said in its last attempt and what it is told about each
// call, as two messages.
func (s *settling) told() []string {
	var said, results []string
	for _, b := range s.blocks {
		if b.attempt != s.attempt {
			continue
		}
		said = append(said, b.render(s.identify(b)))
		if b.call != nil {
			results = append(results, toolResult(s.identify(b), s.fates[b].Told))
		}
	}
	return []string{assistantMessage(said), userMessage(results)}
}

// identify names a call towards the model: by its own id, or a made-up one where
// upstream gave none or gave one twice.
func (s *settling) identify(call *block) string {
	if call.call == nil {
		return ""
	}
	taken := call.call.id == ""
	for i, b := range s.blocks {
		if b == call {
			if taken {
				return intercept.MadeUpID(s.limits.TurnID, 2*s.continuations*maxBlocks+i)
			}
			break
		}
		taken = taken || b.call != nil && b.call.id == call.call.id
	}
	return call.call.id
}

// remains is what the agent gets of a stream whose calls were all denied: what
// was held with them. The end comes with the continuation.
func (s *settling) remains() ([]byte, error) {
	s.plan = plan{drop: s.drops, open: true}
	out, err := s.kept.Render(s.planned)
	if err != nil {
		return nil, err
	}
	return append(out, s.closings(s.drops)...), nil
}

// settleTurn adds what the agent has got of the current turn to the past.
func (s *settling) settleTurn() {
	s.text += intercept.Paragraph(s.text, s.said())
	s.spent = intercept.AddUsage(s.spent, []byte(s.turn.usage))
	for _, b := range s.blocks {
		if s.drops(b) {
			continue
		}
		raw := b.render("")
		s.seen = append(s.seen, piece{Key: key(raw), Before: true})
		s.thinking = thinks(raw)
		s.base++
		if s.upstream.Kind() == intercept.FormWhole {
			s.whole = append(s.whole, raw)
		}
	}
}

// records describes what the agent did not see, for the later requests of the
// conversation. An answer whose calls all went on unchanged in the first turn
// needs none.
func (s *settling) records() ([][]byte, error) {
	if s.aborted != nil || s.failed {
		return nil, nil // the run, or the answer, is over
	}
	rec := s.record()
	if rec == nil {
		return nil, nil
	}
	raw, err := rec.encode()
	if err != nil {
		return nil, fmt.Errorf("describe a hidden turn: %w", err)
	}
	return [][]byte{raw}, nil
}

func (s *settling) record() *record {
	rec := &record{Turns: slices.Clone(s.hidden), Pieces: slices.Clone(s.seen)}
	rec.Seen = intercept.Seen{Turn: s.limits.TurnID, Before: s.req.ending(), Opening: intercept.Opening(s.req.opening()), Text: intercept.Squash(s.text + s.said() + s.plan.note)}
	changed := len(rec.Turns) > 0
	bereft := s.bereft()
	for _, b := range s.blocks {
		raw := b.render(s.identify(b))
		if !s.reaches(b) {
			changed = true
			if !bereft {
				rec.Pieces = append(rec.Pieces, piece{Raw: raw})
				rec.Results = append(rec.Results, toolResult(s.identify(b), s.fates[b].Told))
			}
			continue
		}
		past := b.attempt != s.attempt && b.call == nil // the model knows nothing of it
		changed = changed || past
		p := piece{Key: key(raw), Raw: raw, Before: bereft || past}
		if b.call != nil {
			p.Raw = ""
			seen := intercept.NewSeenCall(b.call.id, b.call.name, b.call.arguments())
			if r := s.fates[b]; r.Fate == intercept.Edit {
				changed = true
				seen = intercept.NewSeenCall(b.call.id, b.call.name, r.Arguments)
				seen.Note = r.Told
			}
			rec.Calls = append(rec.Calls, seen)
		}
		rec.Pieces = append(rec.Pieces, p)
	}
	if !changed {
		return nil
	}
	if bereft {
		rec.Turns = append(rec.Turns, s.told()...)
	}
	if note := s.plan.note; note != "" {
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
	p := intercept.Patch{JSON: string(intercept.Replace(body, at, intercept.AppendItems(r.Field("messages"), messages...)))}
	r.relax(&p)
	r.stay(&p, container)
	if p.Err != nil {
		return nil, fmt.Errorf("extend the request: %w", p.Err)
	}
	return []byte(p.JSON), nil
}

func (r *request) relax(p *intercept.Patch) {
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
func (r *request) stay(p *intercept.Patch, container string) {
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
