package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"

	"fmt"
	"slices"
	"strings"
)

// lookBeyond notes what of a call counts beside its resource: arguments that lead
// elsewhere than its path, a folder in which its command runs, and arguments that
// nothing is known of.
func (s *subject) lookBeyond() {
	s.lookBelow()
	s.lookFolder()
	s.lookUnknown(s.members, slices.Concat(s.tool.fields, s.tool.workdir), true)
	s.lookFilters()
}

// goesBeyond notes the first reason why the resource is not all that counts.
func (s *subject) goesBeyond(why string) {
	if s.beyond == "" {
		s.beyond = why
	}
}

// lookBelow notes arguments that must name something below the path and may not.
func (s *subject) lookBelow() {
	for _, name := range s.tool.below {
		for _, v := range match.ValuesAt(s.members, []string{name}) {
			if l, problem := match.Locate(v.Text); v.Kind != '"' || problem != "" || l.Anchor != "" || strings.Contains(v.Text, "..") {
				s.goesBeyond(fmt.Sprintf("The call has the argument %s, which may lead out of its folder.", name))
			}
		}
	}
}

// lookFolder notes the folder in which a command runs, unless it is in the agent's
// own or the policy takes any.
func (s *subject) lookFolder() {
	if s.kind != asShell || s.tool.anyFolder {
		return
	}
	for _, field := range s.tool.workdir {
		if slices.Contains(s.tool.args, field[0]) {
			continue
		}
		for _, v := range match.ValuesAt(s.members, field) {
			l, problem := match.Locate(v.Text)
			if v.Kind != '"' || v.Text != "" && (problem != "" || l.Anchor != "" || l.Up > 0) {
				s.goesBeyond(fmt.Sprintf("The call has the argument %s, which names another folder for the command to run in.", strings.Join(field, ".")))
			}
		}
	}
}

// lookUnknown notes the members that are neither a field nor a known argument, if
// they hold a text, or, at the top, if the tool's arguments are listed. Deny and ask
// patterns are compared with these texts.
func (s *subject) lookUnknown(members []match.Member, fields [][]string, top bool) {
	for _, m := range members {
		field, inner := false, [][]string(nil)
		for _, f := range fields {
			switch {
			case f[0] != m.Name:
			case len(f) == 1:
				field = true
			default:
				inner = append(inner, f[1:])
			}
		}
		switch {
		case field, top && slices.Contains(s.tool.args, m.Name):
			continue
		case len(inner) > 0 && m.Value.Kind() == '{':
			s.lookUnknown(match.Members(m.Value), inner, false)
			continue
		}
		texts, all := match.Strings(string(m.Value))
		if !match.IsPlainName(m.Name) {
			texts = append(texts, m.Name)
		}
		if len(texts) > 0 || top && s.tool.listed {
			s.goesBeyond(fmt.Sprintf("The call has the argument %s, which is not known for this tool and may change what it does.", match.Visible(match.Shorten(m.Name, 60))))
			s.compareUnknown(texts, all)
		}
	}
}

// compareUnknown adds texts of unknown arguments to what deny and ask patterns are
// compared with.
func (s *subject) compareUnknown(texts []string, all bool) {
	if !s.compares() {
		return
	}
	for _, text := range texts {
		if all = all && len(s.unknown) < match.MaxReadings; !all {
			break
		}
		s.unknown = append(s.unknown, s.newReading(text))
	}
	if !all && s.unclear == "" {
		s.unclear = "The arguments hold more texts than are judged."
	}
}
