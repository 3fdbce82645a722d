//go:build check

package heldcall_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/evidence.md names, for each promise, all tests with its number.
func TestPromisesAreInTheEvidence(t *testing.T) {
	tests := map[string][]string{} // by number
	for name := range knownTests(t) {
		if m := promiseTests.FindStringSubmatch(name); m != nil {
			tests[m[1]] = append(tests[m[1]], name)
		}
	}
	sections := map[string]string{}
	for part := range strings.SplitSeq(read(t, evidence), "\n### ") {
		number, text, _ := strings.Cut(part, ". ")
		text, _, _ = strings.Cut(text, "\n## ")
		sections[number] = text
	}
	for number := range 15 {
		name := fmt.Sprint(number + 1)
		slices.Sort(tests[name])
		var found []string
		for line := range strings.Lines(sections[name]) {
			if strings.HasPrefix(line, "- `TestPromise") {
				found = append(found, strings.Trim(line, "- `\n"))
			}
		}
		if !slices.Equal(found, tests[name]) {
			t.Errorf("%s has other tests of promise %s than there are, which are\n- `%s`", evidence, name, strings.Join(tests[name], "`\n- `"))
		}
		if !strings.Contains(sections[name], "\n- `") {
			t.Errorf("%s has no test of promise %s", evidence, name)
		}
	}
}

// Each situation in docs/durability.md has a line in docs/evidence.md, which names tests that exist.
func TestDurabilityIsTested(t *testing.T) {
	known := knownTests(t)
	for _, m := range makeTargets.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		known["make "+m[1]] = true
	}
	lines := map[string]string{} // by the heading to which they link
	for _, m := range regexp.MustCompile(`(?m)^- \[.*\]\(durability\.md#(.*?)\): (.*)$`).FindAllStringSubmatch(read(t, evidence), -1) {
		lines[m[1]] = m[2]
		names := quoted.FindAllStringSubmatch(m[2], -1)
		if len(names) == 0 {
			t.Errorf("the line of %s names no test", m[1])
		}
		for _, name := range names {
			if !known[name[1]] {
				t.Errorf("the line of %s names %s, which does not exist", m[1], name[1])
			}
		}
	}
	situations, _, _ := strings.Cut(read(t, "docs/durability.md"), "\n## Which request")
	for _, line := range regexp.MustCompile(`(?m)^### .*$`).FindAllString(situations, -1) {
		if heading := headings(line)[0]; lines[heading] == "" {
			t.Errorf("%s has no line that links to %s", evidence, heading)
		}
	}
	if len(lines) < 20 {
		t.Errorf("%d lines: %v", len(lines), slices.Sorted(maps.Keys(lines)))
	}
}

// knownTests are the names of all tests.
func knownTests(t *testing.T) map[string]bool {
	t.Helper()
	known := make(map[string]bool)
	for _, path := range sources(t, ".go") {
		for _, m := range testFunctions.FindAllStringSubmatch(read(t, path), -1) {
			known[m[1]] = true
		}
	}
	return known
}

const evidence = "docs/evidence.md"

var (
	promiseTests  = regexp.MustCompile(`^TestPromise(\d+)_`)
	testFunctions = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	makeTargets   = regexp.MustCompile(`(?m)^([a-z-]+):`)
	quoted        = regexp.MustCompile("`([^`]+)`")
)
