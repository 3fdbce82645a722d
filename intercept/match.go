package intercept

import (
	"slices"
	"strings"
	"unicode"
)

// Remembered is a record of an answer with hidden parts. It embeds a [TurnFingerprint].
type Remembered interface{ seen() *TurnFingerprint }

func (s *TurnFingerprint) seen() *TurnFingerprint { return s }

// Found is the answer of a record in a history.
type Found struct {
	Record int // its place in the list of records
	// Text and Calls report that the agent's history has the text, and the calls,
	// unchanged. Changed ones are kept as the agent has them.
	Text, Calls bool
	// Sure reports that the history identifies the answer. Otherwise the place is only
	// probable: see [Match].
	Sure bool
	// Unique reports that the place has an id of the answer that no other conversation has.
	Unique bool
}

// Placement is an answer that was found in a request's history.
type Placement struct {
	Turn   string // id of the answer, "" in records of older versions
	Sure   bool   // see [Found]
	Unique bool   // see [Found]
}

// ParallelConversation is the record of another conversation with the same opening under
// the same key. Then a position alone identifies no answer.
func ParallelConversation() []byte { return []byte(`{"parallel":true}`) }

// Match finds the echo of each answer that the agent has seen, by its place in echoes.
//
// Unique call ids decide alone, whatever the agent has made of the text. Repeated ids, as
// of providers that number the calls of each answer, decide together with the position:
// the same message precedes the answer. The text decides only if there are no calls.
// White space and reasoning in <think> marks do not count.
//
// Otherwise the answer gets its probable place, which is the same in each later request:
// the first echo with one of its ids, the first after the same message, or the first with
// the same calls. [Found.Sure] is false then. Without such an echo the answer is not in
// the history.
func Match(opening string, echoes []HistoryTurn, seen []*TurnFingerprint) map[int]Found {
	m := matcher{opening: opening, echoes: echoes, found: make(map[int]Found)}
	for _, s := range seen {
		m.parallel = m.parallel || s.Parallel
	}
	rest := seen
	for tier, place := range []func(*TurnFingerprint) int{m.exact, m.byPosition, m.only, m.probable} {
		rest = m.place(seen, rest, place, tier < 3)
	}
	return m.found
}

type matcher struct {
	opening  string
	echoes   []HistoryTurn
	parallel bool // see [ParallelConversation]
	found    map[int]Found
}

// place gives each answer of rest the echo that at finds, and returns the answers for which
// there is none. All has the answers of all records.
func (m *matcher) place(all, rest []*TurnFingerprint, at func(*TurnFingerprint) int, sure bool) (left []*TurnFingerprint) {
	for _, s := range rest {
		if s.Parallel {
			continue
		}
		i := at(s)
		if i < 0 {
			left = append(left, s)
			continue
		}
		e := &m.echoes[i]
		m.found[i] = Found{Record: slices.Index(all, s), Text: s.sawText(e), Calls: s.sawCalls(e), Sure: sure, Unique: s.shares(e)}
	}
	return left
}

// first returns the first wanted echo that no other answer has, or -1.
func (m *matcher) first(wanted func(*HistoryTurn) bool) int {
	for i := range m.echoes {
		if _, taken := m.found[i]; !taken && wanted(&m.echoes[i]) {
			return i
		}
	}
	return -1
}

func (s *TurnFingerprint) follows(e *HistoryTurn) bool { return e.Before != "" && e.Before == s.Before }

// exact finds the echo at the position of the answer with its calls and its text.
func (m *matcher) exact(s *TurnFingerprint) int {
	return m.first(func(e *HistoryTurn) bool { return s.follows(e) && s.saw(e) })
}

// byPosition finds the echo at the position of the answer with its calls.
func (m *matcher) byPosition(s *TurnFingerprint) int {
	if len(s.Calls) == 0 {
		return -1
	}
	return m.first(func(e *HistoryTurn) bool { return s.follows(e) && s.sawCalls(e) })
}

// only finds the echo of the answer if it is the only one: agents shorten and rewrite the
// messages before it. Repeated ids count with the text, and in a conversation with the
// same opening.
func (m *matcher) only(s *TurnFingerprint) int {
	only := -1
	for i := range m.echoes {
		e := &m.echoes[i]
		switch {
		case len(s.Calls) == 0 && !s.sawItems(e), !s.sawCalls(e):
			continue
		case s.shares(e) && (len(s.Calls) > 0 || s.sawText(e)):
		case !s.sawText(e) || !m.sameOpening(s):
			continue
		}
		if only >= 0 {
			return -1
		}
		only = i
	}
	if _, taken := m.found[only]; taken {
		return -1
	}
	return only
}

func (m *matcher) sameOpening(s *TurnFingerprint) bool {
	return s.Opening == "" || s.Opening == m.opening
}

// probable finds the first echo that is probably the answer.
func (m *matcher) probable(s *TurnFingerprint) int {
	if at := m.first(s.shares); at >= 0 || s.telling() || m.parallel || s.Opening == "" || s.Opening != m.opening {
		return at
	}
	if len(s.Calls) == 0 {
		return m.first(func(e *HistoryTurn) bool { return s.follows(e) && len(e.Calls) == 0 })
	}
	return m.first(s.sawCalls)
}

// shares reports whether an echo has a unique id of the answer.
func (s *TurnFingerprint) shares(e *HistoryTurn) bool {
	return slices.ContainsFunc(e.Calls, func(c CallFingerprint) bool {
		return telling(c.ID, c.Name) && slices.ContainsFunc(s.Calls, func(seen CallFingerprint) bool { return seen.ID == c.ID && seen.Name == c.Name })
	}) || slices.ContainsFunc(e.Items, func(id string) bool { return telling(id, "") && slices.Contains(s.Items, id) })
}

// telling reports whether the answer has a call with a unique id.
func (s *TurnFingerprint) telling() bool {
	return slices.ContainsFunc(s.Calls, func(c CallFingerprint) bool { return telling(c.ID, c.Name) })
}

// saw reports whether an echo has the calls and the text of the answer.
func (s *TurnFingerprint) saw(e *HistoryTurn) bool { return s.sawCalls(e) && s.sawText(e) }

// sawText reports whether an echo has the text of the answer. Some agents omit the text
// beside calls, or refer to it by its id.
func (s *TurnFingerprint) sawText(e *HistoryTurn) bool {
	if e.Long {
		return false
	}
	return SameText(e.Text, s.Text) || (strings.TrimSpace(e.Text) == "" && (len(s.Calls) > 0 || s.sawItems(e)))
}

// sawItems reports whether an echo consists of items of the answer, by their ids.
func (s *TurnFingerprint) sawItems(e *HistoryTurn) bool {
	for _, id := range e.Items {
		if !slices.Contains(s.Items, id) {
			return false
		}
	}
	return len(e.Items) > 0
}

func (s *TurnFingerprint) sawCalls(e *HistoryTurn) bool {
	if len(e.Calls) != len(s.Calls) {
		return false
	}
	for i, c := range e.Calls {
		seen := s.Calls[i]
		if c.Name != seen.Name || (seen.ID != "" && c.ID != seen.ID) || (c.Input != "" && seen.Input != "" && c.Input != seen.Input) {
			return false
		}
	}
	return true
}

// SameText reports whether two texts are equal without white space and reasoning in
// <think> marks, which agents keep, trim or remove.
func SameText(a, b string) bool {
	return a == b || StripSpace(a) == StripSpace(b) || StripSpace(withoutReasoning(a)) == StripSpace(withoutReasoning(b))
}

// StripSpace is text without white space.
func StripSpace(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// reasoningMarks enclose the reasoning of models without a reasoning field.
var reasoningMarks = [...]struct{ open, end string }{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}}

// withoutReasoning is text without the reasoning in marks. Some models omit the first
// opening mark.
func withoutReasoning(text string) string {
	for _, mark := range reasoningMarks {
		if !strings.Contains(text, mark.end) {
			continue
		}
		var b strings.Builder
		for {
			before, after, found := strings.Cut(text, mark.end)
			if !found {
				b.WriteString(text)
				break
			}
			visible, _, opened := strings.Cut(before, mark.open)
			if opened || b.Len() > 0 {
				b.WriteString(visible)
			}
			text = after
		}
		text = b.String()
	}
	return text
}
