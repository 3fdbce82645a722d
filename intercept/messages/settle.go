package messages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/intercept"
)

// Settle implements [intercept.Answer].
func (a *answer) Settle(rulings []intercept.Ruling) (intercept.Settlement, error) {
	s := settling{answer: a, fates: make(map[*block]intercept.Ruling), ends: intercept.Ends(rulings)}
	var err error
	if s.aborted, err = intercept.Assign(s.fates, a.pending(), rulings); err != nil {
		return intercept.Settlement{}, err
	}
	return s.run()
}

// settling is the work of one Settle.
type settling struct {
	*answer
	fates   map[*block]intercept.Ruling
	aborted *intercept.Ruling
	ends    string // what the agent reads instead of a continuation, "" where there may be one
	plan    plan
}

func (s *settling) run() (intercept.Settlement, error) {
	if s.aborted == nil && s.unchanged() {
		if !s.recasts() && !s.irregular {
			return intercept.Settlement{Bytes: s.asItCame()}, nil
		}
	} else if err := s.brokenCall(); err != nil {
		return intercept.Settlement{}, err
	}
	if s.continuable() {
		return s.proceed()
	}
	return s.finish()
}

// unchanged reports whether every call goes on as the model made it.
func (s *settling) unchanged() bool {
	for _, r := range s.fates {
		if r.Fate != intercept.Release {
			return false
		}
	}
	return true
}

func (s *settling) asItCame() []byte { return s.upstream.AsItCame(s.kept.Bytes()) }

// brokenCall refuses to go on when a call whose beginning has reached the agent
// would have to change, or when some clients have one in their message that others
// have not.
func (s *settling) brokenCall() error {
	for _, b := range s.blocks {
		if b.call != nil && b.attempt < s.since {
			return intercept.NotUnderstood("the message starts twice, after a call had passed")
		}
	}
	for b, r := range s.fates {
		if b.call.broken && (r.Fate != intercept.Release || s.aborted != nil) {
			return intercept.NotUnderstood("a call of a tool that is allowed by name was not released, after its beginning had passed")
		}
	}
	return nil
}

// reaches reports whether the agent gets the block.
func (s *settling) reaches(b *block) bool {
	if b.call == nil || b.call.passed {
		return true
	}
	fate := s.fates[b].Fate
	return s.aborted == nil && (fate == intercept.Release || fate == intercept.Edit)
}

func (s *settling) drops(b *block) bool { return !s.reaches(b) }

// bereft reports whether the answer had calls and none of them reaches the agent.
func (s *settling) bereft() bool {
	return slices.ContainsFunc(s.blocks, (*block).isCall) && !s.calls()
}

// calls reports whether the agent gets a call.
func (s *settling) calls() bool {
	return slices.ContainsFunc(s.blocks, func(b *block) bool { return b.isCall() && s.reaches(b) })
}

// continuable reports whether all calls were denied and heldcall can go on by
// itself.
func (s *settling) continuable() bool {
	return s.aborted == nil && s.ends == "" && s.continuations < s.limits.MaxContinuations && s.bereft()
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

// remains is what the agent gets of a stream whose calls were all denied: what
// was held with them. The end comes with the continuation.
func (s *settling) remains() (out []byte, err error) {
	s.plan = plan{drop: s.drops, open: true}
	for i := range s.kept.Len() {
		part, about := s.kept.At(i)
		part, err := s.recast(part, about, &s.plan)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
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
		if b.attempt >= s.since {
			s.base++
		}
		if s.upstream.Kind() == intercept.FormWhole {
			s.whole = append(s.whole, raw)
		}
	}
}

// finish ends the answer: the agent gets what was kept, edited or not, and a word
// about what was not where nothing else would be left.
func (s *settling) finish() (intercept.Settlement, error) {
	s.plan = plan{drop: s.drops, edits: make(map[*call]string), note: s.lastWord()}
	for b, r := range s.fates {
		if r.Fate == intercept.Edit && s.aborted == nil {
			s.plan.edits[b.call] = r.Arguments
		}
	}
	hidden, err := s.records()
	if err != nil {
		return intercept.Settlement{}, err
	}
	var out []byte
	if s.upstream.Kind() == intercept.FormWhole {
		out, err = s.finishWhole()
	} else {
		out, err = s.finishStream()
	}
	if err != nil {
		return intercept.Settlement{}, err
	}
	return intercept.Settlement{Bytes: out, Hidden: hidden}, nil
}

// lastWord is what the agent reads in a message that lost all its calls.
func (s *settling) lastWord() string {
	switch {
	case s.failed:
		return ""
	case s.aborted != nil:
		return s.aborted.Told
	case s.bereft():
		return cmp.Or(s.ends, intercept.TooManyDenials(s.continuations+1))
	case s.continuations > 0 && s.silent():
		return intercept.CallsDenied()
	}
	return ""
}

// silent reports whether the message would end without a word: providers do not
// take it back if it is empty or ends in thinking.
func (s *settling) silent() bool {
	if s.calls() || s.stop == "pause_turn" || s.stop == "refusal" {
		return false
	}
	for i := len(s.blocks) - 1; i >= 0; i-- {
		if b := s.blocks[i]; s.reaches(b) {
			return thinks(b.opened)
		}
	}
	return s.base == 0 || s.thinking
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
	rec.Seen = intercept.Seen{Before: s.req.ending(), Opening: intercept.Opening(s.req.opening()), Text: squash(s.text + s.said() + s.plan.note)}
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
