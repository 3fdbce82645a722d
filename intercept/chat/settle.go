package chat

import (
	"cmp"

	"github.com/heldcall/heldcall/intercept"
)

// ruled is what became of the calls of an answer.
type ruled struct {
	fates   map[*call]intercept.Ruling
	aborted *intercept.Ruling // what stopped the run
	more    bool              // the answer goes on behind the current body: what ends it is left out
}

// Settle implements [intercept.Answer].
func (a *answer) Settle(rulings []intercept.Ruling) (intercept.Settlement, error) {
	pending := a.pending()
	if len(pending) == 0 && len(rulings) == 0 && a.going == nil {
		return intercept.Settlement{Bytes: a.asItCame()}, nil
	}
	if a.fates == nil {
		a.fates = make(map[*call]intercept.Ruling, len(pending))
	}
	aborted, err := intercept.Assign(a.fates, pending, rulings)
	if err != nil {
		return intercept.Settlement{}, err
	}
	if a.aborted == nil {
		a.aborted = aborted
	}
	s := settling{answer: a, unchanged: true, ends: intercept.Ends(rulings)}
	for _, c := range a.choices {
		s.unchanged = s.unchanged && !a.changed(c)
	}
	return s.run()
}

// settling is the work of one Settle.
type settling struct {
	*answer
	unchanged bool   // every call of the body goes on as it came
	ends      string // what the agent reads instead of a continuation, "" where there may be one
}

func (s *settling) run() (intercept.Settlement, error) {
	if s.unchanged {
		if s.going == nil {
			return intercept.Settlement{Bytes: s.asItCame()}, nil
		}
	} else if err := s.brokenCall(); err != nil {
		return intercept.Settlement{}, err
	}
	if err := s.conclude(); err != nil {
		return intercept.Settlement{}, err
	}
	out, err := s.render()
	if err != nil {
		return intercept.Settlement{}, err
	}
	if s.more {
		return s.proceed(s.waiting(), out)
	}
	return intercept.Settlement{Bytes: out, Hidden: s.records}, nil
}

func (a *answer) asItCame() []byte { return a.upstream.AsItCame(a.kept.Bytes()) }

// brokenCall refuses to go on when a call whose beginning has reached the agent
// would have to change.
func (s *settling) brokenCall() error {
	for _, c := range s.choices {
		for _, call := range c.calls() {
			if r, judged := s.fates[call]; judged && call.begun && r.Fate != intercept.Release {
				return intercept.NotUnderstood("a call of a tool that is allowed by name was not released, after its beginning had passed")
			}
		}
	}
	return nil
}

// reaches reports whether the agent gets the call.
func (a *answer) reaches(c *call) bool {
	if c.passed {
		return true
	}
	fate := a.fates[c].Fate
	return a.aborted == nil && (fate == intercept.Release || fate == intercept.Edit)
}

// conclude decides of each choice of the body whether it goes on, and if not,
// what the agent reads in it and what is remembered of it. Behind an error of
// upstream's none goes on.
func (s *settling) conclude() error {
	for _, c := range s.choices {
		if s.goesOn(c) {
			if err := s.tell(c); err != nil {
				return err
			}
			continue
		}
		c.lane.note = s.lastWord(c)
		if err := s.remember(c); err != nil {
			return err
		}
	}
	if s.aborted != nil {
		s.stop()
	}
	s.more = !s.failed && s.waiting() != nil
	return nil
}

// goesOn reports whether heldcall continues a choice by itself: its calls were
// all denied, its end has not gone out, and no bound is reached.
func (s *settling) goesOn(c *choice) bool {
	if s.aborted != nil || s.failed || s.ends != "" || c.lane.finish || c.lane.turns >= s.limits.MaxContinuations {
		return false
	}
	return s.lostAll(c)
}

// lostAll reports whether the choice had calls and the agent gets none of them.
func (a *answer) lostAll(c *choice) bool {
	calls := c.calls()
	for _, call := range calls {
		if a.reaches(call) {
			return false
		}
	}
	return len(calls) > 0
}

// lastWord is what the agent reads in a choice that lost all its calls and does
// not go on. Nothing can stand behind an end that has gone out.
func (s *settling) lastWord(c *choice) string {
	if c.lane.finish || !s.lostAll(c) {
		return ""
	}
	return cmp.Or(s.ends, intercept.TooManyDenials(c.lane.turns+1))
}

// stop ends every choice that has not ended, because the run was stopped. It is
// over, so nothing need be remembered of it.
func (s *settling) stop() {
	for _, l := range s.lanes {
		l.waits = false
		if !l.finish {
			l.note = s.aborted.Told
		}
	}
	s.records = nil
}

// render is what the agent gets of what was kept. A whole answer waits until all
// its choices are done.
func (s *settling) render() ([]byte, error) {
	switch {
	case s.upstream.Kind() == intercept.FormStream:
		return s.finishStream()
	case s.more:
		return nil, nil
	}
	return s.finishWhole()
}
