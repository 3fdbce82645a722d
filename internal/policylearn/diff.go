package policylearn

import (
	"fmt"
	"strings"
)

// diffContext is how many lines a diff shows before and after a change.
const diffContext = 3

// Diff returns the unified diff of a file of one changed place.
func Diff(file string, before, after []byte) string {
	a, b := splitLines(before), splitLines(after)
	begin, end := 0, 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if begin == len(a) && begin == len(b) {
		return ""
	}
	from, lead := max(0, begin-diffContext), min(begin, diffContext)
	tail := min(end, diffContext)
	removed, added := a[begin:len(a)-end], b[begin:len(b)-end]
	var text strings.Builder
	fmt.Fprintf(&text, "--- %s\n+++ %s\n@@ -%s +%s @@\n", file, file, hunk(from, lead+len(removed)+tail), hunk(from, lead+len(added)+tail))
	for _, part := range []struct {
		sign  string
		lines []string
	}{{" ", a[from:begin]}, {"-", removed}, {"+", added}, {" ", a[len(a)-end : len(a)-end+tail]}} {
		for _, line := range part.lines {
			text.WriteString(part.sign + line)
			if !strings.HasSuffix(line, "\n") {
				text.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	return text.String()
}

// hunk writes the lines of one side of a change.
func hunk(from, lines int) string {
	if lines == 0 {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, lines)
}
