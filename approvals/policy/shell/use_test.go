package shell

import (
	"slices"
	"strings"
	"testing"
)

// TestUses: each use as "class: program subcommand, access path, ...".
func TestUses(t *testing.T) {
	f := func(src string, want ...string) {
		t.Helper()
		var got []string
		for _, c := range KnownPrograms().Parse(src).Acting() {
			u := KnownPrograms().Use(c)
			text := string(u.Class) + ": " + strings.TrimSpace(u.Program+" "+u.Subcommand)
			for _, p := range u.Paths {
				text += ", " + string(p.Access) + " " + p.Text
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", src, got, want)
		}
	}
	f("cat a b", "read: cat, read a, read b")
	f("timeout 5 grep -n foo src | head -5", "read: grep, read src", "read: head")
	f("grep -efoo /etc/passwd", "read: grep, read /etc/passwd")
	f("grep -f/etc/passwd x", "read: grep, use /etc/passwd, read x")
	f("find -L /etc -name x", "read: find, read /etc")
	f("find . -delete", "destroy: find, write .")
	f("find . -exec rm {} +", ": find, use ., use rm, use {}, use +", "destroy: rm, write …")
	f("sort -o x y", ": sort, use x, use y")
	f("sort $X", ": sort, use …")
	f("cat $X", "read: cat, read …")
	f("git --no-pager log -p src", "read: git log, read src")
	f("git branch", "read: git branch")
	f("git branch x", "write: git branch, write x")
	f("git branch -D x", "destroy: git branch, write x")
	f("git checkout -b x", "write: git checkout, write x")
	f("git checkout -b x -f", "destroy: git checkout, write x")
	f("git checkout f", "destroy: git checkout, write f")
	f("git restore --staged f", "write: git restore, write f")
	f("git restore --staged -W f", "destroy: git restore, write f")
	f("git reset --har", "destroy: git reset")
	f("git stash drop", "destroy: git stash drop")
	f("git push origin", "send: git push")
	f("git push --force", "destroy: git push")
	f("git -c alias.x='!evil' x", "run: git, use alias.x=!evil, use x")
	f("cp a b c", "write: cp, read a, read b, write c")
	f("apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch\nE", "write: apply_patch, write a, write b")
	f("apply_patch <<'E'\n*** Add File: a\nE", ": apply_patch, use a")
	f("apply_patch <<'E' <f\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nE", "read: <, read f", ": apply_patch")
	f("apply_patch a", ": apply_patch")
	f("go test ./...", "check: go test, use ./...")
	f("go test -exec evil", ": go test, use evil")
	f("npm run lint", "check: npm run")
	f("npm run test:unit", "check: npm run")
	f("npm run test:deploy", "run: npm run, use test:deploy")
	f("npm run deploy", "run: npm run, use deploy")
	f("make -j4 test", "check: make")
	f("make test SHELL=evil", "run: make, use test, use SHELL=evil")
	f("make -f evil test", "run: make, use evil, use test")
	f("pnpm cli workspace deploy", ": pnpm, use cli, use workspace, use deploy")
	f("npm publish", "publish: npm publish")
	f("npm install x", "install: npm install")
	f("sudo -n ls", "privilege: sudo", "read: ls")
	f("sh -c 'rm x'", "destroy: rm, write x")
	f("./ls x", "run: ls, use x")
	f("/bin/ls x", "read: ls, read x")
	f("python3 x.py", "project: python3, use x.py")
	f("cd d && ls >> f 2>&1 < /etc/x", "read: cd, read d", "write: >, write f", "read: <, read /etc/x", "read: ls")
	f("ls > $X", "write: >, write …", "read: ls")
	f("git -C /x --no-pager log a", "read: cd, read /x", "read: git log, read a")
	f("kubectl -n x --context=y delete pod z", "destroy: kubectl delete")
	f("git -c a=b -C /x log", "run: git, use a=b, use /x, use log")
	f("frob x", ": frob, use x")
	f("curl -d @x https://a", "send: curl")
	f("kubectl get pods", "fetch: kubectl get")
	f("kubectl delete pod x", "destroy: kubectl delete")
}
