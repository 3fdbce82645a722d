package chat

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/intercept"
)

// Settle implements [intercept.Answer].
func (a *answer) Settle(rulings []intercept.Ruling) (intercept.Settlement, error) {
	pending := a.pending()
	if len(rulings) != len(pending) {
		return intercept.Settlement{}, fmt.Errorf("%d rulings for %d calls", len(rulings), len(pending))
	}
	s := settling{answer: a, fates: make(map[*call]intercept.Ruling, len(pending))}
	for i, c := range pending {
		s.fates[c] = rulings[i]
		if rulings[i].Fate == intercept.Abort && s.aborted == nil {
			s.aborted = &rulings[i]
		}
	}
	return s.run()
}

// settling is the work of one Settle.
type settling struct {
	*answer
	fates   map[*call]intercept.Ruling
	aborted *intercept.Ruling
	plan    plan
}

func (s *settling) run() (intercept.Settlement, error) {
	if s.aborted == nil && s.unchanged() {
		if s.continuations == 0 {
			return intercept.Settlement{Bytes: s.asItCame()}, nil
		}
	} else if err := s.brokenCall(); err != nil {
		return intercept.Settlement{}, err
	}
	if c := s.continuable(); c != nil {
		return s.proceed(c)
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

func (s *settling) asItCame() []byte {
	if s.form == intercept.FormWhole {
		return s.upstream.Rest()
	}
	return s.kept.Bytes()
}

// brokenCall refuses to go on when a call whose beginning has reached the agent
// would have to change.
func (s *settling) brokenCall() error {
	for _, c := range s.choices {
		if !c.broken {
			continue
		}
		for _, call := range c.calls() {
			if r, judged := s.fates[call]; judged && r.Fate != intercept.Release {
				return intercept.NotUnderstood("a call of a tool that is allowed by name was not released, after its beginning had passed")
			}
		}
	}
	return nil
}

// reaches reports whether the agent gets the call.
func (s *settling) reaches(c *call) bool {
	if c.passed {
		return true
	}
	fate := s.fates[c].Fate
	return s.aborted == nil && (fate == intercept.Release || fate == intercept.Edit)
}

// continuable returns the choice whose calls were all denied and that heldcall
// can go on with by itself, nil if there is none.
func (s *settling) continuable() *choice {
	if s.aborted != nil || len(s.choices) != 1 || s.sent[s.choices[0].index].finish || s.continuations >= s.limits.MaxContinuations {
		return nil
	}
	c := s.choices[0]
	if len(c.calls()) == 0 {
		return nil
	}
	for _, call := range c.calls() {
		if s.reaches(call) {
			return nil
		}
	}
	return c
}

// identify returns the function that names the calls of a choice towards the
// model: by their own ids, or made-up ones where upstream gave none or gave one
// twice.
func (s *settling) identify(c *choice) func(*call) string {
	return func(call *call) string {
		taken := call.id == ""
		for i, other := range c.calls() {
			if other == call && taken {
				return intercept.MadeUpID(s.limits.TurnID, 2*s.continuations*maxCalls+i)
			}
			if other == call {
				break
			}
			taken = taken || other.id == call.id
		}
		return call.id
	}
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

// proceed tells the model of the denials and lets it go on.
func (s *settling) proceed(c *choice) (intercept.Settlement, error) {
	messages := s.told(c)
	body, err := extend(s.body, messages)
	if err != nil {
		return intercept.Settlement{}, fmt.Errorf("continue after a denial: %w", err)
	}
	var out []byte
	if s.form == intercept.FormStream {
		if out, err = s.remains(); err != nil {
			return intercept.Settlement{}, err
		}
	}
	s.text += intercept.Paragraph(s.text, c.said().text())
	s.goesOn = c.index
	s.hidden = append(s.hidden, messages...)
	s.spent = intercept.AddUsage(s.spent, []byte(s.usage))
	s.body, s.separated = body, false
	s.continuations++
	next := s.req.With(body)
	return intercept.Settlement{Bytes: out, Next: &next}, nil
}

// remains is what the agent gets of a stream whose calls were all denied: text
// that was held with them. The end comes with the continuation.
func (s *settling) remains() (out []byte, err error) {
	s.plan = plan{drop: func(*call) bool { return true }, open: true}
	for i := range s.kept.Len() {
		part, refs := s.kept.At(i)
		part, err := s.recast(part, refs, s.plan)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// finish ends the answer: the agent gets what was kept, edited or not, and a
// word about what was not where nothing else would be left.
func (s *settling) finish() (intercept.Settlement, error) {
	s.plan = s.finalPlan()
	hidden, err := s.records()
	if err != nil {
		return intercept.Settlement{}, err
	}
	var out []byte
	if s.form == intercept.FormWhole {
		out, err = s.finishWhole()
	} else {
		out, err = s.finishStream()
	}
	if err != nil {
		return intercept.Settlement{}, err
	}
	return intercept.Settlement{Bytes: out, Hidden: hidden}, nil
}

func (s *settling) finalPlan() plan {
	p := plan{drop: func(c *call) bool { return !s.reaches(c) }, edits: make(map[*call]string), notes: make(map[int]string), noted: make(map[int]bool)}
	for call, r := range s.fates {
		if r.Fate == intercept.Edit && s.aborted == nil {
			p.edits[call] = r.Arguments
		}
	}
	for _, c := range s.choices {
		if note := s.lastWord(c); note != "" {
			p.notes[c.index] = note
		}
	}
	return p
}

// lastWord is what the agent reads in a choice that lost all its calls. Nothing
// can stand behind an end that has gone out.
func (s *settling) lastWord(c *choice) string {
	if s.sent[c.index].finish {
		return ""
	}
	if s.aborted != nil {
		return s.aborted.Told
	}
	if len(c.calls()) == 0 || slices.ContainsFunc(c.calls(), s.reaches) {
		return ""
	}
	if s.continuations >= s.limits.MaxContinuations && len(s.choices) == 1 {
		return intercept.TooManyDenials(s.continuations + 1)
	}
	return intercept.ChoiceDenied()
}

// records describes what the agent did not see, a record for each choice, for
// the later requests of the conversation. Choices whose calls all went on
// unchanged in the first turn need none.
func (s *settling) records() (list [][]byte, err error) {
	if s.aborted != nil {
		return nil, nil // the run is over
	}
	for _, c := range s.choices {
		rec := s.record(c)
		if rec == nil {
			continue
		}
		raw, err := rec.encode()
		if err != nil {
			return nil, fmt.Errorf("describe a hidden turn: %w", err)
		}
		list = append(list, raw)
	}
	return list, nil
}

// before is what the agent has read in the choice in earlier turns.
func (a *answer) before(c *choice) string {
	if c.index != a.goesOn {
		return ""
	}
	return a.text
}

func (s *settling) record(c *choice) *record {
	said := c.said().text()
	before := s.before(c)
	rec := &record{Seen: intercept.Seen{Before: s.req.ending(), Text: before + intercept.Paragraph(before, said)}, LastText: said}
	if c.index == s.goesOn {
		rec.Turns = append(rec.Turns, s.hidden...)
	}
	id := s.identify(c)
	changed := len(rec.Turns) > 0
	for _, call := range c.calls() {
		if !s.reaches(call) {
			changed = true
			rec.LastCalls = append(rec.LastCalls, lastCall{Seen: -1, Entry: call.entry(id(call)), Denial: toolResult(id(call), s.fates[call].Told)})
			continue
		}
		seen := intercept.SeenCall{ID: call.id, Name: call.name}
		if r := s.fates[call]; r.Fate == intercept.Edit {
			changed = true
			seen.Note = r.Told
		}
		rec.LastCalls = append(rec.LastCalls, lastCall{Seen: len(rec.Calls)})
		rec.Calls = append(rec.Calls, seen)
	}
	if !changed {
		return nil
	}
	if note := s.plan.notes[c.index]; note != "" {
		rec.Turns = append(rec.Turns, s.told(c)...)
		rec.LastCalls = nil
		rec.LastText = note
		rec.Text += intercept.Paragraph(rec.Text, note)
	}
	return rec
}
