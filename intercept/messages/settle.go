package messages

import (
	"cmp"
	"slices"

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
		if !s.recasts() && !s.irregular && s.alike() {
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

// planned is what is left of a part by the plan.
func (s *settling) planned(part []byte, about []*block) ([]byte, error) {
	return s.recast(part, about, &s.plan)
}

func (s *settling) asItCame() []byte { return s.upstream.AsItCame(s.kept.Bytes()) }

// brokenCall refuses to go on when a call whose beginning has reached the agent
// would have to change.
func (s *settling) brokenCall() error {
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
