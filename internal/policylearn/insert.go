package policylearn

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// Line returns the line of a policy's rules for a proposal, with its evidence as a comment.
func Line(p *approvals.Proposal) string {
	return fmt.Sprintf("- allow: ['%s'] # approved %s in %s by %s", strings.ReplaceAll(p.Pattern, "'", "''"), times(p.Approved), humanize.Count(p.Sessions, "session"), day(p.Last))
}

// errByHand is the error of a policy whose text Insert cannot extend.
var errByHand = errors.New("the lines cannot be added to this file without changing how it is written: add them to its rules by hand")

// Insert adds lines to the rules of a policy, at their end, and keeps all other text.
func Insert(policy []byte, lines []string) ([]byte, error) {
	at, indent, err := place(policy)
	if err != nil {
		return nil, err
	}
	end := "\n"
	if bytes.Contains(policy, []byte("\r\n")) {
		end = "\r\n"
	}
	text := splitLines(policy)
	if at > 0 && !strings.HasSuffix(text[at-1], "\n") {
		text[at-1] += end
	}
	var added []string
	if indent < 0 { // there are no rules yet
		added, indent = append(added, "rules:"+end), 2
	}
	for _, line := range lines {
		added = append(added, strings.Repeat(" ", indent)+line+end)
	}
	next := []byte(strings.Join(slices.Insert(text, at, added...), ""))
	if !extends(policy, next, len(lines)) {
		return nil, errByHand
	}
	return next, nil
}

// place finds before which line, from 0, rules are added, and how far they are indented: -1 if the
// key rules has to be added too.
func place(policy []byte) (at, indent int, err error) {
	root, problem := strictyaml.Document(policy)
	if problem != nil {
		return 0, 0, problem
	}
	lines := splitLines(policy)
	switch {
	case root == nil:
		return len(lines), -1, nil
	case root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0:
		return 0, 0, errByHand
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, rules := root.Content[i], root.Content[i+1]
		if key.Value != "rules" {
			continue
		}
		if rules.Kind != yaml.SequenceNode && rules.ShortTag() == "!!null" {
			return key.Line, 2, nil
		}
		if rules.Kind != yaml.SequenceNode || rules.Style&yaml.FlowStyle != 0 {
			return 0, 0, errByHand
		}
		at := len(lines)
		if i+2 < len(root.Content) {
			at = root.Content[i+2].Line - 1
		}
		return endOfRules(lines, at, rules.Column-1), rules.Column - 1, nil
	}
	return endOfRules(lines, len(lines), 0), -1, nil
}

// endOfRules goes back from a line over empty lines, and comments that are not indented further than
// the rules.
func endOfRules(lines []string, at, indent int) int {
	for at > 0 {
		text := strings.TrimRight(lines[at-1], " \t\r\n")
		body := strings.TrimLeft(text, " ")
		if body != "" && (!strings.HasPrefix(body, "#") || len(text)-len(body) > indent) {
			break
		}
		at--
	}
	return at
}

// extends reports whether a text is a policy with n rules more than before, and nothing else changed.
func extends(before, after []byte, n int) bool {
	var was, is map[string]any
	if yaml.Unmarshal(before, &was) != nil || yaml.Unmarshal(after, &is) != nil {
		return false
	}
	old, _ := was["rules"].([]any)
	rules, ok := is["rules"].([]any)
	if !ok || len(rules) != len(old)+n || (len(old) > 0 && !reflect.DeepEqual(rules[:len(old)], old)) {
		return false
	}
	delete(was, "rules")
	delete(is, "rules")
	return len(was) == len(is) && (len(was) == 0 || reflect.DeepEqual(was, is))
}

// splitLines returns the lines of a text with their ends.
func splitLines(text []byte) []string {
	return slices.Collect(strings.Lines(string(text)))
}
