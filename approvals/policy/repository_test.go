package policy

import (
	"testing"

	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// bare has the shape of a repository.
func bare(name string, files map[string]string) {
	files[name+"/HEAD"], files[name+"/objects/"], files[name+"/refs/"], files[name+"/config"] = "ref: refs/heads/main\n", "", "", "[diff]\n\texternal = evil\n"
}

// TestForeignRepository: git in a folder that is a repository other than the workspace's own is asked about, whatever the
// repository looks like, and so is who changes the settings of one.
func TestForeignRepository(t *testing.T) {
	files := map[string]string{
		"src/a": "a", "vendored/.git": "gitdir: ../plain\n", "tree/.git": "gitdir: ../.git/worktrees/tree\n", "tree/sub/a": "", ".git/worktrees/tree/HEAD": "x", ".git/worktrees/tree/commondir": "../..",
		"odd/.git": "gitdir: ../tests/fixtures/x.git\n", "linked": "-> tests/fixtures/x.git", "module/.git": "gitdir: ../.git/modules/module\n", "own.git.md": "", "half/HEAD": "x", "half/objects/": "", "linkedgit/.git": "-> ../plain",
		"borrowed/HEAD": "ref: refs/heads/m", "borrowed/commondir": "../plain", "borrowed/config": "",
	}
	bare(".git", files)
	bare("tests/fixtures/x.git", files)
	bare("plain", files)
	bare("nested/.git", files)
	bare(".git/modules/module", files)
	p, folder := seenProject(t, readsAll, files)
	for _, at := range []string{"tests/fixtures/x.git", "APP/tests/fixtures/x.git", "plain", "plain/refs", "nested", "vendored", "odd", "linked", "linkedgit", "borrowed", "not-there"} {
		expectReached(t, p, folder, "Bash", "command", "git -C "+at+" diff", "cd "+at+" && git status", "git -C "+at+" log -1", "cd "+at+"; git diff --stat", "(cd "+at+"; git status)", "cd src && cd ../"+at+" && git show")
	}
	expectAll(t, p, folder, Ask, "Bash", "command", "GIT_DIR=plain git diff", "env GIT_DIR=plain git diff", "export GIT_DIR=plain; git diff", "GIT_WORK_TREE=nested git diff")
	expectReached(t, p, folder, "Bash", "command", "git --git-dir=plain diff", "git --git-dir plain diff", "git --work-tree=nested --git-dir=nested/.git diff",
		"cd plain", "cd tests/fixtures/x.git", "git -C nested -C . diff", "git -C tests -C fixtures/x.git diff", "cd src; cd nested; git diff")
	expectAll(t, p, folder, Allow, "Bash", "command", "git status", "git diff", "git -C src log", "cd src && git status", "git -C APP status", "git -C tree status", "cd tree/sub && git log", "git -C module log", "git -C half log", "cd nested && ls x", "git --version", "git -C .git log", "cat own.git.md")

	expectReached(t, p, folder, "Edit", "file_path", "plain/config", "tests/fixtures/x.git/config", "APP/plain/config", "plain/hooks/post-checkout", "plain/info/attributes", "linked/config", "borrowed/config")
	expectAll(t, p, folder, Allow, "Edit", "file_path", "src/config", "half/config", "config", "nested/a")
	expectReached(t, p, folder, "Bash", "command", "echo x > plain/config", "tee tests/fixtures/x.git/config < src/a", "cp src/a plain/config", "cd plain && echo x > config", "cp src/a linked/config", "echo x >> plain/config")
	expectAll(t, p, folder, Allow, "Read", "file_path", "plain/config")
	expectAll(t, p, folder, Allow, "Bash", "command", "cat plain/config", "cp src/a src/config")

	for _, tt := range []struct { // for rules and trust windows of the workspace
		tool, arguments string
		want            bool
	}{
		{"Bash", `{"command":"git -C src log"}`, true},
		{"Bash", `{"command":"git -C plain log"}`, false},
		{"Edit", `{"file_path":"src/config"}`, true},
		{"Edit", `{"file_path":"plain/config"}`, false},
	} {
		if got := p.evaluate(Call{Tool: tt.tool, Arguments: tt.arguments}).c.Places.Within(); got != tt.want {
			t.Errorf("%s is within the workspace: %t", tt.arguments, got)
		}
	}

	exact := readsAll + "  - allow: ['Bash(git -C plain diff)']\n"
	spelled, folder := seenProject(t, exact, files)
	expectAll(t, spelled, folder, Allow, "Bash", "command", "git -C plain diff")
	expectReached(t, spelled, folder, "Bash", "command", "git -C plain log")

	unseen := p.In(p.Workspace().Of(workspace.Agent{Folder: "/work/app"}))
	expectReached(t, unseen, "/work/app", "Bash", "command", "git -C tests/fixtures/x.git diff", "cd a/x.git && git status", "cd x.git/refs; git diff", "git -C sub/.git log", "echo x > a.git/config")
	expectAll(t, unseen, "/work/app", Allow, "Bash", "command", "git -C src diff", "git status", "cd src && git log", "git -C .git log")
	expectReached(t, unseen, "/work/app", "Edit", "file_path", "a.git/config", "x/a.git/hooks/pre-commit")
	expectAll(t, unseen, "/work/app", Allow, "Edit", "file_path", "a.github/x", ".gitignore", "src/git/config")
}

// TestForeignRepositoryOfSeveral: where the workspace is a folder of repositories, each of them is its own.
func TestForeignRepositoryOfSeveral(t *testing.T) {
	files := map[string]string{}
	bare("one/.git", files)
	bare("two/.git", files)
	bare("two/tests/x", files)
	bare("two/inner/.git", files)
	p, folder := seenProject(t, readsAll, files)
	expectAll(t, p, folder, Allow, "Bash", "command", "git -C one diff", "cd two && git log")
	expectReached(t, p, folder, "Bash", "command", "git -C two/tests/x diff", "git -C two/inner log")
	expectAll(t, p.In(p.Workspace().Of(workspace.Agent{Folder: folder + "/two", Seen: true})), folder, Ask, "Bash", "command", "git -C tests/x diff")
}
