package rule

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Show returns the text of a whole policy, with the rules that it extends, each with its place. A policy that extends
// nothing is its own text.
func Show(name string, src []byte) ([]byte, error) {
	set, err := Parse(name, src)
	if err != nil || set.Extends.Version.Name == "" {
		return src, err
	}
	r := newReader(name)
	whole := r.extend(r.Root(src), src, &Set{})
	whole.Content = slices.Clone(whole.Content)
	for _, key := range []string{"extends", "without"} {
		if i := slices.IndexFunc(evens(whole.Content), func(n *yaml.Node) bool { return n.Value == key }) * 2; i >= 0 {
			whole.Content = slices.Delete(whole.Content, i, i+2)
		}
	}
	for i := 0; i+1 < len(whole.Content); i += 2 {
		r.mark(whole.Content[i+1])
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %q with the rules of %s. Each rule has its place.\n", filepath.Base(name), set.Extends.Version.Name)
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(whole); err != nil {
		return nil, fmt.Errorf("write the policy: %w", err)
	}
	return b.Bytes(), nil
}

// mark writes the places of rules and tools into their comments, and of a list of texts where those that it extends begin.
// Long lists get a line for each item.
func (r *reader) mark(n *yaml.Node) {
	entries, texts := n.Content, false
	if n.Kind == yaml.MappingNode {
		entries = evens(n.Content)
	}
	for _, entry := range entries {
		isText := n.Kind == yaml.SequenceNode && entry.Kind == yaml.ScalarNode
		if isText && (texts || !r.IsExtended(entry.Line)) {
			continue
		}
		if texts = isText; texts {
			n.Style &^= yaml.FlowStyle // a comment in it would end the line
		}
		entry.HeadComment = strings.TrimSpace("# " + r.Place(entry.Line) + "\n" + entry.HeadComment)
	}
	unfold(n)
}

// unfold writes the lists that are long with a line for each item.
func unfold(n *yaml.Node) {
	const long = 120
	length := 0
	for _, child := range n.Content {
		length += len(child.Value)
		unfold(child)
	}
	if n.Kind == yaml.SequenceNode && length > long {
		n.Style &^= yaml.FlowStyle
	}
}
