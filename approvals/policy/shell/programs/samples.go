package programs

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// Samples returns what may follow the words of a pattern: words that people are likely to write, and words of another kind
// that the tables list. They are candidates: whether a pattern covers them is for the caller to find out.
func (t *Table) Samples(words []string) (likely, apart []string) {
	argv := words[t.startedBy(words):]
	name, _ := Names(argv[0])
	argv = slices.Concat([]string{name}, argv[1:])
	harmless, others := t.subcommands(argv)
	likely = slices.Concat(harmless, commonWords, others)
	walk := openWalk{written: len(argv)}
	if p := t.coverage.open[name]; p != nil {
		walk.chain, walk.level = []*openProgram{p}, p
		for i := 1; i < len(argv); i++ {
			walk.word(argv, i)
		}
	}
	for _, p := range slices.Backward(walk.chain) {
		apart = append(apart, p.samples()...)
	}
	apart = append(apart, t.severeOptions(argv)...)
	if t.Listed(name) {
		apart = append(apart, "--output=x")
	}
	return likely, apart
}

// samples returns words that the entry of a program lists.
func (p *openProgram) samples() (words []string) {
	for _, word := range slices.Sorted(maps.Keys(p.apart)) {
		words = append(words, word+" x")
	}
	if len(words) > 1 {
		words = words[:1]
	}
	if len(p.never) > 0 {
		words = append(words, p.never[0]+" x")
	}
	if len(p.away) > 0 {
		words = append(words, p.away[0]+" /tmp/x")
	}
	return words
}

// wellKnown are subcommands that people know, before others.
var wellKnown = []string{"status", "test", "build", "plan", "list", "ps", "get", "diff", "log", "push", "publish", "apply", "destroy", "delete", "install", "deploy"}

// commonWords may follow any command.
var commonWords = []string{"test", "build --verbose", "src", "x", "--help", "/tmp/a.txt", ".pytest_cache"}

// subcommands returns the words of subcommands that the tables know of a program: those that only read, check or ask, and
// the others, each with well-known ones first.
func (t *Table) subcommands(argv []string) (harmless, others []string) {
	begin := strings.Join(argv, " ") + " "
	for _, command := range slices.Sorted(maps.Keys(t.stated)) {
		words, ok := strings.CutPrefix(command, begin)
		switch {
		case !ok || len(t.stated[command].entries) == 0:
		case t.stated[command].entries[0].Class.OnlyKnown():
			harmless = append(harmless, words)
		default:
			others = append(others, words)
		}
	}
	byFame := func(a, b string) int { return cmp.Compare(fame(a), fame(b)) }
	slices.SortStableFunc(harmless, byFame)
	slices.SortStableFunc(others, byFame)
	return harmless, others
}

// fame is lower for a subcommand that is better known.
func fame(words string) int {
	if at := slices.Index(wellKnown, words); at >= 0 {
		return at
	}
	return len(wellKnown) + strings.Count(words, " ")
}

// severeOptions returns subcommands of a program with an option by which they destroy or run something.
func (t *Table) severeOptions(argv []string) (found []string) {
	begin := strings.Join(argv, " ")
	for _, command := range slices.Sorted(maps.Keys(t.stated)) {
		words, ok := strings.CutPrefix(command, begin)
		if !ok || (words != "" && words[0] != ' ') {
			continue
		}
		for _, e := range t.stated[command].entries {
			if e.option != "" && (e.Class == Destroy || e.Class == Run) {
				found = append(found, strings.TrimPrefix(words+" "+e.option, " "))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b string) int {
		first, _, _ := strings.Cut(a, " ")
		second, _, _ := strings.Cut(b, " ")
		return -cmp.Compare(slices.Index(wellKnown, first), slices.Index(wellKnown, second))
	})
	return found
}

// Siblings returns commands beside the one that words name: of the same program, or another script.
func (t *Table) Siblings(words []string) (siblings []string) {
	last := len(words) - 1
	if last == 0 || isOption(words[last]) {
		return nil
	}
	if script := words[last]; strings.Contains(path.Base(script), ".") {
		return []string{"other" + path.Ext(script)}
	}
	argv := words[t.startedBy(words):last]
	if len(argv) == 0 {
		return nil
	}
	harmless, others := t.subcommands(argv)
	siblings = slices.DeleteFunc(slices.Concat(others, harmless), func(word string) bool {
		return word == words[last] || strings.HasPrefix(word, words[last]+" ")
	})
	if name, base := Names(argv[0]); len(siblings) > 0 || t.coverage.open[name] != nil || !t.isKnown(name, base) {
		siblings = append(siblings, "deploy")
	}
	return siblings
}

// Destroying returns the commands of a program that remove what may not come back, as far as the tables know them.
func (t *Table) Destroying(words []string) []string {
	argv := words[t.startedBy(words):]
	begin := strings.Join(argv, " ") + " "
	var found []string
	for command, stated := range t.stated {
		destroys := slices.ContainsFunc(stated.entries, func(e Entry) bool { return e.Class == Destroy && e.option == "" })
		if strings.HasPrefix(command, begin) && destroys {
			found = append(found, command)
		}
	}
	slices.Sort(found)
	return found
}
