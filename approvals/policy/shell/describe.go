package shell

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals/policy/shell/programs"
)

// Described is what an allow pattern covers, for people.
type Described struct {
	Covers  string // in words
	Nothing string // why the pattern covers no command, and what to write, as the end of a sentence; or ""

	// Likely and Unlikely are commands that it probably covers, and probably does not: the caller judges them.
	Likely, Unlikely []string
	Redirect         bool     // they are redirections, which need a command
	Destroying       []string // those of Likely that remove what may not come back
}

// Describe describes the pattern. name is the tool in it.
func (p *AllowPattern) Describe(t *Programs, name string, as Meaning) Described {
	words := p.sampleWords()
	base := QuoteWords(words)
	switch {
	case p.redirect:
		return p.describeRedirect(words)
	case len(words) == 0:
		return describeAny(p.every)
	case !(p.rest || p.open):
		covers := "this command"
		if !p.SpelledOut {
			covers = "commands with these words"
		}
		return Described{Covers: covers, Likely: []string{base}, Unlikely: []string{base + " --other", base + "; rm -rf x"}}
	}
	d := Described{Covers: p.covers(t, words, as), Nothing: p.nothing(t, words, name)}
	likely, apart := t.Samples(words)
	if p.open {
		d.Likely = append(d.Likely, base)
	}
	if p.every {
		apart = nil
	}
	for _, tail := range likely {
		d.Likely = append(d.Likely, base+" "+tail)
	}
	for _, tail := range apart[:min(len(apart), 1)] {
		d.Unlikely = append(d.Unlikely, base+" "+tail)
	}
	for _, other := range t.Siblings(words) {
		d.Unlikely = append(d.Unlikely, QuoteWords(words[:len(words)-1])+" "+other)
	}
	for _, tail := range apart[min(len(apart), 1):] {
		d.Unlikely = append(d.Unlikely, base+" "+tail)
	}
	d.Unlikely = append(d.Unlikely, base+" x; rm -rf x", base+" x > /etc/hosts")
	if !p.every {
		d.Destroying = t.Destroying(words)
	}
	return d
}

// describeRedirect describes the pattern of a redirection.
func (p *AllowPattern) describeRedirect(words []string) Described {
	covers := "any file, but no device"
	if len(words) > 1 {
		covers = "the file " + words[1]
		if !p.SpelledOut {
			covers = "files like " + words[1]
		}
	} else {
		words = append(words, "out.txt")
	}
	return Described{
		Covers:   map[string]string{">": "writing ", ">>": "appending to ", "<": "reading "}[words[0]] + covers,
		Likely:   []string{words[0] + " " + QuoteWords(words[1:])},
		Unlikely: []string{words[0] + " /etc/hosts", words[0] + " other.txt", words[0] + " /dev/tcp/example.com/80"},
		Redirect: true,
	}
}

// sampleWords are the words of the pattern with text in place of each *.
func (p *AllowPattern) sampleWords() []string {
	var words []string
	for _, g := range p.words {
		words = append(words, strings.Join(g.Parts, "x"))
	}
	return words
}

// describeAny describes a pattern that is stars alone.
func describeAny(every bool) Described {
	d := Described{
		Covers:   "every program with operands and listed options, but those that run others",
		Likely:   []string{"ls src", "cat a.txt", "go test ./...", "npm test", "make test", "gofmt -w a.go", "python a.py", "touch a.txt", "rm /tmp/a.txt", "git fetch origin", "mytool x"},
		Unlikely: []string{"curl https://example.com", "rm -rf src", "sudo ls", "sh -c ls"},
	}
	if every {
		d.Covers = "every command, whatever it does"
		d.Unlikely = []string{"ls $(rm x)", "ls | sh", "ls > /etc/hosts"}
	}
	return d
}

// covers tells what a last * covers.
func (p *AllowPattern) covers(t *Programs, words []string, as Meaning) string {
	text := QuoteWords(words)
	switch {
	case p.below != "":
		return text + " with files below " + p.below + ", and options that the table lists"
	case p.every:
		return text + " with any words, whatever they do"
	}
	if !p.NamesProgram() {
		return "operands and listed options"
	}
	star, _ := t.Star(append(slices.Clip(words), "x"), nil, len(words))
	switch {
	case as != Whole:
	case star.Reach == programs.ReachScript:
		return "all arguments of " + star.File
	case star.Reach == programs.ReachAll:
		return "all words of " + text + ", which is in no table"
	case star.Reach == programs.ReachOpen:
		return "all of " + text + " but what runs, writes or sends something else"
	}
	return text + " with operands, and options that the table lists"
}

// nothing tells why a last * covers nothing, or returns "".
func (p *AllowPattern) nothing(t *Programs, words []string, tool string) string {
	if p.every || !p.NamesProgram() {
		return ""
	}
	if _, ok := t.Star(append(slices.Clip(words), "x"), nil, len(words)); ok {
		return ""
	}
	program, text := words[0], QuoteWords(words)
	name, _ := programs.Names(program)
	w := t.Wrapper(name)
	switch {
	case w != nil && (w.Appends || w.Joins):
		return fmt.Sprintf("covers nothing, as %s runs commands that are not known before: spell the whole command out, or end with ** to cover whatever it runs", program)
	case w != nil && !w.Scripts:
		return fmt.Sprintf("covers nothing, as %s runs other programs: name the program, as in %s(%s make *), or end with ** to cover whatever it runs", program, tool, text)
	case t.IsInterpreter(name):
		return fmt.Sprintf("covers nothing, as %s runs any code: name the script, as in %s(%s scripts/test *), or end with ** to cover whatever it runs", program, tool, program)
	}
	return fmt.Sprintf("covers nothing, as %s runs other programs: spell out the command, as in %s(%s x), or end with ** to cover whatever it runs", program, tool, text)
}

// Every reports whether the pattern ends with **.
func (p *AllowPattern) Every() bool { return p.every }

// IsRedirect reports whether the pattern is for redirections.
func (p *AllowPattern) IsRedirect() bool { return p.redirect }
