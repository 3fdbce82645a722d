package policy

import (
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
		for _, c := range script.all {
			if found := s.secretWords(c); len(found) > 0 {
				return c.words[found[0]]
			}
		}
		if script.notPlain == "" {
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
	return fmt.Sprintf("The call reaches what may hold secrets: %s.", visible(shorten(s.secret(), 60)))
}

// secretPath is the text of a path if it may hold secrets, or "". Of a tree, what is
// below the path counts.
func (p *profiles) secretPath(text string, tree bool) string {
	if len(text) > maxPath {
		return text
	}
	l, _ := locate(text)
	switch {
	case p.isSensitive(l):
	case strings.ContainsAny(text, globSigns):
		if !p.selects(text) && !(tree && p.nearSecrets(globRoot(text))) {
			return ""
		}
	case !tree || !p.nearSecrets(l):
		return ""
	}
	return text
}

// isSensitive reports whether a path is in the list.
func (p *profiles) isSensitive(l location) bool {
	if p.hits(p.harmless, l) {
		l.lower = strings.TrimSuffix(l.lower, lastSegment(l.lower)) + "x" // its folder decides
	}
	return p.hits(p.sensitive, l)
}

func (p *profiles) hits(list []*pathGlob, l location) bool {
	return slices.ContainsFunc(list, func(g *pathGlob) bool {
		at := g.anywhere || g.anchor == l.anchor && g.up == l.up || l.anchor == "" && l.up > 0
		return at && strings.Contains(l.lower, g.core) && doublestar.MatchUnvalidated(g.lower, l.lower)
	})
}

// namesSecret reports whether the glob of an allow pattern is in the list itself.
func (p *profiles) namesSecret(g *pathGlob) bool {
	return p.isSensitive(location{anchor: g.anchor, up: g.up, lower: withoutStars(g.lower)})
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
func (p *profiles) nearSecrets(l location) bool {
	if l.up > 0 || isHome(l) || p.isSensitive(l) {
		return true
	}
	return slices.ContainsFunc(p.sensitive, func(g *pathGlob) bool {
		fixed, _, _ := strings.Cut(strings.TrimPrefix(g.lower, "**/"), "*")
		if !g.anywhere {
			return g.anchor == l.anchor && strings.HasPrefix(fixed, l.lower+"/")
		}
		for i, b := range []byte(fixed) {
			if b == '/' && fixed[0] == '.' && hasLastSegments(l.lower, fixed[:i]) {
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
func isHome(l location) bool {
	folder, name, deeper := strings.Cut(l.lower, "/")
	switch {
	case l.anchor == "":
		return false
	case l.lower == "":
		return true
	case strings.HasPrefix(l.anchor, "~"):
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
		for _, v := range valuesAt(s.members, []string{name}) {
			if s.policy.profiles.selects(v.text) {
				s.filter = v.text
			}
		}
	}
	if s.tool.leaves == "" {
		return
	}
	for _, v := range valuesAt(s.members, []string{s.tool.leaves}) {
		if v.kind != 't' {
			s.filter = s.tool.leaves + ": " + v.text
		}
	}
}

// coversCommand reports whether an allow pattern covers a command, and names what
// of it may hold secrets.
func (s *subject) coversCommand(p *pattern, c *command) bool {
	if p.shell == nil || !p.shell.covers(c, s.policy.programs) {
		return false
	}
	return !slices.ContainsFunc(s.secretWords(c), func(i int) bool {
		return i >= len(p.shell.words) || !s.policy.profiles.namesWord(p.shell.words[i])
	})
}

// namesWord reports whether a word of an allow pattern is spelled out or in the
// list itself.
func (p *profiles) namesWord(g glob) bool {
	return g.literal() || slices.ContainsFunc(pathsIn(strings.Join(g.parts, "")), func(text string) bool {
		l, _ := locate(text)
		return p.isSensitive(l)
	})
}
