package call

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// lookBeyond checks the arguments beside the resource: other paths, working folders, unknown ones.
func (p *parser) lookBeyond() {
	p.lookBelow()
	p.lookFolder()
	p.lookUnknown(p.members, true, p.c.Tool.Fields, p.c.Tool.Workdir)
	p.lookFilters()
}

func (p *parser) goesBeyond(why string) {
	if p.c.Partial == "" {
		p.c.Partial = why
	}
}

// lookBelow notes arguments that must name something below the path and may not.
func (p *parser) lookBelow() {
	for _, name := range p.c.Tool.Below {
		for _, v := range match.ValuesAt(p.members, []string{name}) {
			if v.Kind != '"' || !match.StaysBelow(v.Text) || strings.Contains(v.Text, "..") || strings.Contains(v.Text, `\`) {
				p.goesBeyond(fmt.Sprintf("The call has the argument %s, which may lead out of the folder of its path.", name))
			}
		}
	}
}

// lookFolder notes a working folder outside the agent's own and the workspace, unless the policy
// permits any.
func (p *parser) lookFolder() {
	if p.c.Kind != Shell {
		return
	}
	for _, field := range p.c.Tool.Workdir {
		for _, v := range match.ValuesAt(p.members, field) {
			p.c.Places.folders = append(p.c.Places.folders, v.Text)
			if p.c.Tool.AnyFolder || slices.Contains(p.c.Tool.Args, field[0]) {
				continue
			}
			if v.Kind != '"' || (v.Text != "" && !match.StaysBelow(v.Text) && p.c.Places.leaves(v.Text)) {
				p.goesBeyond(fmt.Sprintf("The call has the argument %s, which runs the command in another folder.", strings.Join(field, ".")))
			}
		}
	}
}

// lookUnknown notes unknown arguments that contain text, or any at the top if the tool's arguments
// are listed. Deny and ask patterns are compared with these texts.
func (p *parser) lookUnknown(members []match.Member, top bool, known ...[][]string) {
	for _, m := range members {
		field, inner := false, [][]string(nil)
		for _, fields := range known {
			for _, f := range fields {
				switch {
				case f[0] != m.Name:
				case len(f) == 1:
					field = true
				default:
					inner = append(inner, f[1:])
				}
			}
		}
		switch {
		case field, top && p.c.Tool.lists(m.Name, match.TextOf(m.Raw)):
			continue
		case len(inner) > 0 && m.Raw[0] == '{':
			p.lookUnknown(match.Members(m.Raw), false, inner)
			continue
		}
		texts, all := match.Strings(m.Raw)
		if !match.IsPlainName(m.Name) {
			texts = append(texts, m.Name)
		}
		if len(texts) > 0 || (top && p.c.Tool.Listed) {
			p.goesBeyond(fmt.Sprintf("The call has the argument %s, which is not known for this tool and may change its effect.", match.Visible(match.Shorten(m.Name, 60))))
			p.compareUnknown(texts, all)
		}
	}
}

// compareUnknown adds texts of unknown arguments for deny and ask patterns.
func (p *parser) compareUnknown(texts []string, all bool) {
	if !p.compares() {
		return
	}
	for _, text := range texts {
		if all = all && len(p.c.Unknown) < match.MaxReadings; !all {
			break
		}
		p.c.Unknown = append(p.c.Unknown, p.newCandidate(text))
	}
	if !all && p.c.Ambiguity == "" {
		p.c.Ambiguity = "The arguments contain more strings than heldcall compares."
	}
}

// lookFilters notes a filter that selects listed files, or an argument that includes files which
// the tool omits by default.
func (p *parser) lookFilters() {
	if p.c.Kind != Path {
		return
	}
	for _, name := range p.c.Tool.Below {
		for _, v := range match.ValuesAt(p.members, []string{name}) {
			if p.c.Known.Profiles.selects(v.Text) {
				p.c.Filter = v.Text
			}
		}
	}
	if p.c.Tool.Leaves == "" {
		return
	}
	for _, v := range match.ValuesAt(p.members, []string{p.c.Tool.Leaves}) {
		if v.Kind != 't' {
			p.c.Filter = p.c.Tool.Leaves + ": " + v.Text
		}
	}
}
