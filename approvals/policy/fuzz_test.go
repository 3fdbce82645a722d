package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
)

const shellPolicy = `
tools: {bash: {resource: command, as: shell}}
rules:
  - allow: ["bash(ls *)", "bash(git status)", "bash(npm run test:*)", "bash(echo *)", "bash(cat ./src/*)", "bash(sudo reboot)", "bash(git log --format=* *)"]
`

// mustHaveCorpus fails where a fuzz target would run without its corpus.
func mustHaveCorpus(f *testing.F) {
	if files, err := os.ReadDir("testdata/fuzz/" + f.Name()); err != nil || len(files) == 0 {
		f.Fatalf("no corpus: %v", err)
	}
}

// FuzzShellAllow: an allowed script has only simple commands of programs
// that are allowed, and with anything appended that runs or writes something
// else it is no longer allowed.
func FuzzShellAllow(f *testing.F) {
	mustHaveCorpus(f)
	p := mustParse(f, shellPolicy)
	allowed := func(script string) bool {
		return p.Judge(Call{Tool: "bash", Arguments: script, FreeText: true}).Action == Allow
	}
	f.Fuzz(func(t *testing.T, script string) {
		if last := script[strings.LastIndexByte(script, '\n')+1:]; strings.Contains(last, "#") || !allowed(script) {
			return // text after a comment is part of it
		}
		for _, more := range []string{
			"; evil", " && evil", " || evil", " | evil", " |& evil", " & evil", "\nevil", " $(evil)", " `evil`", " <(evil)", " ${x:-$(evil)}", "; evil #",
			" > f", " >> f", " < f", " 2>&3", " <<EOF\n$(evil)\nEOF", " & evil &", " $X", " x # x", " \\", " \\\n&& evil", "\revil", "; PATH=1", "; (evil)", "; { evil; }", "; ! evil", "\x00",
			"; if evil; then ls; fi", "; for x in a; do evil $x; done", "; for x in $(evil); do ls; done", "; while ls; do evil; done", "; x=$(evil)", "; x=evil; $x", "; ls &\nevil", "\n# x; evil\n", "; cat <(evil)",
		} {
			if allowed(script + more) {
				t.Errorf("%q is allowed, and still is with %q after it", script, more)
			}
		}
		for _, before := range []string{"evil; ", "evil && ", "evil | ", "X=1 ", "$(evil) ", "! evil; ", "x=$(evil); ", "set -a; ", "evil & ", "> f ", "evil\n", "sudo ", "env ", "( ", "/bin/"} {
			if allowed(before + strings.TrimLeft(script, " \t\n")) { // a line of its own, X=1 changes nothing
				t.Errorf("%q is allowed, and still is with %q before it", script, before)
			}
		}
		onlyPlainCommands(t, script)
	})
}

// onlyPlainCommands looks at an allowed script with nothing of the package.
func onlyPlainCommands(t *testing.T, script string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		t.Fatalf("%q is allowed and does not parse: %v", script, err)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.File, *syntax.Stmt, *syntax.BinaryCmd, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Redirect, *syntax.CmdSubst, *syntax.ProcSubst:
		case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.WordIter, *syntax.ParamExp, *syntax.Block, *syntax.Subshell, *syntax.Assign, *syntax.DeclClause, *syntax.Comment:
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				return true
			}
			name := n.Args[0]
			for len(name.Parts) == 1 {
				if quoted, ok := name.Parts[0].(*syntax.DblQuoted); ok {
					name = &syntax.Word{Parts: quoted.Parts}
					continue
				}
				if quoted, ok := name.Parts[0].(*syntax.SglQuoted); ok {
					name = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: quoted.Value}}}
				}
				break
			}
			known := " ls git npm echo cat sudo set exit break continue wait "
			if len(name.Parts) == 1 && !strings.Contains(known, " "+name.Lit()+" ") {
				t.Errorf("%q is allowed and runs %q", script, name.Lit())
			}
		default:
			t.Errorf("%q is allowed and has a %T", script, n)
		}
		return true
	})
}

// FuzzJudge: whatever the call, there is one complete verdict, and nothing that
// has more than one reading is allowed or approved by silence.
func FuzzJudge(f *testing.F) {
	mustHaveCorpus(f)
	policies := []*Policy{
		mustParse(f, "default: allow"),
		mustParse(f, "rules: [{allow: ['*']}]"),
		mustParse(f, "rules: [{ask: ['*'], on_timeout: approve}]"),
		mustParse(f, generous), mustParse(f, lenient), mustParse(f, designPolicy), Default(),
	}
	f.Fuzz(func(t *testing.T, tool, arguments string, freeText bool) {
		ambiguous := !freeText && strings.Trim(arguments, " \t\r\n") != "" &&
			(!jsontext.Value(arguments).IsValid() || jsontext.Value(arguments).Kind() != '{')
		for i, p := range policies {
			c := Call{Tool: tool, Arguments: arguments, FreeText: freeText}
			v := p.Judge(c)
			switch {
			case v.Rule == "" || v.Reason == "" || v.Risk == "" || strings.ContainsAny(v.Preview, "\n\x1b"):
				t.Errorf("policy %d: incomplete: %+v", i, v)
			case v.Action == Ask && (v.Timeout <= 0 || v.OnTimeout == "" || v.RequiredApprovals < 1 || v.Suggested == nil):
				t.Errorf("policy %d: an incomplete question: %+v", i, v)
			case v.Action != Ask && v.Action != Allow && v.Action != Deny:
				t.Errorf("policy %d: %+v", i, v)
			case ambiguous && (v.Action == Allow || v.OnTimeout == approvals.OnTimeoutApprove || (v.Action == Ask && len(v.Flags) == 0)):
				t.Errorf("policy %d: more than one reading: %+v", i, v)
			}
			if by, ok := p.allowsAny(&Call{Tool: tool}); ok && !freeText && len(match.CheckArguments(arguments)) == 0 && (v.Action != Allow || v.Rule != by.Rule) {
				t.Errorf("policy %d: allowed by name, and not: %+v", i, v)
			}
			twice := c
			twice.FreeText, twice.Arguments = false, strings.Replace(arguments, "{", `{"twice":1,"twice":2,`, 1)
			if twice.Arguments != arguments && p.Judge(twice).Action == Allow {
				t.Errorf("policy %d: allowed with a name twice: %s", i, twice.Arguments)
			}
			c.Ambiguous = []string{"Cut off."}
			if p.Judge(c).Action == Allow {
				t.Errorf("policy %d: allowed though ambiguous", i)
			}
		}
	})
}

// FuzzParse: any file is a policy, or returns an error with a place.
func FuzzParse(f *testing.F) {
	mustHaveCorpus(f)
	f.Fuzz(func(t *testing.T, src string) {
		p, err := Parse("p.yaml", []byte(src))
		if (p == nil) == (err == nil) {
			t.Fatalf("%v, %v", p, err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "p.yaml") {
				t.Errorf("the error has no place: %v", err)
			}
			return
		}
		p.Judge(Call{Tool: "bash", Arguments: `{"command":"ls; $(x)","path":"../a"}`})
	})
}
