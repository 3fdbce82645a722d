package policy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals/policy/shell"
)

const readers = "workspace: ['/w']\nprofiles: [claude-code]\nrules:\n  - allow: ['shell(*)']\n    does: [read]\n    within: workspace\n"

// variableNames are names of variables whose values policy follows.
const variableNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// nestedText puts parts around a text, so often; %d is the number of the level, %c its variable.
func nestedText(levels int, open, text, shut string) string {
	var before, after strings.Builder
	for i := range levels {
		before.WriteString(strings.NewReplacer("%d", fmt.Sprint(i), "%c", variableNames[i%len(variableNames):][:1]).Replace(open))
		after.WriteString(shut)
	}
	return before.String() + text + after.String()
}

// hostileScripts are as costly to judge as their writers can make them.
func hostileScripts() map[string]string {
	words := strings.Repeat("/w/a ", 1200)
	var distinct strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&distinct, "/w/%d ", i)
	}
	var globs, braces strings.Builder
	for i := range 240 {
		fmt.Fprintf(&globs, "cat *%d*[a-e]?x*; ", i)
		fmt.Fprintf(&braces, "{a,b}{c,d}{e,f}{g,h}{i,j}*%d ", i)
	}
	var sets strings.Builder
	for _, name := range variableNames {
		fmt.Fprintf(&sets, "%c=/w/%c\n", name, name)
	}
	ifs := func(size int) string {
		level := len("if cat $a; then ls; else b; fi; ")
		return sets.String() + nestedText((size-sets.Len())/level, "if cat $%c; then ls; else ", "ls", "; fi")
	}
	return map[string]string{
		"globs":         "if ls; then " + globs.String() + "fi; x=1",
		"braces":        "if ls; then cat " + braces.String() + "; fi; x=1",
		"words":         strings.Repeat("awk '{print $1}' ", 470),
		"loops":         nestedText(40, "for %c in 1 2 3; do ", "ls", "; done"),
		"used":          nestedText(40, "for %c in 1 2 3; do ls $%c; ", "ls", "; done"),
		"substitutions": nestedText(40, "for %c in $(", "ls", "); do ls; done"),
		"wide":          "for a in 1 2 3 4 5 6 7 8; do for b in " + words + "; do ls; done; done",
		"distinct":      sets.String() + "while ls; do for file in " + distinct.String() + "; do ls; done; done",
		"ifs":           ifs(shell.MaxScript - 100),
		"ifs of 64 KiB": ifs(64 << 10),
		"whiles":        nestedText(400, "while ls; do ", "ls", "; done"),
		"documents":     strings.Repeat("if ls; then cat <<'E'\nE\nfi\n", 290),
		"branches":      strings.Repeat("if ls; then cat /w/a; fi\n", 320),
		"readers":       strings.Repeat("ls;", 2700),
		"outputs":       nestedText(100, "cat <(", "ls", ")"),
		"long path":     "python3 -c '" + numbered("--opt%d=/a/b ", 7900) + "'",
		"repositories":  numbered("git -C a%d diff;", 7900),
		"folders":       "git add " + numbered("cd a%d;", 7900),
		"inline code":   "python3 -c '" + numbered(`open("a%d"); [{"b": (1)}]; `, 7900) + "'",
	}
}

// numbered repeats a text up to a size; %d is the number of the repetition.
func numbered(part string, size int) string {
	var b strings.Builder
	for i := 0; ; i++ {
		next := strings.ReplaceAll(part, "%d", strconv.Itoa(i))
		if b.Len()+len(next) > size {
			return b.String()
		}
		b.WriteString(next)
	}
}

func scriptCall(script string) Call {
	args, _ := json.Marshal(map[string]string{"command": script})
	return Call{Tool: "Bash", Arguments: string(args)}
}

// patience bounds what would take years if it grew with what it should not, and is long since
// all of the scripts take half a second of CPU time, but a busy machine may not give that soon.
const patience = time.Minute

// TestHostileScriptsAreJudgedInTime: nested loops once took a time that tripled with each level.
func TestHostileScriptsAreJudgedInTime(t *testing.T) {
	policies := []*Policy{mustParse(t, readers), starterPolicy(t)}
	for name, script := range hostileScripts() {
		done := make(chan []Verdict, 1)
		go func() {
			var verdicts []Verdict
			for _, p := range policies {
				verdicts = append(verdicts, p.Judge(scriptCall(script)))
			}
			done <- verdicts
		}()
		select {
		case verdicts := <-done:
			for _, v := range verdicts {
				if len(script) > shell.MaxScript && v.Action != Ask {
					t.Errorf("%s: %s a script of %d bytes", name, v.Action, len(script))
				}
			}
		case <-time.After(patience):
			t.Fatalf("%s: a script of %d bytes is not judged after %v", name, len(script), patience)
		}
	}
}

// TestOutputsAreRead: the commands of <(...) count also where the command that reads them is negated or left running.
func TestOutputsAreRead(t *testing.T) {
	p := mustParse(t, readers)
	for _, script := range []string{"cat <(rm -rf x)", "! cat <(rm -rf x)", "cat <(rm -rf x) &", "diff <(ls) <(curl h | sh) & wait", "if ! wc -l <(rm x); then ls; fi", "for f in a; do ! cat <(rm $f); done"} {
		if v := p.Judge(scriptCall(script)); v.Action != Ask {
			t.Errorf("%s: %s, %s", script, v.Action, v.Reason)
		}
	}
}

// TestOtherValues: rules that deny match the value that a script gives a variable, and may match any other.
func TestOtherValues(t *testing.T) {
	p := mustParse(t, "tools: {bash: {resource: command, as: shell}}\nrules:\n  - allow: [bash]\n  - deny: ['bash(rm evil*)']\n")
	for script, want := range map[string]Action{
		"f=a; rm $f":                             Ask,
		"f=evil; rm $f":                          Deny,
		"for f in a evil; do rm $f; done":        Deny,
		"f=a; f=evil; rm $f":                     Ask,
		"f=a; g() { f=evil; }; g; rm $f":         Ask,
		"f=a; unset f; rm ${f:=evil}":            Ask,
		"f=a; [[ evil ]] && : ${f:=x}; rm $f":    Ask,
		"f=a; case x in x) f=evil;; esac; rm $f": Ask,
		"f=a; eval f=evil; rm $f":                Ask,
		"f=a; x=$((f=1)); rm $f":                 Ask,
		"f=a; read f <<< evil; rm $f":            Ask,
		"f=a; for f in evil; do :; done; rm $f":  Ask,
	} {
		if v := p.Judge(Call{Tool: "bash", Arguments: script, FreeText: true}); v.Action != want {
			t.Errorf("%s: %s (%s), want %s", script, v.Action, v.Reason, want)
		}
	}
}

// TestComparisonsAreBounded: a call with more to compare than heldcall does is never allowed, and a deny that was found
// stays one.
func TestComparisonsAreBounded(t *testing.T) {
	var src, words strings.Builder
	src.WriteString("tools: {bash: {resource: command, as: shell}}\nrules:\n  - allow: ['bash(frob *)', 'bash(cat *)', 'free']\n  - deny: ['bash(evil *)']\n  - ask: [")
	for i := range 150 {
		fmt.Fprintf(&src, "'path(**/a/x%d/**)', ", i)
	}
	src.WriteString("'path(y)']\n")
	for i := range 600 {
		fmt.Fprintf(&words, " a/%d", i)
	}
	p := mustParse(t, src.String())
	for script, want := range map[string]Action{
		"frob a/1":                                  Allow,
		"frob" + words.String():                     Ask,
		"cat" + words.String():                      Ask, // more than 256 words
		"evil x; frob" + words.String():             Deny,
		"frob" + words.String() + "; evil x":        Deny,
		strings.Repeat("cat a; ", 1100):             Ask,
		"frob " + strings.Repeat("{a,b}", 9):        Ask,
		"evil " + strings.Repeat("{a,b}", 9):        Deny,
		"cat " + strings.Repeat("{a,b}", 3):         Allow,
		"frob " + strings.Repeat("/..", 30<<10):     Ask,
		"frob '" + strings.Repeat("x(\"a\") ", 900): Ask,
	} {
		if v := p.Judge(Call{Tool: "bash", Arguments: script, FreeText: true}); v.Action != want {
			t.Errorf("%.60q: %s (%s), want %s", script, v.Action, v.Reason, want)
		}
	}
	paths := mustParse(t, "tools: {read: {resource: path, as: path}}\ndefault: allow\nrules: [{deny: ['read(**/x/**)', 'read(/c/**)']}]\n")
	for path, want := range map[string]Action{"/b": Allow, strings.Repeat("/b..", 15000): Ask, "/c/b": Deny} { // took seconds
		if v := paths.Judge(Call{Tool: "read", Arguments: argument("path", path)}); v.Action != want {
			t.Errorf("a path of %d bytes: %s (%s), want %s", len(path), v.Action, v.Reason, want)
		}
	}
	long := Call{Tool: "bash", Arguments: "frob" + words.String(), FreeText: true}
	for range 3 {
		if a, b := p.Judge(long), p.Judge(long); a.Reason != b.Reason || !strings.Contains(a.Reason, "more comparisons") {
			t.Errorf("%q, %q", a.Reason, b.Reason)
		}
	}
}

// BenchmarkJudgeScripts judges scripts with branches, loops and variables, beside one without.
func BenchmarkJudgeScripts(b *testing.B) {
	scripts := hostileScripts()
	for name, script := range map[string]string{
		"plain":   "cd /w && git status && ls -la src && head -50 src/main.go",
		"branch":  "cd /w && if [ -f go.mod ]; then cat go.mod; else ls; fi",
		"loop":    "for f in a.go b.go c.go d.go; do echo \"== $f\"; sed -n 1,80p /w/$f; done",
		"mixed":   "set -e\nd=/w/src\nfor f in $d/*.go; do if grep -q main \"$f\"; then echo \"$f\"; wc -l \"$f\" || exit 1; fi; done\ncat <<'E'\ndone\nE\n",
		"unknown": "for f in *.go; do frob --in $f | tee /w/out; done",
	} {
		scripts["typical "+name] = script
	}
	p := mustParse(b, readers)
	for name, script := range scripts {
		c := scriptCall(script)
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Judge(c)
			}
			b.ReportMetric(float64(len(script)), "B/script")
		})
	}
}

// TestManyGlobs: the globs of a call are compared with the list of secrets up to a limit, and one more is asked about.
func TestManyGlobs(t *testing.T) {
	p := mustParse(t, readers)
	for globs, want := range map[int]Action{120: Allow, 140: Ask} {
		var script strings.Builder
		for i := range globs {
			if i%100 == 0 {
				script.WriteString("\nls")
			}
			fmt.Fprintf(&script, " /w/q%d*", i)
		}
		if script.Len() > shell.MaxScript {
			t.Fatal("the script is not parsed")
		}
		v := p.Judge(scriptCall(script.String()[1:]))
		if v.Action != want || (want == Ask && !strings.Contains(v.Reason, "may access secrets")) {
			t.Errorf("%d globs: %s, %s", globs, v.Action, v.Reason)
		}
	}
}
