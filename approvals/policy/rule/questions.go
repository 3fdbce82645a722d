package rule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// Questions are the settings of tools by which models ask people.
type Questions struct {
	Offer   []string      // of [questions.Offers], in their order; none: no tool is offered
	Always  bool          // also to agents that offer the model no tools
	Timeout time.Duration // how long people have to answer; 0: [questions.Timeout] or [questions.ParkedTimeout]
}

func (r *reader) readQuestions(n *yaml.Node, path string, to *Questions) {
	offers := questions.Offers()
	var named []string
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "offer", Read: func(n *yaml.Node, path string) {
			r.List(n, path, "questions", func(n *yaml.Node, path string) { named = append(named, r.OneOf(n, path, offers)) })
		}},
		{Name: "always", Read: r.SetBool(&to.Always)},
		{Name: "timeout", Read: func(n *yaml.Node, path string) { to.Timeout = r.Duration(n, path) }},
	})
	to.Offer = slices.DeleteFunc(offers, func(name string) bool { return !slices.Contains(named, name) })
}

// AsksPeople reports whether the policy gives the calls of an agent's own tool to people as
// questions.
func (p *Set) AsksPeople(tool string) bool {
	t := p.Known.Tool(tool)
	return t != nil && t.Question
}

// onlyQuestions reports whether a pattern is for a tool whose calls are questions: no rule
// judges them.
func (p *Set) onlyQuestions(of *Pattern) bool {
	return of.Tool.Literal() && p.AsksPeople(of.Tool.Text())
}

// questionWarnings returns one sentence for each pattern without effect.
func (p *Set) questionWarnings() (warnings []string) {
	patterns := slices.Concat(p.Deny.All, p.Ask.All, p.Allow.All, p.Rewrite.All)
	slices.SortStableFunc(patterns, func(a, b *Pattern) int { return cmp.Compare(a.Line, b.Line) })
	for _, pattern := range patterns {
		if p.onlyQuestions(pattern) {
			warnings = append(warnings, fmt.Sprintf("%s: %s has no effect: calls of this tool are questions to people.", pattern.Where, pattern.Text))
		}
	}
	return warnings
}
