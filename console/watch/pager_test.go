package watch

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// A line counts as seen once every line before it has been on the screen.
func TestPagerNotesSeenLines(t *testing.T) {
	space, end, home := tea.KeyPressMsg{Code: tea.KeySpace}, tea.KeyPressMsg{Code: 'G', Text: "G"}, tea.KeyPressMsg{Code: 'g', Text: "g"}
	down, up := tea.KeyPressMsg{Code: tea.KeyDown}, tea.KeyPressMsg{Code: tea.KeyUp}
	for name, c := range map[string]struct {
		keys      []tea.KeyPressMsg
		top, seen int
	}{
		"nothing pressed":            {nil, 0, 5},
		"a line":                     {[]tea.KeyPressMsg{down, down, up}, 1, 7},
		"a screen keeps one line":    {[]tea.KeyPressMsg{space}, 4, 9},
		"to the end jumps over":      {[]tea.KeyPressMsg{end}, 15, 5},
		"back from the end":          {[]tea.KeyPressMsg{end, home, space}, 4, 9},
		"not above the first":        {[]tea.KeyPressMsg{up}, 0, 5},
		"screen by screen sees all":  {[]tea.KeyPressMsg{space, space, space, space, space}, 15, 20},
		"to the end after the whole": {[]tea.KeyPressMsg{space, space, space, space, end}, 15, 20},
	} {
		t.Run(name, func(t *testing.T) {
			p := pager{page: page{lines: make([]string, 20), callEnd: 20}}
			p.fit(5, false)
			for _, key := range c.keys {
				p.scroll(key, 5)
				p.fit(5, false)
			}
			if p.top != c.top || p.seen != c.seen {
				t.Errorf("the first line is %d, seen are %d, want %d and %d", p.top, p.seen, c.top, c.seen)
			}
			if got, want := p.shownWhole(), c.seen == 20; got != want {
				t.Errorf("shown whole is %v", got)
			}
		})
	}
}

func TestPagerDoesNotCountCoveredLines(t *testing.T) {
	p := pager{page: page{lines: make([]string, 3), callEnd: 3}}
	if p.fit(5, true); p.shownWhole() {
		t.Error("lines below the help count as seen")
	}
	if p.fit(5, false); !p.shownWhole() {
		t.Error("a page that fits the screen does not count as seen")
	}
	if p.restart(); p.shownWhole() {
		t.Error("a page counts as seen before it is drawn")
	}
}
