package match

import (
	"slices"
	"strings"
)

// A path with a drive (D:\src\a.go) is one of Windows. Any other path with a backslash has two
// readings: on Windows the backslash is a slash, elsewhere it is a part of a name.

// WindowsForm returns a path with a drive with slashes, and any other text as it is.
func WindowsForm(text string) string {
	if HasDrive(text) {
		return slashed(text)
	}
	return text
}

func slashed(text string) string { return strings.ReplaceAll(text, `\`, "/") }

// Readings returns the paths that a text certainly is, on one system or another.
func Readings(text string) []string {
	if form := slashed(text); form != text && !HasDrive(text) {
		return []string{text, form}
	}
	return []string{text}
}

// OtherPaths returns other paths that programs may read in a text.
func OtherPaths(text string) []string {
	var others []string
	if t := slashed(strings.TrimSpace(text)); t != text {
		others = append(others, t)
	}
	if HasDrive(text) && strings.Contains(text, `\`) {
		others = append(others, "./"+text) // a name, where there are no drives
	}
	if i := strings.Index(text, "://"); i >= 0 {
		others = append(others, text[i+len("://"):])
	}
	return others
}

// StaysBelow reports whether a path is certainly relative and leads to nothing above its folder.
func StaysBelow(text string) bool {
	return !slices.ContainsFunc(Readings(text), func(one string) bool {
		l, problem := Locate(one)
		return problem != "" || l.Anchor != "" || l.Up > 0
	})
}

// withoutDrive is a path without a drive in front of a slash or backslash.
func withoutDrive(text string) string {
	if HasDrive(text) && len(text) > 2 && (text[2] == '/' || text[2] == '\\') {
		return text[2:]
	}
	return text
}

// windowsProblem reports whether a path that may be one of Windows has a short name or a stream of
// a file.
func windowsProblem(text string) bool {
	rest := withoutDrive(text)
	if rest == text && !strings.Contains(text, `\`) {
		return false
	}
	for i := range len(rest) - 1 {
		if rest[i] == '~' && rest[i+1] >= '0' && rest[i+1] <= '9' {
			return true
		}
	}
	return strings.Contains(rest, ":")
}

// droppedByWindows reports whether Windows drops a part of a name in a path.
func droppedByWindows(text string) bool {
	for name := range strings.SplitSeq(text, "/") {
		if name != "." && name != ".." && (strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ")) {
			return true
		}
	}
	return strings.Contains(text, "::")
}

// HasDrive reports whether a path begins with a drive of Windows, such as C:.
func HasDrive(text string) bool {
	return len(text) >= 2 && text[1] == ':' && IsLetter(text[0])
}

// MayEscape reports whether a program that reads a path as a glob may take a backslash in it for an
// escape.
func MayEscape(text string) bool {
	return strings.Contains(text, `\`) && (!HasDrive(text) || HasGlob(text))
}
