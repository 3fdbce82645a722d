package match

import (
	"slices"
	"strings"
)

// patchHeaders begin the lines of a patch that name a file.
var patchHeaders = []string{"*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "}

// PatchPaths returns the files that a patch for apply_patch changes, and the reason why these may
// not be all, or "".
func PatchPaths(text string) (paths []string, problem string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	begin, end := 0, len(lines)-1
	if lines[begin] != "*** Begin Patch" || lines[end] != "*** End Patch" || end == begin {
		begin, end = -1, len(lines)
		problem = "The patch does not begin and end with the lines of a patch."
	}
	for _, line := range lines[begin+1 : end] {
		path, header := patchHeader(line)
		loose, named := looseHeader(line)
		switch {
		case header:
			paths = append(paths, path)
		case named:
			paths = append(paths, loose)
			problem = "The patch has a line that only some programs read as a file name."
		case line == "*** End of File" || line == "" || strings.IndexByte("+- @", line[0]) >= 0:
		default:
			problem = "The patch has a line that is not valid in a patch."
		}
	}
	if slices.ContainsFunc(paths, func(path string) bool { return strings.Contains(withoutDrive(path), ":") }) {
		problem = "The patch names a file with a colon, at which some programs cut the name."
	}
	if len(paths) == 0 && problem == "" {
		problem = "The patch names no file."
	}
	return paths, problem
}

func patchHeader(line string) (path string, ok bool) {
	for _, header := range patchHeaders {
		if path, ok := strings.CutPrefix(line, header); ok {
			return path, true
		}
	}
	return "", false
}

// looseHeader returns the file of a line that only programs which trim lines, or need no space
// after the colon, read as a header.
func looseHeader(line string) (path string, ok bool) {
	line = strings.TrimSpace(line)
	for _, header := range patchHeaders {
		if path, ok := strings.CutPrefix(line, strings.TrimSpace(header)); ok {
			return strings.TrimSpace(path), true
		}
	}
	return "", false
}
