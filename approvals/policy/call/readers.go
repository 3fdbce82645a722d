package call

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// reading is how a command reads folders.
type reading struct {
	tree     workspace.Tree
	operands []int // the words that may be folders
	here     bool  // without one it reads its own folder
}

// readingOf reads the options of a command. An option that it does not know leaves nothing out.
func readingOf(of *shell.Command) reading {
	r := reading{tree: workspace.Tree{Hidden: true, Ignored: true}, here: true}
	words := of.Words[1:]
	switch path.Base(of.Words[0]) {
	case "rg", "ag", "fd":
		r.tree.Hidden, r.tree.Ignored, r.tree.Links = false, false, path.Base(of.Words[0]) == "fd"
		r.readIgnoring(words)
	case "git":
		r.tree.Ignored, r.tree.Links = false, true
		r.addOperands(words)
	case "ls":
		r.tree.Depth, r.tree.Links = 1, true
		r.addOperands(words)
		r.tree.Hidden = hasOption(words, "aA", "--all", "--almost-all")
		if hasOption(words, "R", "--recursive") {
			r.tree.Depth = 0
		}
	case "find":
		r.tree.Links = true // a reader of the found files opens them
		r.readFind(words)
	case "tar":
		r.here = false
		if !unpacksAny(words) {
			r.addOperands(words)
		}
		r.tree.Follow = hasOption(words, "h", "--dereference")
	case "cp", "scp", "rsync":
		r.here = false
		r.addOperands(words)
		r.operands = r.operands[:max(len(r.operands)-1, 0)] // to the last one
		r.tree.Follow = hasOption(words, "L", "--dereference", "--copy-links")
	case "zip":
		r.here, r.tree.Follow = false, true
		r.addOperands(words)
	default: // grep and the like
		r.readGrep(words)
	}
	return r
}

// isShort reports whether a word has one of the options of one letter.
func isShort(word, letters string) bool {
	return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.ContainsAny(word, letters)
}

// hasOption reports whether a command has one of the options of one letter, or of the long ones.
func hasOption(words []string, letters string, long ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return isShort(word, letters) || slices.Contains(long, word) })
}

// unpacksAny reports whether the words of tar have it read an archive.
func unpacksAny(words []string) bool {
	return unpacks(words[0]) || slices.ContainsFunc(words, func(word string) bool { return !shell.IsOperand(word) && unpacks(word) })
}

// unpacks reports whether the first word of tar, or an option, has it read an archive.
func unpacks(word string) bool {
	return word == "--extract" || word == "--list" || word == "--get" || (!strings.HasPrefix(word, "--") && !strings.ContainsAny(word, "/.") && strings.ContainsAny(word, "xt"))
}

func (r *reading) addOperands(words []string) {
	for i, word := range words {
		if shell.IsOperand(word) {
			r.operands = append(r.operands, i+1)
		}
	}
}

// Options of programs that leave out hidden and ignored files.
var (
	readsIgnored  = []string{"--skip-vcs-ignores", "-I", "-U"}
	readsHidden   = []string{"--hidden", "-.", "-H"}
	filterOptions = []string{"-g", "--glob", "--iglob"}
)

// readIgnoring reads the options of such a program. Options of one letter may be together, as in -uuL.
func (r *reading) readIgnoring(words []string) {
	r.addOperands(words)
	unrestricted := 0
	for i, word := range words {
		if isShort(word, "uL") && strings.Trim(word[1:], flagsTogether) == "" {
			unrestricted += strings.Count(word, "u")
			r.tree.Follow = r.tree.Follow || strings.Contains(word, "L")
		}
		name, value, inline := strings.Cut(word, "=")
		if !inline && i+1 < len(words) {
			value = words[i+1]
		}
		switch {
		case slices.Contains(filterOptions, name):
			r.filter(value)
		case strings.HasPrefix(word, "-g"):
			r.filter(word[2:])
		}
		r.tree.Ignored = r.tree.Ignored || slices.Contains(readsIgnored, word) || strings.HasPrefix(word, "--no-ignore")
		r.tree.Hidden = r.tree.Hidden || slices.Contains(readsHidden, word)
		r.tree.Follow = r.tree.Follow || word == "--follow"
		unrestricted += strings.Count(word, "--unrestricted")
	}
	r.tree.Ignored = r.tree.Ignored || unrestricted > 0
	r.tree.Hidden = r.tree.Hidden || unrestricted > 1
}

// flagsTogether are the options of rg, ag and fd of one letter without a value.
const flagsTogether = "uLnilcvwsSFHIUNoPpqz0a."

// filter adds a glob of rg, if it is one of names.
func (r *reading) filter(glob string) {
	without, not := strings.CutPrefix(glob, "!")
	switch alternatives, ok := match.Alternatives(strings.TrimPrefix(without, "**/")); {
	case not && strings.HasSuffix(without, "/"), not && ok && !match.HasGlob(without):
		r.tree.WithoutFolders = append(r.tree.WithoutFolders, strings.Trim(without, "/"))
	case not || !ok:
	default:
		for _, pattern := range alternatives {
			r.tree.Only = append(r.tree.Only, match.LastSegment(pattern))
		}
	}
}

// readGrep reads the options of grep.
func (r *reading) readGrep(words []string) {
	r.addOperands(words)
	lists := map[string]*[]string{"--include": &r.tree.Only, "--exclude": &r.tree.Without, "--exclude-dir": &r.tree.WithoutFolders}
	for i, word := range words {
		name, value, inline := strings.Cut(word, "=")
		if list := lists[name]; list != nil {
			if !inline && i+1 < len(words) {
				value = words[i+1]
			}
			*list = append(*list, strings.TrimSuffix(value, "/"))
		}
		r.tree.Follow = r.tree.Follow || isShort(word, "R") || name == "--dereference-recursive"
	}
}

// readFind reads the folders and the tests of find. Only tests of names that all have to be true leave files out, or as
// many as there are alternatives.
func (r *reading) readFind(words []string) {
	for i, word := range words {
		if isTest := strings.HasPrefix(word, "-") && len(word) > 2; isTest || word == "!" || word == "(" {
			break
		}
		if shell.IsOperand(word) {
			r.operands = append(r.operands, i+1)
		}
	}
	var names []string
	alternatives, previous := 0, ""
	for i, word := range words {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch word {
		case "-name", "-iname":
			if previous != "!" && previous != "-not" {
				names = append(names, value)
			}
		case "-o", "-or", ",":
			alternatives++
		case "-maxdepth":
			r.tree.Depth, _ = strconv.Atoi(value)
		case "-L", "-follow":
			r.tree.Follow = true
		}
		previous = word
	}
	r.tree.Only = namesOfAll(names, alternatives)
}

// namesOfAll returns the names that the files which find lists can have, by the names in its tests and the number of its
// alternatives ("-o"); none if that is not known.
func namesOfAll(names []string, alternatives int) []string {
	switch {
	case alternatives == 0 && len(names) > 0:
		return names[:1]
	case len(names) == alternatives+1:
		return names
	}
	return nil
}
