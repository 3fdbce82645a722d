package rule

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals/policy/starter"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// Extension is what a policy extends.
type Extension struct {
	Version starter.Version // the zero value: nothing
	Parts   starter.Parts   // of it
}

// extend returns the keys of a policy with those of the text that it extends. Lists are the policy's items and then those
// of the text, mappings have the entries of both, and of what both have the policy's counts.
func (r *reader) extend(root *yaml.Node, src []byte, set *Set) *yaml.Node {
	set.Extends.Parts = starter.Parts{Workspace: member(root, "workspace") != nil, Checks: true}
	name, without := member(root, "extends"), member(root, "without")
	if name == nil {
		if without != nil {
			r.Fail(without, "without", "has no effect: the policy has no extends")
		}
		return root
	}
	text, ok := r.Text(name, "extends")
	if !ok {
		return root
	}
	version, err := starter.Find(text)
	if err != nil {
		r.Fail(name, "extends", "%s", err)
		return root
	}
	switch language := member(root, "language"); {
	case language == nil:
		set.language = newestLanguage
	case language.Value == "1":
		r.Fail(language, "language", "is 1, and %s is written in language 2: write 2", version.Name)
	}
	items := r.leftOut(without)
	set.Extends.Version, set.Extends.Parts.Checks = version, items[starter.Checks] == nil
	delete(items, starter.Checks)
	r.Extended, r.From = version.Name, bytes.Count(src, []byte("\n"))+1
	base := strictyaml.Reader{File: version.Name}
	extended := base.Root(version.For(set.Extends.Parts))
	r.Errors = append(r.Errors, base.Errors...)
	if extended == nil {
		return root
	}
	move(extended, r.From)
	for _, text := range remove(extended, items) {
		r.Fail(items[text], "without", "%q is neither %s nor a pattern of %s, which `heldcall policy show %s` prints", text, starter.Checks, version.Name, version.Name)
	}
	return join(root, extended)
}

// leftOut reads the parts and the patterns that a policy leaves out.
func (r *reader) leftOut(n *yaml.Node) map[string]*yaml.Node {
	items := map[string]*yaml.Node{}
	if n == nil {
		return items
	}
	r.List(n, "without", "patterns", func(item *yaml.Node, path string) {
		if text, ok := r.Text(item, path); ok {
			items[text] = item
		}
	})
	return items
}

// member returns the value of a key of a mapping, or nil.
func member(of *yaml.Node, key string) *yaml.Node {
	if of.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(of.Content); i += 2 {
			if of.Content[i].Value == key {
				return of.Content[i+1]
			}
		}
	}
	return nil
}

// move adds to the lines of a node and of all in it.
func move(n *yaml.Node, by int) {
	n.Line += by
	for _, child := range n.Content {
		move(child, by)
	}
}

// remove takes patterns out of the rules and the taint list of a text, with the rules that have no others, and returns
// those that are not there.
func remove(from *yaml.Node, items map[string]*yaml.Node) (missing []string) {
	there := map[string]bool{}
	clean := func(list *yaml.Node) {
		list.Content = slices.DeleteFunc(list.Content, func(item *yaml.Node) bool {
			there[item.Value] = true
			return items[item.Value] != nil
		})
	}
	if taint := member(from, "taint"); taint != nil {
		clean(taint)
	}
	if rules := member(from, "rules"); rules != nil {
		rules.Content = slices.DeleteFunc(rules.Content, func(rule *yaml.Node) bool {
			left := 0
			for _, key := range patternLists {
				if list := member(rule, key); list != nil {
					clean(list)
					left += len(list.Content)
				}
			}
			return left == 0
		})
	}
	for text := range items {
		if !there[text] {
			missing = append(missing, text)
		}
	}
	slices.Sort(missing)
	return missing
}

// patternLists are the keys of a rule that list patterns.
var patternLists = []string{"deny", "ask", "allow", "rewrite", "redact"}

// join returns a mapping with the keys of both. See [reader.extend].
func join(own, base *yaml.Node) *yaml.Node {
	if own.Kind != yaml.MappingNode {
		return own
	}
	both := *own
	both.Content = slices.Clone(own.Content)
	for i := 0; i+1 < len(base.Content); i += 2 {
		key, value := base.Content[i], base.Content[i+1]
		at := slices.IndexFunc(evens(both.Content), func(n *yaml.Node) bool { return n.Value == key.Value })*2 + 1
		if at < 0 {
			both.Content = append(both.Content, key, value)
			continue
		}
		switch existing := both.Content[at]; {
		case isEmpty(existing) && value.Kind != yaml.ScalarNode:
			both.Content[at] = value
		case existing.Kind == yaml.SequenceNode && value.Kind == yaml.SequenceNode:
			list := *existing
			list.Content = slices.Concat(existing.Content, value.Content)
			both.Content[at] = &list
		case value.Kind == yaml.MappingNode:
			both.Content[at] = join(existing, value)
		}
	}
	return &both
}

// evens returns every second node, the keys of a mapping.
func evens(nodes []*yaml.Node) (keys []*yaml.Node) {
	for i := 0; i < len(nodes); i += 2 {
		keys = append(keys, nodes[i])
	}
	return keys
}
