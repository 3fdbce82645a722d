package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// What may hold secrets is asked about, whatever allows the call: a default, a risk,
// or a rule or grant with an argument that does not name the secret. A path may
// hold secrets if it is in the list of profiles.yaml; a folder that is searched, if
// it is so wide or so near to one of them that the search is likely to meet it; and
// a filter, if it selects by more than an extension what the list names.

// maxPath is the length in bytes beyond which a path is not looked at: no file has
// it, so it counts as one that may hold secrets.
const maxPath = 4 << 10

// mindsSecrets reports whether the tool's calls are compared with the list.
func (s *subject) mindsSecrets() bool { return s.kind == asPath || s.kind == asShell }

// secret is what of the call may hold secrets, or "".
func (s *subject) secret() string {
	if s.filter != "" {
		return s.filter
	}
	for i := range s.readings {
		if found := s.readings[i].secret; found != "" {
			return found
		}
	}
	for i, script := range s.scripts() {
		for _, c := range script.All {
			if found := s.secretWords(c); len(found) > 0 {
				return c.Words[found[0]]
			}
		}
		if script.NotSimple == "" {
			continue
		}
		for _, word := range strings.FieldsFunc(s.readings[i].text, isShellSign) { // redirections, documents, what is not parsed
			if s.policy.profiles.isSecretWord(word, false) {
				return word
			}
		}
	}
	return ""
}

func isShellSign(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>`'\"$", r) }

func (s *subject) secretReason() string { return s.secretFlag() + " No rule names that." }

// secretFlag is what reviewers are shown of a call that reaches what may hold
// secrets.
func (s *subject) secretFlag() string {
	return fmt.Sprintf("The call reaches what may hold secrets: %s.", match.Visible(match.Shorten(s.secret(), 60)))
}

// secretPath is the text of a path if it may hold secrets, or "". Of a tree, what is
// below the path counts.
func (p *profiles) secretPath(text string, tree bool) string {
	if len(text) > maxPath {
		return text
	}
	l, _ := match.Locate(text)
	switch {
	case p.isSensitive(l):
	case strings.ContainsAny(text, match.GlobSigns):
		if !p.selects(text) && !(tree && p.nearSecrets(match.GlobRoot(text))) {
			return ""
		}
	case !tree || !p.nearSecrets(l):
		return ""
	}
	return text
}

// isSensitive reports whether a path is in the list.
func (p *profiles) isSensitive(l match.Location) bool {
	if p.hits(p.harmless, l) {
		l.Lower = strings.TrimSuffix(l.Lower, match.LastSegment(l.Lower)) + "x" // its folder decides
	}
	return p.hits(p.sensitive, l)
}

func (p *profiles) hits(list []*match.PathGlob, l match.Location) bool {
	return slices.ContainsFunc(list, func(g *match.PathGlob) bool {
		at := g.Anywhere || g.Anchor == l.Anchor && g.Up == l.Up || l.Anchor == "" && l.Up > 0
		return at && strings.Contains(l.Lower, g.Core) && doublestar.MatchUnvalidated(g.Lower, l.Lower)
	})
}

// namesSecret reports whether the glob of an allow pattern is in the list itself.
func (p *profiles) namesSecret(g *match.PathGlob) bool {
	return p.isSensitive(match.Location{Anchor: g.Anchor, Up: g.Up, Lower: withoutStars(g.Lower)})
}

// withoutStars is a path glob without its stars and the segments that are nothing
// else.
func withoutStars(glob string) string {
	segments := strings.Split(strings.ReplaceAll(glob, "*", ""), "/")
	return strings.Join(slices.DeleteFunc(segments, func(s string) bool { return s == "" }), "/")
}

// nearSecrets reports whether a search below a folder is likely to meet secrets: it
// is the root, a home folder or above the agent's own, or the list names something
// below it: in a hidden folder of its name, or at its absolute path.
func (p *profiles) nearSecrets(l match.Location) bool {
	if l.Up > 0 || isHome(l) || p.isSensitive(l) {
		return true
	}
	return slices.ContainsFunc(p.sensitive, func(g *match.PathGlob) bool {
		fixed, _, _ := strings.Cut(strings.TrimPrefix(g.Lower, "**/"), "*")
		if !g.Anywhere {
			return g.Anchor == l.Anchor && strings.HasPrefix(fixed, l.Lower+"/")
		}
		for i, b := range []byte(fixed) {
			if b == '/' && fixed[0] == '.' && hasLastSegments(l.Lower, fixed[:i]) {
				return true
			}
		}
		return false
	})
}

func hasLastSegments(body, end string) bool {
	return body == end || strings.HasSuffix(body, "/"+end)
}

// isHome reports whether a folder is the root, a home folder or one of them.
func isHome(l match.Location) bool {
	folder, name, deeper := strings.Cut(l.Lower, "/")
	switch {
	case l.Anchor == "":
		return false
	case l.Lower == "":
		return true
	case strings.HasPrefix(l.Anchor, "~"):
		return false
	}
	return (folder == "home" || folder == "users") && (!deeper || !strings.Contains(name, "/"))
}

// lookFilters notes an argument that selects files of the list, or those that the
// tool leaves out otherwise.
func (s *subject) lookFilters() {
	if s.kind != asPath {
		return
	}
	for _, name := range s.tool.below {
		for _, v := range match.ValuesAt(s.members, []string{name}) {
			if s.policy.profiles.selects(v.Text) {
				s.filter = v.Text
			}
		}
	}
	if s.tool.leaves == "" {
		return
	}
	for _, v := range match.ValuesAt(s.members, []string{s.tool.leaves}) {
		if v.Kind != 't' {
			s.filter = s.tool.leaves + ": " + v.Text
		}
	}
}

// coversCommand reports whether an allow pattern covers a command, and names what
// of it may hold secrets.
func (s *subject) coversCommand(p *pattern, c *shell.Command) bool {
	if p.shell == nil || !p.shell.Covers(c, s.policy.programs) {
		return false
	}
	return !slices.ContainsFunc(s.secretWords(c), func(i int) bool {
		word, spelled := p.shell.Word(i)
		return !spelled || !s.policy.profiles.namesWord(word)
	})
}

// namesWord reports whether a word of an allow pattern is spelled out or in the
// list itself.
func (p *profiles) namesWord(g match.Glob) bool {
	return g.Literal() || slices.ContainsFunc(pathsIn(g.Text()), func(text string) bool {
		l, _ := match.Locate(text)
		return p.isSensitive(l)
	})
}
