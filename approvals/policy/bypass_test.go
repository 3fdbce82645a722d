package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// generous allows much by pattern, so that what gets past it is the matcher's
// fault.
const generous = `
tools:
  bash: {resource: command, as: shell}
  read: {resource: path, as: path}
  fetch: {resource: url, as: plain}
rules:
  - allow: ["bash(l* *)", "bash(e* *)", "bash(cd *)", "bash(* x)", "bash(npm run test:*)", "bash(git *)", "bash(git status *)", "bash(cat ./src/*)", "bash(sort *)", "bash(rg *)"]
  - allow: ["bash(find *)", "bash(tar *)", "bash(env *)", "bash(sed *)", "bash(make *)", "bash(python *)", "bash(go *)", "bash(man *)"]
  - allow: ["bash(xargs rm)", "bash(sh)", "bash(python3 manage.py test)", "bash(./run.sh fast)", "bash(npm test -- *)", "bash(git log --format=*)"]
  - allow: ["read(./src/**)", "read(/work/*/log)", "read(~/notes/**)", "fetch(https://example.org/*)"]
`

// lenient allows all but what it denies.
const lenient = `
default: allow
tools:
  bash: {resource: command, as: shell, default: allow}
  read: {resource: path, as: path}
  fetch: {resource: url, as: plain}
rules:
  - allow: ["bash"]
  - deny: ["bash(rm:*)", "bash(curl *)", "bash(yarn)", "bash(git push --force *)"]
  - deny: ["read(./secrets/**)", "read(/etc/**)", "read(**/.env)", "read(~/.ssh/**)"]
  - deny: ["fetch(https://evil.example/*)", "raw(rm -rf *)", "raw2(*evil*)"]
`

func argument(field, text string) string {
	quoted, err := json.Marshal(map[string]string{field: text})
	if err != nil {
		panic(err)
	}
	return string(quoted)
}

// TestShellAllow: what may be allowed, and the known ways past other tools'
// permission rules, each never allowed.
func TestShellAllow(t *testing.T) {
	p := mustParse(t, generous)
	f := func(want Action, scripts ...string) {
		t.Helper()
		for _, script := range scripts {
			if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", script)}); v.Action != want {
				t.Errorf("%q: %s by %s (%s), want %s", script, v.Action, v.Rule, v.Reason, want)
			}
		}
	}
	f(Allow, "ls src", "rm x", "npm run test:unit", "git status", "git status src", "cat ./src/a/b.go",
		"ls a && ls b || ls c; ls d | sort x\nls e", "echo 'a; rm -rf / | x > y & (z)'", `echo "a && b"`, "python3 manage.py test",
		"./run.sh fast", "npm test -- --watch", "git log --format=%h", "make x", "ls x | xargs rm", "sh", "ls 'a b'", "\n ls x \n", "echo héllo",
		"(ls x)", "{ ls x; }", "ls x 2>&1", "ls x 2>/dev/null", "ls x > /dev/null 2>&1", "ls x &>/dev/null", "ls x </dev/null", "NO_COLOR=1 ls x", "time ls x", "timeout 5 ls x", "nice -n 5 ls x")
	// branches, loops and background commands, each command allowed
	f(Allow, "ls &", "! ls x", "if ls; then ls; fi", "for x in a; do ls; done", "ls {a,b}", "ls \\\n x")
	// options that a reviewed table knows to be harmless, and globs that can be no option
	f(Allow, "ls -la", "git log -p --oneline -5", "git status --short", "find . -name '*.go'", "sort -k 2 -n x", "rg -i x src", "ls src/*.go", "ls a?", "ls ~", "ls ~/x", "ls x -- -l --evil=1", `ls \*`, "sed -n 5p x | sort x")
	// options that execute or write are no operands
	f(Ask, "git -c core.pager=evil diff", "git diff --output=x", "git status --help", "sort --compress-program=evil x", "sort -o x y",
		"rg --pre evil x", "man -P evil ls", "go vet -vettool=evil", "npm run test --prefix /evil", "git diff --outp=x", "git --exec-path=/evil status", "git --config-env=core.pager=X log",
		"git diff --ext-diff", "git grep -Oevil x", "git branch --edit-description", "find . -exec evil ;", "find . -fprintf f x", "find . -delete", "tar xfC a /", "go test -exec=evil ./x", "go build -toolexec=evil",
		"sort --files0-from=x", "sort -T /x a", "rg --hostname-bin=evil x", "ls --unknown", "sed -n 5w x | sort x")
	// programs that run others, in any place and spelling
	f(Ask, "env ls", "sudo ls", "xargs ls", "sh x", "bash x", "python x", "python3.11 x", "node x", "eval ls", "source x", ". x",
		"exec ls", "timeout 5 rm y", "timeout $X ls x", "command sudo ls", "nice sh x", "time sudo x", "timeout 5* ls x", "nice -n $X ls x", "timeout 5 l* x", "tar x", "sed x y", "awk x", "/usr/bin/ls x", "./ls", "../ls x", "PYTHON x",
		"nohup ls", "'env' ls", "trap x EXIT", "alias ls x", "read PATH", "unset x", "python3 manage.py test x", "./run.sh")
	// interpreters fed by a pipe, though spelled out
	f(Ask, "echo x | sh", "echo x | python3 manage.py test", "echo x | (sh)", "echo x | { sh; }", "echo x | time sh", "echo x | (ls; sh)", "(echo x; ls) | (ls | sh)")
	// substitutions, in every place
	f(Ask, "ls $(rm x)", "ls `rm x`", `ls "$(rm x)"`, "ls \"`rm x`\"", "ls <(rm x)", "ls >(rm x)", "ls $X", "ls ${X}", "ls $((1))", "ls ${v@P}", `ls "$X"`,
		"$(echo ls) x", "$X", "${X:-ls}", "a[$(rm x)]=1 ls", "X=$(rm x) ls", "ls $'\\x67it'", `ls $"x"`, "ls '$X'")
	// assignments, redirections, background, grouping, keywords, comments
	f(Ask, "PATH=/evil ls", "LD_PRELOAD=x ls", "TZ=/evil ls x", "TZ=$X ls x", "GIT_PAGER=evil git log", "X=1 ls x", "X=1", "export PATH=x", "ls x > f", "ls x >> f", "ls x < f", "ls x &> f", "ls x 3>&1", "ls x >&f", "ls x >| /dev/null", "ls x <> /dev/null", "ls x > /dev/null/../x", "ls x > '/dev/null'x", "ls > $X", "ls > $(rm x)",
		"> f", "ls & rm y", "ls |& sort x", "(rm y)", "{ rm y; }", "! rm y", "if ls; then rm y; fi", "for x in a; do rm y; done", "for x in y; do rm $x; done", "ls() { rm x; }; ls", "time rm y",
		"[[ -f x ]]", "((1))", "let x=1", "ls # x", "# ls", "", " ", "ls <<EOF\n$(rm x)\nEOF", "sh <<EOF\nrm x\nEOF", "cat <<< x", "coproc ls")
	// globs, braces, tilde, and what other shells expand
	f(Ask, "sort *", "sort *.go", "sort ?x", "ls .*", "ls src/.*", "ls -*", "sort [ab]", "ls [!ab]", "ls [^a]", "l[s] x", "ls .[a]", "sort {x,-oy}", "ls {a..c}", "{ls,x}", "ls ~root", "ls ~+", "ls =ls", "l* x", "git sta*", "git log --format=x*y -O*", "ls ^a", "ls a!b", "ls %1", `l\s x`, `git "\x"`, `ls "a!b"`)
	// texts that the parser and shells read differently
	f(Ask, "git status #\\\nrm -rf /", "ls x\\\r\n y", "ls x\\\n x", "ls \\\n; rm y", "ls x\r\nrm y", "ls x\\", "ls\rrm x", "ls $\\\nHOME", "ls\x00x", "ls \u200bx", "ls\u00a0x", "ls \x1b[2J")
	// what does not parse, is too long or too deep
	f(Ask, "ls 'x", "ls (x", "ls |", "&& ls", "ls; ;", "ls "+strings.Repeat("x", shell.MaxScript), strings.Repeat("(", 5000)+"ls"+strings.Repeat(")", 5000), strings.Repeat("$(", 4000))
	// * crosses neither commands nor folders
	f(Ask, "cat ./src/../.env", "cat ./src/../../x", "npm run testx", "npm run", "cat ./src/a;cat x > y")
	f(Ask, "npm run test:unit; sudo x", "npm run test\nsudo x", "npm run test && sudo x", "npm run test || sudo x", "npm run test | sudo x", "cd x && sudo y", "ls; # x\nsudo y")
}

func TestPathAllow(t *testing.T) {
	p := mustParse(t, generous)
	f := func(want Action, paths ...string) {
		t.Helper()
		for _, path := range paths {
			if v := p.Judge(Call{Tool: "read", Arguments: argument("path", path)}); v.Action != want {
				t.Errorf("%q: %s by %s, want %s", path, v.Action, v.Rule, want)
			}
		}
	}
	f(Allow, "src/a", "./src/a", "src//a", "src/./a/b/c", "src/x/../y", "/work/a/log", "/x/../work/a/log", "~/notes/x", "src/[id]/$id.tsx", "a/../src/x", "src")
	f(Ask, "src/../.env", "../src/a", "src/../../src/a", "/src/a", "/work/a/b/log", "/work/log", "~/x", "~root/notes/x", "~/notes/../x", "~/../notes/x",
		"", ".", "/", "src/a\x00.txt", "src\\..\\x", "src/..\\x", " src/a", "src/a ", "file:///src/a", "file:src/a", "$HOME/src", "%TEMP%/src", "c:/src/a", "c:src/a",
		"srcx/a", "src/\u202ea", "src/a\n", "~")
}

func TestPlainAllow(t *testing.T) {
	p := mustParse(t, generous)
	f := func(args string, want Action) {
		t.Helper()
		if v := p.Judge(Call{Tool: "fetch", Arguments: args}); v.Action != want {
			t.Errorf("%s: %s by %s, want %s", args, v.Action, v.Rule, want)
		}
	}
	f(`{"url":"https://example.org/x"}`, Allow)
	f(`{"url":"https://example.org.evil/x"}`, Ask)
	f(`{"url":"https://example.org@evil/x"}`, Ask)
	f(`{"url":"HTTPS://EXAMPLE.ORG/x"}`, Ask)
	f(`{"url":null}`, Ask)
	f(`{}`, Ask)
	f(`{"URL":"https://example.org/x"}`, Ask)
	f(`{"url":["https://example.org/x"]}`, Ask)
	f(`{"url":"https://example.org/x\u0000"}`, Ask)
}

// TestDenyReaches: what a deny rule must catch, and what at least must not be
// allowed where it is unknown.
func TestDenyReaches(t *testing.T) {
	p := mustParse(t, lenient)
	f := func(want Action, tool, field string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if v := p.Judge(Call{Tool: tool, Arguments: argument(field, text)}); v.Action != want {
				t.Errorf("%s %q: %s by %s, want %s", tool, text, v.Action, v.Rule, want)
			}
		}
	}
	f(Allow, "bash", "command", "ls -la", "echo $HOME > x", "for x in a b; do echo $x; done", "sudo ls", "python x.py", "env FOO=1 ls", "echo rmx", "git push", "find . -name x")
	f(Deny, "bash", "command", "rm x", "rm", "rm -rf /", "ls; rm x", "ls && rm x", "ls | rm x", "ls & rm x", "ls\nrm x", "(rm x)", "{ rm x; }", "echo $(rm x)", "echo `rm x`",
		`echo "$(rm x)"`, "X=$(rm x) ls", "X=1 rm x", "cat <(rm x)", "if true; then rm x; fi", "f() { rm x; }; f", "cat <<EOF\n$(rm x)\nEOF", "ls > $(rm x)", "! rm x", "time rm x",
		"/bin/rm x", "../bin/rm x", `\rm x`, "r''m x", `"rm" x`, "rm\tx", "rm x &", "yarn test", "git push --force origin", "a[$(rm x)]=1", "${X:-$(rm x)}", "rm $X", "rm *", "rm > f", "  rm x", "rm 'x", "r\\\nm x")
	f(Deny, "bash", "command", "sudo rm x", "sudo -u root -n rm x", "sudo A=b rm x", "env rm x", "env -i A=b rm x", "xargs rm", "xargs -0 -n 5 rm x", "ls | xargs -I% rm %", "find . -exec rm {} +", "find . -name x -execdir rm {} ;", "find . -exec sh -c 'rm \"$1\"' _ {} \\;",
		"bash -c 'rm x'", "bash -c \"r''m x\"", "bash -lc 'ls; rm x'", "sh -o pipefail -ec 'rm x'", "eval 'rm x'", "eval rm x", "eval -- rm x", "{rm,x}", "$'rm' x", "$'\\x72m' x", "$'\\162m' x", "command rm x", "builtin eval rm x", "timeout 5 rm x", "timeout -k 1 5 rm x",
		"nohup nice -n 5 rm x", "exec -a y rm x", "time -p rm x", "busybox rm x", "busybox sh -c 'rm x'", "linux32 rm x", "flock /tmp/l rm x", "flock /tmp/l -c 'rm x'", "su -c 'rm x'", "su root -c ls -c 'rm x'", "ssh h rm x", "watch -n 1 rm x", "sh <<EOF\nrm x\nEOF", "sudo bash <<'EOF'\nrm x\nEOF",
		"sudo env timeout 5 bash -c 'eval \"rm x\"'", "stdbuf -oL rm x", "setsid rm x", "chroot / rm x", "/usr/bin/env /bin/rm x", "SUDO rm x", "coproc rm x", "flock f rm -c ls x", "timeout $X rm x", "env A=$X rm x", "select x in a; do rm x; done", "case x in x) rm x;; esac")
	f(Ask, "bash", "command", "$X y", "r$X y", "$(echo rm) x", "${X}", "setarch x86_64 -R rm x", "ssh -o ProxyCommand='rm x' h ls", "strace -o '|rm x' ls", "su -s /bin/rm x", "env -S 'rm x'", "find . -files0-from x -exec $X",
		"echo rm | xargs -I% % x", "echo rm | xargs -I{} {} x", "echo rm | xargs -ifoo foo x", "xargs --replace=% % x", "xargs -a f $X", "let 'a[$(rm x)]=1'", "test -v 'a[$(rm x)]'", "printf -v \"a[\\$(rm x)]\" x", "f() { \"$@\"; }; f rm x",
		"/bin/r? x", "echo x | sh", "sh", "sh <<EOF\nr\\m x\nEOF", "eval $X", "sh <<<'rm x'", "alias x='rm y'", "python -c 'import os; os.system(\"rm x\")'", "RM x", "ls\r", "\u200brm x",
		"# "+strings.Repeat("x", shell.MaxScript)+"\nrm x", "git push $X origin", "bash -s <<EOF\nr\\m x\nEOF", "python - < x", "git push $X", "rm\u200b x", strings.Repeat("sudo ", 10)+"rm x", strings.Repeat("sudo ", 10)+"ls")
	f(Deny, "read", "path", "secrets/x", "./secrets/x", "src/../secrets/x", "secrets", "/etc/passwd", "//etc/passwd", "/x/../etc/passwd", ".env", "a/b/.env", "/w/.env", "../.env", "~/.ssh/id", "~//.ssh/id", "$HOME///.ssh/id", "~/.//.ssh/id", "$HOME/.ssh/id", "${HOME}/.ssh/id", "~/x/../.ssh/id",
		`secrets\x`, " secrets/x", "file:///etc/passwd")
	f(Ask, "read", "path", "SECRETS/x", "/work/secrets/x", "../app/secrets/x", "../../etc/passwd", "etc/passwd", "/home/me/.ssh/id", "/proc/self/root/x", "$X/y", "C:secrets", "", "/ETC/passwd")
	f(Allow, "read", "path", "src/x", "/work/x", "~/x", "$HOME/x", "public", "publicx/y", "x/env")
	f(Ask, "read", "file", "x") // not the field that the policy judges
	f(Ask, "fetch", "url", "HTTPS://EVIL.example/x")
	f(Deny, "fetch", "url", "https://evil.example/x")
	f(Deny, "raw", "anything", "rm -rf /") // no entry: every string is looked at
	f(Allow, "raw", "anything", "rm x")
	f(Deny, "raw2", "x", "so evil")
}

// TestAmbiguousArguments: nothing allows them, deny rules still see them in
// every reading.
func TestAmbiguousArguments(t *testing.T) {
	p := mustParse(t, lenient)
	f := func(args string, want Action) {
		t.Helper()
		v := p.Judge(Call{Tool: "read", Arguments: args})
		if v.Action != want {
			t.Errorf("%.80s: %s by %s, want %s", args, v.Action, v.Rule, want)
		}
		if len(v.Flags) == 0 || v.AllowRemember || len(v.Suggested) > 0 {
			t.Errorf("%.80s: not flagged, or to be remembered: %+v", args, v)
		}
	}
	f(`{"path":"x","path":"y"}`, Ask)
	f(`{"path":"x","p\u0061th":"y"}`, Ask)
	f(`{"path":"x","PATH":"y"}`, Ask)
	f(`{"path":"x","deep":[{"a":1,"a":2}]}`, Ask)
	f(`{"path":"x","deep":{"K":1,"`+"\u212a"+`":2}}`, Ask)
	f(`{"path":"x"} {"path":"y"}`, Ask)
	f(`{"path":"x"}x`, Ask)
	f(`{"path":"x"`, Ask)
	f(`{"path":"x",}`, Ask)
	f(`{/*x*/"path":"x"}`, Ask)
	f("\ufeff"+`{"path":"x"}`, Ask)
	f("{\"path\":\"x\xff\"}", Ask)
	f(`{"path":"\ud800"}`, Ask)
	f(`{"path":"x","n":1e400}`, Ask)
	f(`{"path":"x","n":9007199254740993}`, Ask)
	f(`{"path":"x","n":NaN}`, Ask)
	f(`["x"]`, Ask)
	f(`null`, Ask)
	f(`"x"`, Ask)
	f(`{"path":"x","deep":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`, Ask)
	f(`{"path":"x","deep":`+strings.Repeat("[", 1<<20), Ask)
	f(`{"path":"`+strings.Repeat("x", match.MaxArguments)+`"}`, Ask)
	f(`{"path":"x","path":"secrets/y"}`, Deny)
	f(`{"path":"secrets/y","path":"x"}`, Deny)
	f(`{"path":"x","PATH":"./secrets/y"}`, Deny)
	f(`{"path":"secrets/y"} junk`, Deny)
	for _, fine := range []string{`{"path":"x","n":9007199254740992,"m":1.5,"deep":{"a":{"path":1}}}`, ` {"path":"x"} `} {
		if v := p.Judge(Call{Tool: "read", Arguments: fine}); v.Action != Allow {
			t.Errorf("%s: %+v", fine, v)
		}
	}
	for _, c := range []Call{{Tool: "read", Arguments: `{"path":"x"}`, Ambiguous: []string{"Cut off."}}, {Tool: "re\u0430d"}, {Tool: "x\n"}, {}} {
		if v := p.Judge(c); v.Action != Ask || len(v.Flags) == 0 {
			t.Errorf("%+v: %+v", c, v)
		}
	}
	if v := mustParse(t, "default: deny").Judge(Call{Tool: "x", Arguments: "["}); v.Action != Deny {
		t.Errorf("a default that denies: %+v", v)
	}
}

func TestFreeText(t *testing.T) {
	p := mustParse(t, `
tools: {patch: {as: path}, run: {resource: x, as: shell}}
rules:
  - allow: ["sql(select *)", "run(ls *)"]
  - deny: ["sql(*drop*)"]
`)
	f := func(tool, text string, want Action) {
		t.Helper()
		if v := p.Judge(Call{Tool: tool, Arguments: text, FreeText: true}); v.Action != want || v.Resource != text {
			t.Errorf("%s %q: %s by %s", tool, text, v.Action, v.Rule)
		}
	}
	f("sql", "select 1", Allow)
	f("sql", "select 1; drop x", Deny)
	f("sql", "select \xff", Ask)
	f("sql", "", Ask)
	f("run", "ls x", Allow)
	f("run", "ls x; y", Ask)
	if v := p.Judge(Call{Tool: "patch", Arguments: `{"x":"y"}`}); v.Action != Ask || len(v.Flags) != 1 {
		t.Errorf("an entry without resource: %+v", v)
	}
}

// TestShellByDefault: a default allows no more than plain words, and what a
// pattern without a * spells out is allowed though a deny rule may reach it.
func TestShellByDefault(t *testing.T) {
	f := func(rules, script string, want Action) {
		t.Helper()
		p := mustParse(t, "default: allow\ntools: {bash: {resource: command, as: shell}}\n"+rules)
		if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", script)}); v.Action != want {
			t.Errorf("%q: %s by %s (%s), want %s", script, v.Action, v.Rule, v.Reason, want)
		}
	}
	f("", "ls -la && rm x", Allow)
	f("", "ls > x", Ask)
	f("", "ls $(rm x)", Ask)
	f("", "ls 'x", Ask)
	f("rules: [{allow: [bash]}]", "ls > x", Allow)
	f("rules: [{deny: ['bash(*)']}]", "ls", Deny)
	f("rules: [{deny: ['bash(rm *)'], allow: ['bash(xargs rm)']}]", "xargs rm", Deny)
	f("rules: [{deny: ['bash(rm *)'], allow: ['bash(python x.py rm)']}]", "python x.py rm", Allow)
	f("rules: [{deny: ['bash(rm *)'], allow: ['bash(* x)']}]", "RM x", Ask)
	f("rules: [{deny: ['bash(rm *)'], allow: ['bash(* x)']}]", "rm x", Deny)
}

// TestParsingIsBounded: many texts that may be the script are not all parsed,
// and then none of it is sure.
func TestParsingIsBounded(t *testing.T) {
	p := mustParse(t, lenient)
	texts := `["` + strings.Repeat(strings.Repeat("ls;", 1000)+`","`, 100) + `(rm x)"]`
	if v := p.Judge(Call{Tool: "bash", Arguments: `{"command":` + texts + `}`}); v.Action != Ask || len(v.Flags) != 2 {
		t.Errorf("%s %q", v.Action, v.Flags)
	}
	if v := p.Judge(Call{Tool: "free", Arguments: strings.Repeat("x", match.MaxArguments+1), FreeText: true}); v.Action == Allow {
		t.Errorf("%s", v.Action)
	}
	if v := mustParse(t, "rules: [{deny: ['x(a*)']}]\ndefault: allow").Judge(Call{Tool: "x", Arguments: `{"x":["b"` + strings.Repeat(`,"b"`, match.MaxReadings) + `]}`}); v.Action != Ask {
		t.Errorf("more texts than are compared: %s", v.Action)
	}
}

// TestSuggestWider: a suggestion with a * is for operands of a program that is
// known, never for what may be another program.
func TestSuggestWider(t *testing.T) {
	p := mustParse(t, "tools: {bash: {resource: command, as: shell}}\n")
	f := func(script string, want ...string) {
		t.Helper()
		if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", script)}); !slices.Equal(v.Suggested, want) {
			t.Errorf("%q: %q, want %q", script, v.Suggested, want)
		}
	}
	f("npm run lint", "bash(npm run lint)")
	f("npm test", "bash(npm test)")
	f("pnpm cli workspace list", "bash(pnpm cli workspace list)")
	f("make test", "bash(make test)")
	f("go test ./...", "bash(go test ./...)", "bash(go test:./**)")
	f("grep -rn foo src | head -5", "bash(grep -rn foo src)", "bash(head -5)", "bash(grep:./**)", "bash(head:./**)")
	f("timeout 60 go vet ./...", "bash(timeout 60 go vet ./...)", "bash(go vet:./**)")
	f("git tag", "bash(git tag)")
	f("git branch", "bash(git branch)")
	f("cat .env", "bash(cat .env)")
	f("cat a .env.example", "bash(cat a .env.example)", "bash(cat:./**)")
	f("find . -name x", "bash(find . -name x)", "bash(find:./**)")
	f("find . -delete", "bash(find . -delete)")
	f("git fetch https://evil.example", "bash(git fetch https://evil.example)")
	f("./cat a", "bash(./cat a)")
	f("ls -- -x", "bash(ls -- -x)")
	f("gh pr view 5", "bash(gh pr view 5)", "bash(gh pr view:./**)")
	f("npm exec evil", "bash(npm exec evil)")
	f("frob run evil", "bash(frob run evil)")
	f("poetry run evil", "bash(poetry run evil)")
	f("git push origin", "bash(git push origin)")
	f("npm run -s lint", "bash(npm run -s lint)")
	f("npm run lint; npm run test", "bash(npm run lint)", "bash(npm run test)")
}

// TestFinding29_NoSuggestionOpensWhatIsWrittenTo: Finding 29. `cp a *` would let the
// agent write to any file.
func TestFinding29_NoSuggestionOpensWhatIsWrittenTo(t *testing.T) {
	policies := []*Policy{
		mustParse(t, "tools: {bash: {resource: command, as: shell}}\n"),
		mustParse(t, "tools: {bash: {resource: command, as: shell}}\nprograms: {tee: {}, install: {}, ln: {}, truncate: {}}\n"),
	}
	for _, p := range policies {
		for _, script := range []string{
			"cp a b", "mv a b", "cp a b c", "mkdir a b", "touch a b", "tee a b", "install a b", "ln a b", "truncate a b", "git mv a b", "git checkout a", "git restore a", "git rm a", "black a b", "ruff format a", "go fmt ./a", "xxd a b",
			"cat a b > c", "npm run lint > c",
		} {
			v := p.Judge(Call{Tool: "bash", Arguments: argument("command", script)})
			if slices.ContainsFunc(v.Suggested, func(pattern string) bool { return strings.Contains(pattern, "*") }) {
				t.Errorf("%q: %q", script, v.Suggested)
			}
		}
	}
	for script, wider := range map[string]string{"cat a b": "bash(cat:./**)", "gh pr view 5": "bash(gh pr view:./**)", "go vet ./... 2>&1": "bash(go vet:./**)"} {
		if v := policies[0].Judge(Call{Tool: "bash", Arguments: argument("command", script)}); len(v.Suggested) != 2 || v.Suggested[1] != wider {
			t.Errorf("%q: %q", script, v.Suggested)
		}
	}
}

// TestFinding28_SuggestionsCoverTheScript: Finding 28. There is one exact pattern for each
// command, and a grant of the patterns without a * allows the call.
func TestFinding28_SuggestionsCoverTheScript(t *testing.T) {
	p := mustParse(t, "tools: {bash: {resource: command, as: shell}}\nrules: [{deny: ['bash(rm *)']}, {allow: ['bash(ls *)']}]\n")
	for script, want := range map[string][]string{
		"npm run lint && npm run test":              {"bash(npm run lint)", "bash(npm run test)"},
		"cd web && npm ci; npm run build | tail -5": {"bash(cd web)", "bash(npm ci)", "bash(npm run build)", "bash(tail -5)", "bash(tail:./**)"},
		"npm run lint && npm run lint":              {"bash(npm run lint)"},
		"ls x && npm run lint":                      {"bash(ls x)", "bash(npm run lint)", "bash(ls:./x/**)", "bash(ls:./**)"},
		"(cd a && make) || { frob 'a b' && true; }": {"bash(cd a)", "bash(make)", "bash(frob 'a b')", "bash(true)", "bash(true:./**)"},
		"timeout 5 npm test && python3 x.py":        {"bash(timeout 5 npm test)", "bash(python3 x.py)"},
		"CI=1 npm test 2>&1 && git commit -m 'a b'": {"bash(npm test)", "bash(git commit -m 'a b')"},
		"npm run lint\nnpm run test\nnpm run build": {"bash(npm run lint)", "bash(npm run test)", "bash(npm run build)"},
	} {
		call := Call{Tool: "bash", Arguments: argument("command", script), Principal: ann, Session: "s", Now: noon}
		v := p.Judge(call)
		if !slices.Equal(v.Suggested, want) {
			t.Errorf("%q: %q, want %q", script, v.Suggested, want)
			continue
		}
		if v := p.With(NewGrants(grant(t, "G1", approvals.GrantAllow, approvals.GrantSession, v.Suggested...))).Judge(call); v.Action != Allow {
			t.Errorf("%q is not allowed by %q: %s", script, want, v.Reason)
		}
	}
}
