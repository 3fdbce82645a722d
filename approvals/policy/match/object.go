package match

import "strings"

// ObjectGlob is arguments as one object of JSON in which a * in place of a value is any number, true, false, null, or a text
// that is neither an address nor a path that leads elsewhere.
type ObjectGlob struct{ members []Member }

// NewObjectGlob reads the argument of a pattern. It returns nil if that has another form, such as a * in a string or in
// place of several members.
func NewObjectGlob(text string) *ObjectGlob {
	if !strings.HasPrefix(text, "{") || !strings.Contains(text, ":*") {
		return nil
	}
	object := strings.NewReplacer(":*,", ":"+anyValue+",", ":*}", ":"+anyValue+"}").Replace(text)
	doubts, numbers := Doubts(object)
	if strings.Contains(object, "*") || len(doubts)+len(numbers) > 0 {
		return nil
	}
	return &ObjectGlob{Members(Canonical(object))}
}

// anyValue stands for a * while a pattern is read. In an object within the object it is a text like any other.
const anyValue = `"any value"`

// Covers reports whether strict arguments, in their canonical form, have the same members with the same values, and one for
// each *.
func (g *ObjectGlob) Covers(arguments string) bool {
	members := Members(arguments)
	if len(members) != len(g.members) {
		return false
	}
	for i, want := range g.members {
		value := members[i].Raw
		if members[i].Name != want.Name || (want.Raw == anyValue && !isAny(value)) || (want.Raw != anyValue && value != want.Raw) {
			return false
		}
	}
	return true
}

// isAny reports whether a * covers a value.
func isAny(raw string) bool {
	switch raw[0] {
	case '{', '[':
		return false
	case '"':
		text := TextOf(raw)
		return !strings.Contains(text, "..") && !strings.Contains(text, "://") && (text == "" || !strings.ContainsRune(`/\~`, rune(text[0])))
	}
	return true
}
