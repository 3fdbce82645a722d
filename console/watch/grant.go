package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

const mostPatterns = 9

type grantDraft struct {
	patterns []string
	chosen   []bool            // of them
	effects  map[string]string // by pattern: what it allows and would have covered; nil: not known
	scopes   []approvals.GrantScope
	scope    int // which of them
	lasts    int // which of lasting
}

// lasting are the durations of grants that can be chosen; the first is the gate's default,
// 0 is until it is revoked.
var lasting = [...]time.Duration{approvals.DefaultGrantTime, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 0, time.Hour}

func (d grantDraft) howLong() string {
	switch hours := int(lasting[d.lasts].Hours()); {
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

// ends returns the end of a grant that is decided now, as a field of the decision.
func (d grantDraft) ends(now time.Time) *time.Time {
	switch {
	case d.lasts == 0:
		return nil
	case lasting[d.lasts] == 0:
		return approvals.NeverExpires()
	}
	at := now.Add(lasting[d.lasts]).UTC()
	return &at
}

// with returns the draft with one more pattern, which is chosen. Where there is no digit
// left it replaces the last.
func (d grantDraft) with(pattern string) grantDraft {
	d.patterns, d.chosen = slices.Clone(d.patterns), slices.Clone(d.chosen)
	if at := slices.Index(d.patterns, pattern); at >= 0 {
		d.chosen[at] = true
		return d
	}
	if len(d.patterns) == mostPatterns {
		d.patterns, d.chosen = d.patterns[:mostPatterns-1], d.chosen[:mostPatterns-1]
	}
	d.patterns, d.chosen = append(d.patterns, pattern), append(d.chosen, true)
	return d
}

// describe sets the effects of patterns that cover more than one call.
func (d *grantDraft) describe(items []approvals.Suggestion) {
	d.effects = map[string]string{}
	for _, one := range items {
		if !strings.Contains(one.Pattern, "*") {
			continue
		}
		d.effects[one.Pattern] = fmt.Sprintf("allows %s; would have covered %d of the last %d", one.Allows, one.Covered, one.Of)
	}
}

func (d grantDraft) taken() []string {
	var taken []string
	for i, chosen := range d.chosen {
		if chosen {
			taken = append(taken, d.patterns[i])
		}
	}
	return taken
}

// newGrantDraft offers the patterns that policy suggests for a request, of which those of
// its default grant are chosen.
func newGrantDraft(r *approvals.Request, scopes []approvals.GrantScope) grantDraft {
	d := grantDraft{patterns: r.SuggestedPatterns[:min(len(r.SuggestedPatterns), mostPatterns)], scopes: scopes}
	d.chosen = make([]bool, len(d.patterns))
	for i, pattern := range d.patterns {
		d.chosen[i] = slices.Contains(r.DefaultGrant().Patterns, pattern)
	}
	return d
}

func (d *grantDraft) choose(key string) {
	switch {
	case key == "s":
		d.scope = (d.scope + 1) % len(d.scopes)
	case key == "l":
		d.lasts = (d.lasts + 1) % len(lasting)
	case len(key) == 1 && key[0] >= '1' && int(key[0]-'1') < len(d.chosen):
		d.chosen = slices.Clone(d.chosen)
		d.chosen[key[0]-'1'] = !d.chosen[key[0]-'1']
	}
}

func (d grantDraft) decision(action approvals.Action, now time.Time) approvals.Decision {
	return approvals.Decision{Action: action, Patterns: d.taken(), Scope: d.scopes[d.scope], GrantExpiresAt: d.ends(now)}
}

func (d grantDraft) example() string {
	if len(d.patterns) > 0 {
		return d.patterns[0]
	}
	return "bash(git *)"
}
