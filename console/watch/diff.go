package watch

import "strings"

// mostPairs is how many pairs of lines are compared; beyond it the middle of a
// difference is shown as replaced.
const mostPairs = 1_000_000

// diffLine is a line that was removed (-), added (+) or kept ( ), or the position of the
// next ones (@).
type diffLine struct {
	sign byte
	text string
}

// diffLines is the difference between two texts, line by line.
func diffLines(before, after string) []diffLine {
	a, b := splitLines(before), splitLines(after)
	start, end := 0, 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	lines := signed(nil, ' ', a[:start])
	lines = appendMiddle(lines, a[start:len(a)-end], b[start:len(b)-end])
	return signed(lines, ' ', a[len(a)-end:])
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func signed(lines []diffLine, sign byte, texts []string) []diffLine {
	for _, text := range texts {
		lines = append(lines, diffLine{sign, text})
	}
	return lines
}

// appendMiddle decides by the longest common subsequence what was kept.
func appendMiddle(lines []diffLine, a, b []string) []diffLine {
	if len(a)*len(b) > mostPairs {
		return signed(signed(lines, '-', a), '+', b)
	}
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[(i+1)*width+j] >= common[i*width+j+1]):
			lines = append(lines, diffLine{'-', a[i]})
			i++
		default:
			lines = append(lines, diffLine{'+', b[j]})
			j++
		}
	}
	return lines
}

// isPatch reports whether a text is a unified diff or one of apply_patch.
func isPatch(text string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, "\n") == "*** Begin Patch" || strings.HasPrefix(line, "@@ -") {
			return true
		}
	}
	return strings.Contains("\n"+text, "\n--- ") && strings.Contains(text, "\n+++ ")
}

// patchLines are the lines of a patch. None is left out: one that no patch has is
// shown as kept.
func patchLines(text string) []diffLine {
	var lines []diffLine
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case startsWithAny(line, "@@", "*** ", "diff ", "index ", "--- ", "+++ "):
			lines = append(lines, diffLine{'@', line})
		case startsWithAny(line, "+", "-", " "):
			lines = append(lines, diffLine{line[0], line[1:]})
		default:
			lines = append(lines, diffLine{' ', line})
		}
	}
	return lines
}

func startsWithAny(text string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}
