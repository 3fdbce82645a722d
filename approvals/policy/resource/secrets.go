package resource

import (
	"iter"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// What may hold secrets is asked about, whatever allows the call: a default, a risk,
// or a rule or grant with an argument that does not name the secret. A path may
// hold secrets if it is in the list of profiles.yaml; a folder that is searched, if
// it is so wide or so near to one of them that the search is likely to meet it; and
// a filter, if it selects by more than an extension what the list names.

// maxPath is the length in bytes beyond which a path is not looked at: no file has
// it, so it counts as one that may hold secrets.
const maxPath = 4 << 10

// secretPath is the text of a path if it may hold secrets, or "". Of a tree, what is
// below the path counts.
func (p *Profiles) secretPath(text string, tree bool) string {
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
func (p *Profiles) isSensitive(l match.Location) bool {
	if match.Lists(p.harmless, l) {
		l.Lower = strings.TrimSuffix(l.Lower, match.LastSegment(l.Lower)) + "x" // its folder decides
	}
	return match.Lists(p.sensitive, l)
}

// NamesSecret reports whether the glob of an allow pattern is in the list itself.
func (p *Profiles) NamesSecret(g *match.PathGlob) bool {
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
func (p *Profiles) nearSecrets(l match.Location) bool {
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

// NamesWord reports whether a word of an allow pattern is spelled out or in the
// list itself.
func (p *Profiles) NamesWord(g match.Glob) bool {
	if g.Literal() {
		return true
	}
	for text := range pathsIn(g.Text()) {
		if l, _ := match.Locate(text); p.isSensitive(l) {
			return true
		}
	}
	return false
}

// isSecretWord reports whether a word names a path of the list, as it is or in an
// option (--file=.env), a revision (HEAD:.env) or an upload (@.env), or, of a
// program that searches, a folder near one.
func (p *Profiles) isSecretWord(word string, searched bool) bool {
	if len(word) > maxPath {
		return true
	}
	if strings.ContainsAny(word, match.GlobSigns) && p.selects(word) {
		return true
	}
	for text := range pathsIn(word) {
		l, _ := match.Locate(text)
		if p.isSensitive(l) && (!strings.ContainsAny(text, " \t\n") || strings.Contains(text, "/")) {
			return true
		}
	}
	if !searched || strings.Contains(word, ":") {
		return false
	}
	l, _ := match.Locate(word)
	return p.nearSecrets(l)
}

// pathsIn returns the texts in a word that may be paths: the word, and the text after
// each sign that joins a path to something else.
func pathsIn(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(word) {
			return
		}
		for i, more := 0, maxPathsIn-1; i+1 < len(word) && more > 0; i++ {
			if strings.IndexByte("=:@,", word[i]) < 0 {
				continue
			}
			if more--; !yield(word[i+1:]) {
				return
			}
		}
		if len(word) > 2 && word[0] == '-' && match.IsLetter(word[1]) {
			yield(word[2:])
		}
	}
}

// maxPathsIn bounds how many texts of a word are looked at, besides the value of an option
// of one letter.
const maxPathsIn = 16

// selects reports whether a filter of names or paths, as tools take it for globs,
// selects what the list of secrets names. A filter for all names or for an
// extension does not, unless that extension is in the list.
func (p *Profiles) selects(filter string) bool {
	return match.FilterSelects(filter, p.sensitive, p.isSensitive)
}
