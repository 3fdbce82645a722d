package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
)

// mostPatterns can be chosen by a digit each.
const mostPatterns = 9

// memory is what is remembered of a call once it is decided for good.
type memory struct {
	patterns []string
	chosen   []bool // of them
	scopes   []approvals.GrantScope
	scope    int // which of them
	lasts    int // which of lasting
}

// lasting are how long a grant may last; the first is what the gate takes where no end is
// named, 0 is until it is revoked.
var lasting = [...]time.Duration{approvals.DefaultGrantTime, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 0, time.Hour}

// howLong returns how long the grant lasts, in words.
func (y memory) howLong() string {
	switch hours := int(lasting[y.lasts].Hours()); {
	case hours == 0:
		return "until it is revoked"
	case hours == 1:
		return "for 1 hour"
	case hours <= 24:
		return fmt.Sprintf("for %d hours", hours)
	default:
		return fmt.Sprintf("for %d days", hours/24)
	}
}

// ends is when a grant ends that is decided now, as a decision has it.
func (y memory) ends(now time.Time) *time.Time {
	switch {
	case y.lasts == 0:
		return nil
	case lasting[y.lasts] == 0:
		return approvals.NeverExpires()
	}
	at := now.Add(lasting[y.lasts]).UTC()
	return &at
}

// with is the memory with one more pattern, which is chosen. Where there is no digit
// left it takes the place of the last.
func (y memory) with(pattern string) memory {
	y.patterns, y.chosen = slices.Clone(y.patterns), slices.Clone(y.chosen)
	if at := slices.Index(y.patterns, pattern); at >= 0 {
		y.chosen[at] = true
		return y
	}
	if len(y.patterns) == mostPatterns {
		y.patterns, y.chosen = y.patterns[:mostPatterns-1], y.chosen[:mostPatterns-1]
	}
	y.patterns, y.chosen = append(y.patterns, pattern), append(y.chosen, true)
	return y
}

// taken are the patterns that are chosen.
func (y memory) taken() []string {
	var taken []string
	for i, chosen := range y.chosen {
		if chosen {
			taken = append(taken, y.patterns[i])
		}
	}
	return taken
}

// beginRemembering offers the patterns that policy suggests.
func (m Model) beginRemembering() Model {
	if !m.mayDecide(false) {
		return m
	}
	r := m.current()
	scopes := r.GrantScopesOf()
	if !r.AllowRemember || len(scopes) == 0 {
		m.notice = "This call cannot be remembered: its rule does not permit it."
		return m
	}
	if r.RequiredApprovals > 1 {
		m.notice = fmt.Sprintf("This call cannot be remembered: it takes %d approvals.", r.RequiredApprovals)
		return m
	}
	m.mode = remembering
	m.memory = memory{patterns: r.SuggestedPatterns[:min(len(r.SuggestedPatterns), mostPatterns)], scopes: scopes}
	m.memory.chosen = make([]bool, len(m.memory.patterns))
	for i, pattern := range m.memory.patterns {
		m.memory.chosen[i] = slices.Contains(r.DefaultGrant().Patterns, pattern)
	}
	return m
}

// remember is the keys while patterns are chosen.
func (m Model) remember(key tea.KeyPressMsg) (Model, tea.Cmd) {
	switch name := key.String(); name {
	case "esc", "q":
		m.mode, m.notice = browsing, ""
	case "a":
		return m.sendMemory(approvals.ActionAllowAlways)
	case "d":
		return m.sendMemory(approvals.ActionDenyAlways)
	case "s":
		m.memory.scope = (m.memory.scope + 1) % len(m.memory.scopes)
	case "l":
		m.memory.lasts = (m.memory.lasts + 1) % len(lasting)
	case "t":
		m.mode, m.input, m.notice = patterning, "", ""
	default:
		if len(name) == 1 && name[0] >= '1' && int(name[0]-'1') < len(m.memory.chosen) {
			m.memory.chosen = slices.Clone(m.memory.chosen)
			m.memory.chosen[name[0]-'1'] = !m.memory.chosen[name[0]-'1']
		}
	}
	return m, nil
}

func (m Model) sendMemory(action approvals.Action) (Model, tea.Cmd) {
	patterns := m.memory.taken()
	switch {
	case len(patterns) == 0:
		m.notice = "Choose a pattern first, or type one with t."
		return m, nil
	case !m.mayDecide(action == approvals.ActionAllowAlways):
		return m, nil
	case action == approvals.ActionAllowAlways && !m.shownWhole():
		return m.showMore(), nil
	}
	return m.send(approvals.Decision{Action: action, Patterns: patterns, Scope: m.memory.scopes[m.memory.scope], GrantExpiresAt: m.memory.ends(m.now)})
}

// patternTyped takes a pattern that was typed among those to choose from.
func (m Model) patternTyped() Model {
	if pattern := strings.TrimSpace(m.input); pattern != "" {
		m.memory = m.memory.with(pattern)
	}
	m.mode, m.input = remembering, ""
	return m
}

// example is a pattern as they are written.
func (m Model) example() string {
	if len(m.memory.patterns) > 0 {
		return m.memory.patterns[0]
	}
	return "bash(git *)"
}
