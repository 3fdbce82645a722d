package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// readsAll allows every reader, and commits.
const readsAll = `
workspace: [app]
profiles: [claude-code, opencode, gemini-cli]
default: ask
rules:
  - allow: ["Read(**)", "Read(/**)", "Read(~/**)", "Grep(**)", "Grep(/**)", "Glob(**)", "grep(**)", "read_many_files(**)", "Edit(**)", "Edit(/**)"]
  - allow: ["shell(cat:*)", "shell(grep:*)", "shell(rg:*)", "shell(find:*)", "shell(xargs:*)", "shell(tar:*)", "shell(cp:*)", "shell(head:*)", "shell(ls:*)", "shell(wc:*)", "shell(cd:*)", "shell(fd:*)",
            "shell(git:*)", "shell(echo:*)", "shell(tee:*)", "shell(sort:*)", "shell(mkdir:*)", "shell(rsync:*)", "shell(zip:*)"]
`

// tree makes files, with contents, and links, whose contents begin with "-> ", in a folder. Names that end in / are folders.
func tree(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch to, link := strings.CutPrefix(text, "-> "); {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case link:
			err = os.Symlink(to, path)
		default:
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// seenProject is a policy for a folder with files that heldcall sees, and the folder, and a home folder beside it.
func seenProject(t *testing.T, rules string, files map[string]string) (p *Policy, folder string) {
	t.Helper()
	folder, file := project(t)
	home := filepath.Join(filepath.Dir(folder), "home")
	t.Setenv("HOME", home)
	tree(t, home, map[string]string{".ssh/id_rsa": "key", ".aws/credentials": "key", "notes": "-> .ssh/id_rsa"})
	tree(t, folder, files)
	p, err := Parse(file, []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	return p.In(p.Workspace().Of(workspace.Agent{Folder: folder, Seen: true})), folder
}

// expectAll judges calls of one tool. APP is the folder.
func expectAll(t *testing.T, p *Policy, folder string, want Action, tool, field string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		text = strings.ReplaceAll(text, "APP", folder)
		v := p.Judge(Call{Tool: tool, Arguments: argument(field, text)})
		if v.Action != want {
			t.Errorf("%s %q: %s by %s (%s), want %s", tool, text, v.Action, v.Rule, v.Reason, want)
		}
	}
}

// expectReached judges calls that people are asked about because of what they reach.
func expectReached(t *testing.T, p *Policy, folder, tool, field string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		text = strings.ReplaceAll(text, "APP", folder)
		v := p.Judge(Call{Tool: tool, Arguments: argument(field, text)})
		if v.Action != Ask || (!strings.Contains(v.Reason, "may access secrets") && !strings.Contains(v.Reason, "a repository other than")) {
			t.Errorf("%s %q: %s by %s (%s), want a question about what it reaches", tool, text, v.Action, v.Rule, v.Reason)
		}
	}
}

// TestReachedByLinks: a link is what it leads to, in the workspace and out of it, for files and folders, over several links.
func TestReachedByLinks(t *testing.T) {
	p, folder := seenProject(t, readsAll, map[string]string{
		".env": "KEY=1", "src/a.md": "a", "src/notes.md": "-> ../.env", "src/key.md": "-> ../../home/.ssh/id_rsa", "chain": "-> src/notes.md", "keys": "-> ../home/.ssh",
		"harmless": "-> src/a.md", "docs": "-> src", "broken": "-> nowhere", "cloud": "-> ../home/.aws", "src/deep/up": "-> ../..", "self": "-> self",
	})
	reached := []string{"src/notes.md", "APP/src/notes.md", "./src/../src/notes.md", "chain", "src/key.md", "keys/id_rsa", "cloud/config", "docs/notes.md", "src/deep/up/.env", "src/deep/up/chain", "~/notes"}
	if err := os.WriteFile(filepath.Join(folder, "..", "home", ".aws", "config"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	harmless := []string{"src/a.md", "harmless", "APP/harmless", "docs/a.md", "broken", "self", "new", "src/deep/up/harmless"}
	expectReached(t, p, folder, "Read", "file_path", reached...)
	expectAll(t, p, folder, Allow, "Read", "file_path", harmless...)
	for _, reader := range []string{"cat ", "grep -n x ", "head -3 ", "cat < ", "cat a ", "cat -n -- "} {
		for _, path := range reached {
			expectReached(t, p, folder, "Bash", "command", reader+path)
		}
	}
	for _, path := range harmless {
		expectAll(t, p, folder, Allow, "Bash", "command", "cat "+path)
	}
	expectReached(t, p, folder, "Bash", "command", "cd src && cat notes.md", "grep --file=chain x", "cat x | grep -f chain -", "cd docs; cat notes.md", "tar cf x.tar keys")
	expectAll(t, p, folder, Allow, "Bash", "command", "ls -l chain", "wc -l src/a.md", "echo chain", "grep chain src/a.md", "cd src && cat a.md")
	expectReached(t, p, folder, "Edit", "file_path", "chain", "src/key.md")
	v := p.Judge(Call{Tool: "Bash", Arguments: argument("command", "cat chain")})
	if !strings.Contains(v.Reason, "may access secrets") || !strings.Contains(v.Reason, ".env") {
		t.Errorf("the reason is %q", v.Reason)
	}
	unseen := p.In(p.Workspace().Of(workspace.Agent{Folder: folder}))
	expectAll(t, unseen, folder, Allow, "Read", "file_path", "chain")
}

// TestReachedByGlobs: a glob is what it selects.
func TestReachedByGlobs(t *testing.T) {
	p, folder := seenProject(t, readsAll, map[string]string{
		".env": "KEY=1", "src/a.md": "a", "src/notes.md": "-> ../.env", "conf/token.json": "t", "conf/app.json": "a", "clean/a.go": "a", "clean/secrets.go": "package secrets", "clean/sub/b.md": "b", "x/y/deploy_key": "k",
	})
	expectReached(t, p, folder, "Bash", "command",
		"cat src/*.md", "cat src/*", "cat src/n*", "cat src/{a,notes}.md", "cat s?c/[m-o]*", "cat conf/*", "head -1 */*.md", "grep x conf/*.json", "cat APP/src/*.md", "cd src && cat *.md", "cat x/*/*", "cat **/*.json", "sort conf/t*", "cat ~/n*")
	expectAll(t, p, folder, Allow, "Bash", "command", "cat clean/*", "cat clean/*.go", "cat *", "cat none/*", "ls src/*", "wc -l src/*.md", "cat clean/{a,none}.go", "cat clean/**/*.md", "cat src/b*")
	expectReached(t, p, folder, "read_many_files", "paths", "src/*.md", "conf/**")
	expectAll(t, p, folder, Allow, "read_many_files", "paths", "clean/**", "src/b*")
}

// TestAbsoluteGlobs: the paths of the list that are not below every folder are compared with absolute globs, also where
// heldcall does not see the files.
func TestAbsoluteGlobs(t *testing.T) {
	p := mustParse(t, "profiles: [claude-code]\ndefault: ask\nrules:\n  - allow: ['Read(**)', 'Read(/**)', 'shell(cat *)', 'shell(ls *)']\n")
	for want, paths := range map[Action][]string{
		Ask:   {"/e??/shadow", "/etc/sh?dow", "/etc/s[h]adow", "/*/shadow", "/**/shadow", "/etc/*", "/h*me/*/.ssh/*", "/home/*/.s?h/id*", "/etc/{shadow,passwd}", "/{etc,x}/shadow*", "/etc/sudoers.d/*", "/r?n/secrets/*", "/p*c/self/environ", "/root/*", "/roo?/x", "/var/log/auth*", "/var/lib/cloud/*"},
		Allow: {"/usr/include/*.h", "/usr/share/*/copyright", "/usr/lib/python3*/os.py", "/opt/*/README*", "/tmp/*.log", "/var/log/nginx/*.log"},
	} {
		for _, path := range paths {
			for _, call := range []Call{{Tool: "Bash", Arguments: argument("command", "cat "+path)}, {Tool: "Read", Arguments: argument("file_path", path)}} {
				if v := p.Judge(call); v.Action != want {
					t.Errorf("%s %q: %s (%s), want %s", call.Tool, path, v.Action, v.Reason, want)
				}
			}
		}
	}
}

// TestReachedBelow: who reads the files below a folder reads those in the list.
func TestReachedBelow(t *testing.T) {
	p, folder := seenProject(t, readsAll, map[string]string{
		".git/HEAD": "ref: refs/heads/main", ".git/config": "[core]\n", ".git/objects/": "", ".git/refs/": "", ".gitignore": "/.env\nbuild/\n*.log\n!keep.log\n", ".env": "KEY=1",
		"src/a.go": "a", "src/password_reset.go": "x", "src/secrets/vault.go": "x", "build/token.json": "t", "clean/a.go": "a", "clean/b.md": "b", "linked/l.md": "-> ../.env", "linkedfolder/f": "-> ../build",
		"conf/token.json": "t", "hidden/.npmrc": "t", "hidden/a": "a",
	})
	root := folder
	for _, folder := range []string{".", "APP", "conf", "hidden"} {
		for _, command := range []string{"grep -rn '' FOLDER", "grep -r x FOLDER", "grep -R x FOLDER/", "rg -uu x FOLDER", "rg -uuu x FOLDER", "find FOLDER -type f | xargs cat", "find FOLDER -exec cat {} +", "find FOLDER | xargs grep x", "tar c FOLDER", "tar cf x.tar FOLDER", "cp -rL FOLDER /tmp/x", "cp -a FOLDER /tmp/x", "rsync -aL FOLDER /tmp/x", "zip -r x.zip FOLDER", "rg --hidden --no-ignore x FOLDER", "cat $(find FOLDER -type f)"} {
			expectReached(t, p, root, "Bash", "command", strings.ReplaceAll(command, "FOLDER", folder))
		}
	}
	expectReached(t, p, folder, "Bash", "command", "rg -uu x", "grep -rn x", "cd conf && grep -r x .", "cd conf; rg x", "rg x conf", "rg x", "rg x build", "grep -R x linked", "rg -L x linked", "find linked -type f | xargs cat", "cat $(find linked)", "find . -name '*.json' | xargs cat", "find . -name '*.go' -o -name '*.json' | xargs cat",
		"git ls-files conf | xargs cat", "grep -rn x src conf", "grep -rn x *", "cp -r . /tmp/y", "grep -RL x linkedfolder", "rg -L -u x linkedfolder")
	expectAll(t, p, folder, Allow, "Bash", "command", "grep -rn x src", "rg x src", "rg x clean", "grep -rn x clean", "rg x -g '*.go'", "rg -g '!conf' x", "grep -rn --include=*.go x .", "grep -rn --include='*.md' x clean src", "find . -name '*.go' | xargs cat",
		"find . -type f | xargs wc -l", "find . -type f", "find . -type f | head", "rg --files", "find clean -type f | xargs cat", "ls conf | head", "tar -tf x.tar", "cp -r clean /tmp/x", "grep -r x linkedfolder", "grep -r x linked", "rg x linked", "cp -a linked /tmp/x", "cd clean && grep -rn x .", "cd src && rg x", "grep -rn x nowhere-but-clean clean")
	grep := func(want Action, arguments string) {
		t.Helper()
		if v := p.Judge(Call{Tool: "Grep", Arguments: strings.ReplaceAll(arguments, "APP", folder)}); v.Action != want {
			t.Errorf("Grep %s: %s by %s (%s), want %s", arguments, v.Action, v.Rule, v.Reason, want)
		}
	}
	grep(Ask, `{"pattern":"x","path":"conf"}`)
	grep(Ask, `{"pattern":"x","path":"APP"}`)
	grep(Ask, `{"pattern":"x"}`)
	grep(Allow, `{"pattern":"x","path":"linked"}`) // rg reads no links that it meets
	grep(Ask, `{"pattern":"x","path":"build"}`)    // a folder that the call names is not ignored
	grep(Allow, `{"pattern":"x","path":"src"}`)
	grep(Allow, `{"pattern":"x","glob":"*.go"}`)
	grep(Allow, `{"pattern":"x","path":"clean","glob":"*.{go,md}"}`)
	grep(Ask, `{"pattern":"x","path":"conf","glob":"*.json"}`)
	expectAll(t, p, folder, Allow, "Glob", "path", ".", "conf")
	unseen := p.In(p.Workspace().Of(workspace.Agent{Folder: folder}))
	expectAll(t, unseen, folder, Allow, "Bash", "command", "grep -rn '' .")
}

// TestReachedSettingsOfGit: the settings of the repository count if they may hold a key.
func TestReachedSettingsOfGit(t *testing.T) {
	for config, want := range map[string]Action{"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@host:a/b\n": Allow, "[remote \"origin\"]\n\turl = https://u:key@host/a\n": Ask, "[http]\n\textraHeader = Authorization: x\n": Ask} {
		p, folder := seenProject(t, readsAll, map[string]string{".git/HEAD": "ref: refs/heads/main", ".git/config": config, ".git/objects/": "", ".git/refs/": "", "a": "a"})
		expectAll(t, p, folder, want, "Bash", "command", "grep -rn x .")
		expectReached(t, p, folder, "Bash", "command", "cat .git/config")
	}
}

// TestReachedTooMuch: people are asked about files beyond the limit of the look.
func TestReachedTooMuch(t *testing.T) {
	p, folder := seenProject(t, readsAll, map[string]string{"a/a": "a"})
	many := filepath.Join(folder, "many")
	names := map[string]string{}
	for i := range 300 {
		names[fmt.Sprintf("%d", i)] = "x"
	}
	tree(t, many, names)
	expectAll(t, p, folder, Allow, "Bash", "command", "grep -rn x .", "cat many/*")
	p = p.In(p.Workspace().Of(workspace.Agent{Folder: folder, Seen: true, Entries: 200}))
	expectReached(t, p, folder, "Bash", "command", "grep -rn x .", "cat many/*", "rg x many", "find . | xargs cat")
	expectAll(t, p, folder, Allow, "Bash", "command", "grep -rn x a", "cat a/*")
}

// TestReachedWithoutWorkspace: a policy without a workspace looks too.
func TestReachedWithoutWorkspace(t *testing.T) {
	p, folder := seenProject(t, strings.Replace(readsAll, "workspace: [app]\n", "", 1), map[string]string{".env": "x", "n": "-> .env", "a": "a", "x/HEAD": "ref: refs/heads/m", "x/objects/": "", "x/refs/": ""})
	expectReached(t, p, folder, "Read", "file_path", "n", "APP/n")
	expectReached(t, p, folder, "Bash", "command", "cat n", "grep -rn x .", "git -C x diff")
	expectAll(t, p, folder, Allow, "Bash", "command", "cat a", "git diff")
	if p.Workspace() != nil {
		t.Error("the policy has a workspace")
	}
}
