package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Changes returns the patterns and settings that only one of two policies has, a line for each: those of the first after
// "- ", those of the second after "+ ". The reasons of rules and the keys for one folder or agent are left out.
func Changes(before, after []byte) ([]string, error) {
	was, err := entries(before)
	if err != nil {
		return nil, err
	}
	is, err := entries(after)
	if err != nil {
		return nil, err
	}
	var changes []string
	for _, entry := range was {
		if !slices.Contains(is, entry) {
			changes = append(changes, "- "+entry)
		}
	}
	for _, entry := range is {
		if !slices.Contains(was, entry) {
			changes = append(changes, "+ "+entry)
		}
	}
	slices.SortStableFunc(changes, func(a, b string) int { // what has changed is together, as it was before
		before, _, _ := strings.Cut(a[2:], " {")
		after, _, _ := strings.Cut(b[2:], " {")
		return cmp.Or(cmp.Compare(before, after), cmp.Compare(b[0], a[0]))
	})
	return slices.Compact(changes), nil
}

// entries returns a line for each pattern and setting of a policy.
func entries(policy []byte) (lines []string, err error) {
	var root yaml.Node
	if err := yaml.Unmarshal(policy, &root); err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	if len(root.Content) == 0 {
		return nil, nil
	}
	members(root.Content[0], func(key string, value *yaml.Node) {
		switch key {
		case "language", "extends", "without", "workspace", "profiles":
		case "rules", "results":
			for _, rule := range value.Content {
				lines = append(lines, ruleLines(rule)...)
			}
		case "taint":
			for _, pattern := range value.Content {
				lines = append(lines, "taint "+pattern.Value)
			}
		case "tools":
			members(value, func(tool string, entry *yaml.Node) { lines = append(lines, "tool "+tool+" "+flow(entry)) })
		default:
			lines = append(lines, key+": "+flow(value))
		}
	})
	return lines, nil
}

// ruleLines returns a line for each pattern of a rule, with the settings of the rule.
func ruleLines(rule *yaml.Node) (lines []string) {
	var settings []string
	members(rule, func(key string, value *yaml.Node) {
		if key != "reason" && !slices.Contains(patternLists, key) {
			settings = append(settings, key+": "+flow(value))
		}
	})
	slices.Sort(settings)
	about := ""
	if len(settings) > 0 {
		about = "  {" + strings.Join(settings, ", ") + "}"
	}
	members(rule, func(key string, value *yaml.Node) {
		if slices.Contains(patternLists, key) {
			for _, pattern := range value.Content {
				lines = append(lines, key+" "+pattern.Value+about)
			}
		}
	})
	return lines
}

// members visits the members of a mapping.
func members(of *yaml.Node, visit func(key string, value *yaml.Node)) {
	if of.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(of.Content); i += 2 {
		visit(of.Content[i].Value, of.Content[i+1])
	}
}

// flow returns a value on one line.
func flow(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		var parts []string
		members(n, func(key string, value *yaml.Node) { parts = append(parts, key+": "+flow(value)) })
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		var parts []string
		for _, item := range n.Content {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return n.Value
}
