package policy

import (
	"slices"
	"strings"
	"testing"
)

// natural is the policy that people write against one program.
const natural = "default: allow\nrules:\n  - deny: ['Bash(rm *)']\n"

// judgeScripts judges scripts of the tool Bash by a policy.
func judgeScripts(t *testing.T, rules string, want func(Action) bool, scripts ...string) {
	t.Helper()
	p := mustParse(t, rules)
	for _, script := range scripts {
		if v := p.Judge(Call{Tool: "Bash", Arguments: argument("command", script)}); !want(v.Action) {
			t.Errorf("%q: %s by %s (%s)", script, v.Action, v.Rule, v.Reason)
		}
	}
}

func isAllowed(a Action) bool  { return a == Allow }
func notAllowed(a Action) bool { return a != Allow }
func isDenied(a Action) bool   { return a == Deny }

// TestFinding8_DeniedNameIsSeenWhereItMayRun: Finding 8. Each of these removes the file,
// and was allowed.
func TestFinding8_DeniedNameIsSeenWhereItMayRun(t *testing.T) {
	attached := []string{
		"env -S'rm victim'", "nice env -S'rm victim'", `find . -maxdepth 0 -exec env -S'rm victim' \;`, "sudo env -S'rm victim'",
		"sed '1erm victim' f", "sed -e '1erm victim' f", "sed 'erm victim' f", "sed '$erm victim' f", "sed '/x/erm victim' f", "git grep -O'rm victim;' hello",
		"tar -I'rm victim;' -cf a.tar f", "tar -cvI'rm victim;' -f a.tar f", "zip a f -T -TT'rm victim;'",
		"socat - EXEC:'rm x'", "socat - EXEC:rm", "rsync -e'rm x' a b:", "man -P'rm x' ls", "flock f -c'rm x'", "ncat -c'rm x' h 1", "tcpdump -zrm -w f",
		"frob -e'rm x'", "frob -xvIrm", "frob --exec='rm x'", "frob --hook=a:rm", "vim +!rm", "frob 'r\"\"m x'",
	}
	documents := []string{
		"bash -s a <<'E'\nrm victim\nE", "bash -s a <<E\nr\\m victim\nE", "bash -s a <<'E'\nr''m victim\nE", "bash -s a <<< 'rm victim'", "python3 - a <<'E'\nimport os\nos.system('rm victim')\nE",
		"make -f - <<'E'\nx:\n\trm victim\nE", "make -f - <<'E'\nx:\n\t@-rm victim\nE", "make -f- <<< 'x:;rm victim'", "make -f- <<< 'x:;--rm victim'",
		"ed -s f <<< '!rm victim'", "ed -s f <<'E'\n!rm victim\nq\nE", "sqlite3 x.db <<< '.shell rm victim'", "at now <<< 'rm x'", "crontab - <<< '* * * * * rm x'", "psql db <<< '\\! rm x'",
		"docker run -i x <<< 'rm x'", "bash x.sh <<< 'rm x'", "frob <<'E'\nrm x\nE", "{ frob; } <<< 'rm x'", "(make -f -) <<'E'\nx:;rm victim\nE",
		"while read -r line; do frob \"$line\"; done <<< 'rm x'", "timeout 5 make -f - <<< 'x:;rm victim'", "make -f - <<< $'x:;r\\x6d victim'",
		"echo 'x:;rm victim' | make -f -", "echo '* * * * * rm x' | crontab -", "echo '!rm x' | cat | ed -s f", "echo 'rm x' | (cat | docker run -i x)",
	}
	assigned := []string{
		"GIT_EDITOR='rm victim;' git commit", "env GIT_EDITOR='rm victim;' git commit", "export GIT_EDITOR='rm victim;'; git commit", "declare -x GIT_EDITOR='rm victim;'; git commit",
		"GIT_EDITOR='rm victim;'; git commit", "GIT_EXTERNAL_DIFF='rm victim;' git diff", "BASH_ENV=<(echo rm victim) bash -c ls", `MAKEFLAGS='--eval=x:;rm\ victim' make x`,
		`TAR_OPTIONS='--checkpoint=1 --checkpoint-action=exec=rm\ victim' tar -cf a.tar f`, "TAR_OPTIONS=-Irm tar -cf a.tar f", "GIT_SSH_COMMAND='rm x' git fetch", "GIT_PAGER='rm x' git log",
		"PAGER=rm man ls", "LESSOPEN='|rm %s' less f", "GIT_PAGER=r''m git log", `GIT_PAGER=$'\x72m' git log`, "for p in 'rm x'; do GIT_PAGER=$p git log; done", "env -i A=b PAGER='rm x' git log", "sudo PAGER='rm x' git log",
		"for p in 'rm x'; do env GIT_PAGER=$p git log; done", "typeset -x PAGER=rm", "export A=b PAGER=rm", "PAGER=$(echo rm) git log", "A=(rm x) frob",
	}
	files := []string{"echo 'rm victim' > s; sh s", "printf 'rm victim\\n' > s.sh && chmod +x s.sh && ./s.sh", "cat > s <<'E'\nrm victim\nE\n. ./s", "echo 'rm victim' | cat > s; bash s", "bash -c 'echo \"rm x\" > s'; sh s"}
	for _, scripts := range [][]string{attached, documents, assigned, files} {
		judgeScripts(t, natural, notAllowed, scripts...)
		judgeScripts(t, "tools: {Bash: {resource: command, as: shell}}\nrules: [{allow: [Bash]}, {ask: ['Bash(rm *)']}]", notAllowed, scripts...)
	}
	judgeScripts(t, natural, isDenied, "bash -s a <<'E'\nrm victim\nE", "sh -es <<'E'\nrm victim\nE", "sudo bash -s -- a <<'E'\nrm victim\nE")
}

// TestFinding8_EscapesHideNoName: Finding 8. printf and echo -e turn escapes into what ends
// a word.
func TestFinding8_EscapesHideNoName(t *testing.T) {
	judgeScripts(t, natural, notAllowed,
		`printf 'x:\n\trm victim' | make -f -`, `echo -e 'x:\n\trm victim' | make -f -`,
		`echo -e 'cd x\nrm victim' > s.sh; sh s.sh`, `printf '#!/bin/sh\nrm victim\n' > s.sh; ./s.sh`, `printf 'x\012rm victim' > s; sh s`,
		`printf 'x\x0arm victim' > s; sh s`, `printf '\x72m victim' > s; sh s`, `printf '\162m victim\q\' > s; sh s`, `frob 'a\nrm victim'`)
	judgeScripts(t, natural, isAllowed, `printf 'a\nform\n'`, `frob 'a\nform b\'`, `printf 'a\n\tformat\n' > s; make`)
}

// TestFinding8_InnocentScriptsPass: Finding 8, the other side. What only looks like a
// denied name, or is only written, is no reason to ask.
func TestFinding8_InnocentScriptsPass(t *testing.T) {
	judgeScripts(t, natural, isAllowed,
		`git commit -m "rm old files"`, `git commit -am 'rm -rf is gone'`, "git commit -m \"$(cat <<'E'\nrm old files\nE\n)\"", "git log --format=%h", "git log --grep=rm", "clang-format -i a.c", "frob --format json", "frob -format json",
		"frob --confirm", "frob --rm", "docker run --rm alpine ls", "terraform apply -auto-approve", "npm run format", "npm run build -- --rm", "git rm-notes", "frob rmdir x", "frob x/rm.txt", "frob src/rm/main.go", "frob pre-rm", "gcc -Wall -o firmware a.c",
		"echo rm", "grep -rn 'rm -rf' .", "cat <<'E'\nrm x\nE", "cat > notes.md <<'E'\nrm x\nE", "cat <<'E' | sort | uniq -c\nrm x\nE", "cat <<'E' > notes && chmod +x y; frob\nrm x\nE", "psql db <<< 'select 1'", "sqlite3 x.db <<< \"select 'a'\"", "kubectl apply -f - <<'E'\nkind: \"Pod\"\nargs: [rm-old, format]\nE",
		"FOO=bar make test", "X=$(date +%s) make test", "export PATH=\"$HOME/bin:$PATH\" && go build ./...", "GIT_PAGER=cat git log", "NODE_ENV=test npm test", "CFLAGS='-O2 -march=native' make", "env FOO=bar go test ./...", "for f in a b; do echo \"$f\"; done",
		"sed -n '1,5p' f", "sed 's/format/firm/' f", "sed -i 's/alarm/term/g' f", "tar -xzf a.tgz", "tar -czf a.tgz --exclude=charm x", "find . -perm 644 -name '*.go' -exec ls {} +", "zip -r a.zip x", "rsync -avz a b:", "ssh h ls", "make -j4 -C x all",
		"go test ./... > out.txt; python3 report.py out.txt", "bash x.sh", "python3 x.py --confirm", "timeout 5 cat <<< 'rm x'", "terraform plan", "curl -fsSL https://x.example/charm -o a")
	judgeScripts(t, "default: allow\nrules:\n  - deny: ['Bash(dd *)', 'Bash(at *)', 'Bash(ls *)', 'Bash(cat *)']\n", isAllowed,
		"git -C x add .", "git add -u", "git add --all", "frob add x", "frob format", "frob tools", "frob --false", "frob concat x", "make install")
}

// TestNamesAreFoundByKey: a policy of many rules finds the pattern by the name that a text
// holds, as one of few rules does.
func TestNamesAreFoundByKey(t *testing.T) {
	many := "default: allow\nrules:\n"
	for _, name := range []string{"rm", "dd", "aa", "bb", "cc", "ee", "ff"} {
		many += "  - deny: ['Bash(" + name + " *)']\n"
	}
	judgeScripts(t, many, notAllowed, "frob -xrm", "frob x=/bin/rm", "frob rm.exe", "frob exec:rm", "frob rm:x", "frob -IDD", "X='!rm:y' ls", "git -c a='!rm' x", "frob <<< '/bin/rm;'", "sed 5erm f", "frob "+strings.Repeat("a ", 600)+"rm", "frob -"+strings.Repeat("x", 80)+"rm")
	judgeScripts(t, many, isAllowed, "frob farm", "frob x.rms", "X=arm ls", "frob --rm", "frob rm-x")
}

// TestFinding9_LastStarCoversNothingToo: Finding 9. `X *` of a deny or ask pattern
// covers X alone, and what the documentation names as other spellings is asked about.
func TestFinding9_LastStarCoversNothingToo(t *testing.T) {
	const bare = "rules:\n  - allow: [Bash]\n  - deny: ['Bash(git push *)', 'Bash(npm publish *)', 'Bash(terraform destroy *)', 'Bash(shutdown *)', 'Bash(mkfs* *)', 'Bash(git * --hard *)']\n"
	judgeScripts(t, bare, isDenied, "git push", "npm publish", "terraform destroy", "shutdown", "sudo shutdown", "/sbin/shutdown", "timeout 5 npm publish", "git --no-pager push", "mkfs", "mkfs.ext4", "git reset --hard",
		"git push origin", "shutdown now", "git reset --hard HEAD", "ls && git push", "echo $(shutdown)")
	judgeScripts(t, bare, isAllowed, "git pull", "git pushd", "git stash push", "npm publisher", "terraform plan", "shutdown-later", "git reset", "npm run publish")
	judgeScripts(t, bare, notAllowed, "GIT push", "frob shutdown", "make -f- <<< 'x:;shutdown'", "git -C x push")
	const force = "rules:\n  - allow: [Bash]\n  - deny: ['Bash(git push --force *)']\n"
	judgeScripts(t, force, isDenied, "git push --force", "git push --force origin", "git push origin main --force", "sudo git push --force")
	judgeScripts(t, force, notAllowed, "git push -f", "git push -fu origin main", "git push --mirror", "git push --mirror origin", "git push origin +main", "git push origin +HEAD:main", "git push origin -f", "git -C x push origin +main", "git push origin $X")
	judgeScripts(t, force, isAllowed, "git push", "git push origin main", "git push -u origin main", "git pull --force origin", "git push origin main+x", "git tag +x")
	// the last * of an allow pattern is one word or more, but for readers
	judgeScripts(t, "default: ask\nrules:\n  - allow: ['Bash(git push *)', 'Bash(cat *)']\n", func(a Action) bool { return a == Ask }, "git push", "git push --force origin", "git push origin +main")
	judgeScripts(t, "default: ask\nrules:\n  - allow: ['Bash(git push *)', 'Bash(cat *)']\n", isAllowed, "git push origin", "cat x", "cat")
}

// TestFinding30_CommandsAreShownWhole: Finding 30. Redirections, here-documents and the
// variables set for a command are shown with it.
func TestFinding30_CommandsAreShownWhole(t *testing.T) {
	p := mustParse(t, "tools: {Bash: {resource: command, as: shell}}\n")
	for script, want := range map[string][]string{
		"cat > /etc/cron.d/x":                               {"cat > /etc/cron.d/x"},
		"cat > /etc/cron.d/x <<'E'\n* * * * * root sh x\nE": {"cat > /etc/cron.d/x << 'E'\n* * * * * root sh x\nE"},
		"cat <<-E >> \"$X/f\"; ls\n\ta $Y\n\tE":             {"cat <<- E >> \"$X/f\"\n\ta $Y\n\tE", "ls"},
		"bash -s a <<< 'rm x' 2>/dev/null":                  {"bash -s a <<< 'rm x' 2> /dev/null"},
		"ls 2>&1 | tee f":                                   {"ls 2>&1", "tee f"},
		"GIT_EDITOR='vi x' git commit -m 'a b'":             {"GIT_EDITOR='vi x' git commit -m 'a b'"},
		"ls; > f; make":                                     {"ls", "> f", "make"},
		"export PATH=/evil:$PATH; ls":                       {"export PATH=/evil:$PATH", "ls"},
		"X=1 Y=2; ls":                                       {"X=1 Y=2", "ls"},
		"{ ls; make; } > /etc/x":                            {"{ … } > /etc/x", "ls", "make"},
		"(ls) 2>/dev/null":                                  {"ls"},
		"for f in a; do cat $f; done < in > out":            {"{ … } < in > out", "cat a"},
		"sudo sh -c 'cat a > /etc/x; X=1' 2> err":           {"sudo sh -c 'cat a > /etc/x; X=1' 2> err", "sh -c 'cat a > /etc/x; X=1'", "cat a > /etc/x", "X=1"},
		"echo $(cat < in)":                                  {"echo …", "cat < in"},
		"sh <<E\ncat > /etc/x\nE":                           {"sh << E\ncat > /etc/x\nE", "cat > /etc/x"},
	} {
		call := Call{Tool: "Bash", Arguments: argument("command", script)}
		if v := p.Judge(call); !slices.Equal(v.Commands, want) {
			t.Errorf("%q: %q, want %q", script, v.Commands, want)
		}
		if e := p.Explain(call); !slices.Equal(e.Commands, want) {
			t.Errorf("%q: explained as %q, want %q", script, e.Commands, want)
		}
	}
	// conditions see the words of the commands, as before
	judgeScripts(t, "default: allow\nrules: [{deny: [Bash], when: 'commands == [\"cat\"]'}]\n", isDenied, "cat > x", "X=1 cat <<< y")
}
