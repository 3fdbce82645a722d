package policy

import "strings"

// program is what the table says of a program's options, or of those of a
// subcommand: see programs.yaml.
type program struct {
	flags    string
	values   string
	long     map[string]bool
	words    map[string]bool
	numbers  bool
	dashes   bool
	spell    int
	most     int // below 0: any number
	commands map[string]*program
}

// starMay says of each word of a command whether a * in an allow pattern may
// stand for it: for operands, and for options that the table lists.
func (t *programs) starMay(argv []string, wild []bool) []bool {
	w := optionWalk{at: t.options[argv[0]]}
	may := make([]bool, len(argv))
	for i, word := range argv[1:] {
		may[i+1] = w.word(word, wild != nil && wild[i+1])
	}
	return may
}

// optionWalk goes through the words of a command from left to right.
type optionWalk struct {
	at       *program // nil: nothing is known of its options
	operands int
	only     bool // -- has been: no more options
	value    bool // the next word is an option's value
}

func (w *optionWalk) word(word string, wild bool) bool {
	switch {
	case w.at == nil:
		return !isOption(word)
	case w.value:
		w.value = false
		return !isOption(word) && !(wild && w.at.most >= 0)
	case w.only || !isOption(word) || word == "-":
		return w.operand(word, wild)
	case word == "--":
		w.only = w.at.dashes
		return w.at.dashes
	}
	listed, takesNext := w.at.option(word)
	w.value = takesNext
	return listed
}

func (w *optionWalk) operand(word string, wild bool) bool {
	if w.at.commands != nil {
		w.at = w.at.commands[word]
		return w.at != nil
	}
	w.operands++
	if wild && (w.at.most >= 0 || w.operands <= w.at.spell) {
		return false // it may be several
	}
	return w.operands > w.at.spell && (w.at.most < 0 || w.operands <= w.at.most)
}

// option reports whether a word is an option that is listed, and whether the
// next word is its value.
func (p *program) option(word string) (listed, takesNext bool) {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		name, _, _ = strings.Cut(name, "=")
		return p.long[name], false
	}
	if name, value, _ := strings.Cut(word, "="); p.words[name] {
		return value == "" || !isOption(value), false
	}
	if p.numbers && strings.Trim(word[1:], "0123456789") == "" {
		return true, false
	}
	for i := 1; i < len(word); i++ {
		switch {
		case strings.IndexByte(p.values, word[i]) >= 0:
			return true, i == len(word)-1
		case strings.IndexByte(p.flags, word[i]) < 0:
			return false, false
		}
	}
	return true, false
}

// programNames are the names under which a program may be known: without folder,
// .exe and letter case, and without its version.
func programNames(word string) (name, base string) {
	name = word[strings.LastIndexByte(word, '/')+1:]
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	return name, strings.TrimRight(name, "0123456789.-")
}

// among reports whether a program is one of those.
func among(all map[string]bool, word string) bool {
	name, base := programNames(word)
	return all[name] || all[base]
}

// wrapper is how a program runs another one, or nil.
func (t *programs) wrapper(word string) *wrapper {
	name, base := programNames(word)
	if w := t.wrappers[name]; w != nil {
		return w
	}
	return t.wrappers[base]
}

// runsOthers reports whether a program runs other programs or the text it is
// given. An allow pattern covers it only if it spells out the whole command, or
// where the table of options says for what a * may stand.
func (t *programs) runsOthers(word string) bool {
	return t.wrapper(word) != nil || among(runners, word) || isInterpreter(word)
}

// isInterpreter reports whether a program runs what it is given as a script or
// reads on its input.
func isInterpreter(word string) bool { return among(interpreters, word) }

// isShell reports whether a program reads shell scripts of the kind that is
// parsed here.
func isShell(word string) bool { return among(shells, word) }

var (
	shells       = set("sh bash rbash dash zsh ksh mksh ash")
	interpreters = set(`sh bash rbash dash zsh ksh mksh ash fish csh tcsh pwsh powershell cmd
		python pypy ipython node nodejs deno bun ruby irb perl php lua luajit tclsh wish r rscript julia ghci
		awk gawk mawk nawk osascript groovy scala jshell sqlite psql mysql mongo mongosh redis-cli bc dc m4`)
	// runners run others in ways that are not seen through, and what changes for
	// the shell itself what later words mean.
	runners = set(`parallel entr expect crontab at batch tmux screen systemd-run start-stop-daemon daemonize
		scp sftp rsync docker podman nerdctl kubectl oc vagrant npx pnpx bunx uvx uv pipx gdb lldb perf valgrind
		git find fd make gmake cmake ninja bazel just task tar zip sed ed ex vi vim nvim emacs nano less more man
		ld ldd install doas mail sendmail logrotate run-parts dpkg rpm apt apt-get yum dnf brew pip gem
		source . trap alias unalias set shopt enable hash unset read mapfile readarray getopts bind complete coproc
		fc history export declare typeset local readonly`)
)

func set(names string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(names) {
		all[name] = true
	}
	return all
}
