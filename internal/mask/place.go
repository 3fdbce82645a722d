package mask

import (
	"slices"
	"strings"
)

// scope is an object or a list of an event that is being read.
type scope struct {
	in    *scope // nil: the event
	path  string
	list  bool
	at    int      // index in the list that contains it, else 0
	items int      // objects and lists in the list so far
	facts []string // its own indexes and ids, each with its path
}

// open returns the scope of an object or a list in c.
func (c *scope) open(path string, list bool) *scope {
	inner := &scope{in: c, path: path, list: list}
	if c.list {
		inner.at = c.items
		c.items++
	}
	return inner
}

// place returns the facts by which a text at c continues in other events: the choice, the
// call, the item and the like. Items of a list without an index are known by their order.
func (c *scope) place() (facts []string) {
	for ; c != nil; c = c.in {
		facts = append(facts, c.facts...)
		if len(c.facts) == 0 && c.at > 0 {
			facts = append(facts, c.path+"#"+strings.Repeat("+", c.at))
		}
	}
	slices.Sort(facts)
	return facts
}

// within reports whether a place is in another one, or is the same.
func within(place, outer []string) bool {
	return !slices.ContainsFunc(outer, func(fact string) bool { return !slices.Contains(place, fact) })
}

// ends reports whether a string of an event marks that the texts of its place have ended.
func ends(name, value string) bool {
	switch name {
	case "finish_reason", "stop_reason":
		return true
	case "type":
		return slices.ContainsFunc([]string{"_stop", ".done", ".completed", ".failed", ".incomplete"}, func(end string) bool { return strings.HasSuffix(value, end) })
	}
	return false
}
