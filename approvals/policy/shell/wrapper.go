package shell

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// inside is the commands that a command runs, as far as its words show.
type inside struct {
	commands [][]word
	scripts  []string
	own      []word // the words in front, of a program that sets variables
	certain  bool   // that is all
	hides    bool   // it may be anything
}

// look finds the commands that a program runs.
func (t *Programs) look(words []word) inside {
	if !words[0].certain() {
		return inside{}
	}
	name, _ := programs.Names(words[0].Text)
	switch w := t.Wrapper(name); {
	case t.IsShell(name):
		return shellScript(words)
	case name == "find":
		return findCommands(words)
	case w == nil:
		return inside{}
	default:
		return look(w, words)
	}
}

func look(w *programs.Wrapper, words []word) inside {
	if w.Scripts {
		return inside{scripts: scriptOptions(words)}
	}
	rest, ok := wrapped(w, words)
	own := words[1 : len(words)-len(rest)] // the words before the command
	found := inside{certain: allCertain(own)}
	if w.Assigns {
		found.own = own
	}
	switch {
	case ok && w.OrScript && isScriptCall(rest):
		found.scripts = []string{rest[1].Text}
		return found
	case !ok || (len(rest) > 0 && (isOption(rest[0].Text) || !w.MayRun(rest[0].Text))):
		return inside{hides: w.Appends}
	case len(rest) == 0:
		found.certain = found.certain && w.Appends // which then only writes what it reads
		return found
	case w.Joins:
		if !allCertain(rest) {
			return inside{}
		}
		found.scripts = []string{joinWords(rest)}
		return found
	case w.Appends:
		rest = appended(rest, own)
	}
	found.commands = [][]word{rest}
	return found
}

func isScriptCall(words []word) bool {
	return len(words) == 2 && words[0].Text == "-c" && words[1].certain()
}

func allCertain(words []word) bool {
	return !slices.ContainsFunc(words, func(one word) bool { return !one.certain() })
}

func joinWords(words []word) string {
	texts := make([]string, len(words))
	for i, one := range words {
		texts[i] = one.Text
	}
	return strings.Join(texts, " ")
}

// appended returns a command with the input of xargs, at its end or at the value of option -I.
func appended(command, options []word) []word {
	for i, one := range options {
		_, mark, found := strings.Cut(one.Text, "I")
		if !found || !isOption(one.Text) || strings.HasPrefix(one.Text, "--") {
			continue
		}
		if mark == "" && i+1 < len(options) {
			mark = options[i+1].Text
		}
		return replaced(command, mark)
	}
	return append(command[:len(command):len(command)], word{Text: unknown, Open: unknown})
}

// replaced is a command with unknown text in place of a mark.
func replaced(command []word, mark string) []word {
	all := make([]word, len(command))
	for i, one := range command {
		if before, _, holds := strings.Cut(one.Text, mark); holds {
			one = word{Text: strings.ReplaceAll(one.Text, mark, unknown), Open: before + unknown}
		}
		all[i] = one
	}
	return all
}

// wrapped returns the words after a wrapper's own options and operands.
func wrapped(w *programs.Wrapper, words []word) ([]word, bool) {
	texts := make([]string, len(words))
	for i, one := range words {
		texts[i] = one.Text
	}
	n, ok := w.Own(texts)
	if !ok || slices.ContainsFunc(words[:n], func(one word) bool { return isOption(one.Text) && !one.certain() }) {
		return nil, false
	}
	return words[n:], true
}

// scriptOptions are the values of -c and --command, in any place.
func scriptOptions(words []word) []string {
	var scripts []string
	for i, one := range words {
		if (one.Text == "-c" || one.Text == "--command") && i+1 < len(words) && words[i+1].certain() {
			scripts = append(scripts, words[i+1].Text)
		}
		if text, ok := strings.CutPrefix(one.Text, "--command="); ok && one.certain() {
			scripts = append(scripts, text)
		}
	}
	return scripts
}

func shellScript(words []word) inside {
	given := false // -c
	for i := 1; i < len(words); i++ {
		text := words[i].Text
		switch {
		case !words[i].certain():
			return inside{}
		case text == "--" || text == "-":
		case text == "--rcfile" || text == "--init-file":
			i++
		case strings.HasPrefix(text, "--"):
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
			given = given || strings.Contains(text, "c")
			i += strings.Count(strings.ToLower(text), "o")
		case given:
			return inside{scripts: []string{text}, certain: true}
		default:
			return inside{} // a file
		}
	}
	return inside{}
}

func findCommands(words []word) inside {
	found := inside{certain: true}
	for i := 1; i < len(words); i++ {
		if !words[i].certain() && (words[i].Open == unknown || isOption(words[i].Open)) {
			return inside{}
		}
		switch words[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			continue
		}
		begin := i + 1
		for i++; i < len(words) && words[i].Text != ";" && words[i].Text != "+"; {
			i++
		}
		if begin >= i {
			return inside{}
		}
		found.commands = append(found.commands, replaced(words[begin:i], "{}"))
	}
	return found
}
