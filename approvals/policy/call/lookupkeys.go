package call

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Keys are the lookup keys of a call. A pattern that matches has one of them; one that covers a command may have one
// of the command instead.
type Keys struct {
	Texts []string // sorted
	Any   bool     // any deny or ask pattern may match
}

// usualKeys is how many keys a call has as a rule, before equal ones are removed.
const usualKeys = 8

// lookupKeys returns the keys of a call, for deny and ask patterns and for allow patterns.
func (c *Reading) lookupKeys() Keys {
	k := Keys{Texts: make([]string, 0, usualKeys), Any: c.Ambiguity != "" || c.IsTree() || len(c.Candidates) == 0}
	for i := range c.Candidates {
		k.add(c.Kind, &c.Candidates[i])
	}
	for i := range c.Unknown {
		k.add(c.Kind, &c.Unknown[i])
		k.Any = k.Any || c.Unknown[i].Problem != "" // of a resource it is an ambiguity
	}
	slices.Sort(k.Texts)
	k.Texts = slices.Compact(k.Texts)
	return k
}

func (k *Keys) add(kind Kind, one *Candidate) {
	switch kind {
	case Path:
		k.Texts = appendPathKeys(k.Texts, &one.Path)
	case URL:
		k.Texts = append(k.Texts, one.URL.Host)
	case Shell:
		var all bool
		k.Texts, all = one.Script.AppendKeys(k.Texts, one.Lower)
		k.Any = k.Any || !all
	default:
		k.Texts = append(k.Texts, one.Lower)
	}
}

// appendPathKeys adds the keys of a path: its root, its last segment, and each segment.
func appendPathKeys(keys []string, l *match.Location) []string {
	keys = append(keys, RootKey(l, match.FirstSegment(l.Lower)), match.LastSegment(l.Lower))
	for segment := range strings.SplitSeq(l.Lower, "/") {
		keys = append(keys, match.SegmentKey(segment))
	}
	return keys
}

// RootKey returns the key of the paths below a first segment.
func RootKey(l *match.Location, first string) string { return "\x00" + l.Anchor + "\x00" + first }
