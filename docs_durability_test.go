//go:build check

package heldcall_test

import (
	"regexp"
	"strings"
	"testing"
)

// Each row of the table in docs/durability.md names tests, and these exist.
func TestDurabilityIsTested(t *testing.T) {
	table, _, _ := strings.Cut(read(t, "docs/durability.md"), "\n## ")
	known := make(map[string]bool)
	for _, path := range sources(t, ".go") {
		for _, m := range testFunctions.FindAllStringSubmatch(read(t, path), -1) {
			known[m[1]] = true
		}
	}
	for _, m := range makeTargets.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		known["make "+m[1]] = true
	}
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || strings.Contains(cells[5], "---") || strings.TrimSpace(cells[5]) == "test" {
			continue
		}
		rows++
		names := quoted.FindAllStringSubmatch(cells[5], -1)
		if len(names) == 0 {
			t.Errorf("the row %q names no test", strings.TrimSpace(cells[1]))
		}
		for _, name := range names {
			if !known[name[1]] {
				t.Errorf("the row %q names %s, which does not exist", strings.TrimSpace(cells[1]), name[1])
			}
		}
	}
	if rows < 10 {
		t.Errorf("%d rows", rows)
	}
}

var (
	testFunctions = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	makeTargets   = regexp.MustCompile(`(?m)^([a-z-]+):`)
	quoted        = regexp.MustCompile("`([^`]+)`")
)
