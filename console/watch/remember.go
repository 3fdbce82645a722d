package watch

import (
	"fmt"
	"slices"
	"strings"

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

// scopesOf are those that a grant for a request may have, narrowest first.
func scopesOf(r *approvals.Request) []approvals.GrantScope {
	all := []approvals.GrantScope{approvals.GrantSession, approvals.GrantAgent, approvals.GrantUser, approvals.GrantTenant}
	return slices.DeleteFunc(all, func(s approvals.GrantScope) bool {
		return len(r.RememberScopes) > 0 && !slices.Contains(r.RememberScopes, s) || s == approvals.GrantSession && r.SessionID == ""
	})
}

// covers says whose calls a scope is.
func covers(s approvals.GrantScope, r *approvals.Request) string {
	user := "the user " + r.Principal.User
	if r.Principal.User == "" {
		user = "nobody known"
	}
	agent := "the agent " + r.Principal.Agent
	if r.Principal.Agent == "" {
		agent = "agents without a name"
	}
	switch s {
	case approvals.GrantSession:
		return "this conversation"
	case approvals.GrantAgent:
		return agent + " of " + user
	case approvals.GrantUser:
		return "every agent of " + user
	}
	return "everybody in the tenant " + r.Principal.Tenant
}

// beginRemembering offers the patterns that policy suggests. The exact ones are chosen:
// one for each command of a script, all of which it takes. A wider one has a *.
func (m Model) beginRemembering() Model {
	if !m.mayDecide() {
		return m
	}
	r := m.current()
	scopes := scopesOf(r)
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
		m.memory.chosen[i] = !strings.Contains(pattern, "*")
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
	case !m.mayDecide():
		return m, nil
	case action == approvals.ActionAllowAlways && !m.shownWhole():
		return m.showMore(), nil
	}
	return m.send(approvals.Decision{Action: action, Patterns: patterns, Scope: m.memory.scopes[m.memory.scope]})
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
