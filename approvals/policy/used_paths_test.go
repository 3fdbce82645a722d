package policy

import (
	"strings"
	"testing"
)

// TestPathsOfCommands is finding Q7: a path that a rule denies or asks about is so for tools, commands and redirections,
// whether they read or write it.
func TestPathsOfCommands(t *testing.T) {
	for action, list := range map[Action]string{Deny: "deny", Ask: "ask"} {
		p := mustParse(t, "tools: {read_file: {resource: path, as: path, risk: low}}\nrules:\n  - "+list+": ['path(./private/**)']\n  - allow: ['bash', 'read_file', 'Read', 'Write', 'Edit', 'Grep', 'apply_patch']\n")
		for _, command := range []string{
			"cat private/x", "head -n 3 ./private/a/b", "grep -n x private/x", "cp private/x y", "cp y private/x", "mv private/x y", "cat < private/x", "echo x > private/x", "echo x >> ./private/x",
			"cd private && cat x", "sed -n p private/x", "sed -i s/a/b/ private/x", "tee private/x < y", "ls private", "wc -l src/a private/x", "git log -- private/x", "sudo cat private/x", "bash -c 'cat private/x'",
			"for f in private/x; do cat $f; done", "diff a private/x", "tar -tf private/x.tar", "rm private/x", "touch private/x", "src/../private/x; cat src/../private/x", "xargs cat private/x", "timeout 5 cat private/x",
		} {
			if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", command)}); v.Action != action {
				t.Errorf("%s: %q is %s by %s (%s)", list, command, v.Action, v.Rule, v.Reason)
			}
		}
		for tool, arguments := range map[string]string{
			"read_file": argument("path", "private/x"), "Read": argument("file_path", "private/x"), "Write": argument("file_path", "private/x"),
			"Edit": argument("file_path", "./private/x"), "apply_patch": argument("input", "*** Begin Patch\n*** Delete File: private/x\n*** End Patch"),
		} {
			if v := p.Judge(Call{Tool: tool, Arguments: arguments}); v.Action != action {
				t.Errorf("%s: %s %s is %s by %s", list, tool, arguments, v.Action, v.Rule)
			}
		}
		for _, command := range []string{"frob private/x", "python3 x.py private/x", "cat privat*/x", "cat private*", "cat PRIVATE/x", "cd src; cat ../private/x"} {
			if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", command)}); v.Action == Allow {
				t.Errorf("%s: %q is allowed by %s", list, command, v.Rule)
			}
		}
		if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", "git commit -m private/x")}); v.Action != Ask { // it may be the message
			t.Errorf("%s: a message like a path is %s by %s", list, v.Action, v.Rule)
		}
		for _, command := range []string{"cat src/x", "cat privates/x", "echo private/x", "ls", "git commit -m src/x", "cat src/private.go"} {
			if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", command)}); v.Action != Allow {
				t.Errorf("%s: %q is %s by %s (%s)", list, command, v.Action, v.Rule, v.Reason)
			}
		}
	}
}

// TestPathsThatAreOnlyRead: with a condition on the risk, a rule for paths leaves commands that only read them, as it does
// with the tools that read files.
func TestPathsThatAreOnlyRead(t *testing.T) {
	p := mustParse(t, "rules:\n  - ask: ['path(**/.github/**)']\n    when: risk != \"low\"\n  - deny: ['path(./locked/**)']\n    when: 'risk == \"high\" && tool == \"bash\"'\n  - allow: ['bash', 'Read', 'Write']\n")
	for command, want := range map[string]Action{
		"cat .github/x": Allow, "cat < .github/x": Allow, "cp .github/x y": Allow, "cp y .github/x": Ask, "cat .github/x > .github/y": Ask,
		"cat locked/x": Allow, "cp y locked/x": Deny,
	} {
		if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", command)}); v.Action != want {
			t.Errorf("%q: %s by %s (%s), want %s", command, v.Action, v.Rule, v.Reason, want)
		}
	}
}

// TestDenyOfOneTool: a rule that denies files to one tool that reads is warned of, unless the same paths are denied to all.
func TestDenyOfOneTool(t *testing.T) {
	for src, want := range map[string]bool{
		"rules: [{deny: ['read_file(./private/**)']}]\ntools: {read_file: {resource: path, as: path, risk: low}}\n": true,
		"rules: [{deny: ['Read(./private/**)']}]\n":                                                                 true,
		"rules: [{deny: ['Read(./private/**)', 'path(./private/**)']}]\n":                                           false,
		"rules: [{deny: ['path(./private/**)']}]\n":                                                                 false,
		"rules: [{deny: ['Write(./private/**)']}]\n":                                                                false,
		"rules: [{deny: ['Read']}]\n":                                                                               false,
		"rules: [{ask: ['Read(./private/**)']}]\n":                                                                  false,
	} {
		warnings := strings.Join(mustParse(t, src).Warnings(), "\n")
		if warned := strings.Contains(warnings, "commands can read the same files: write path(./private/**) for every tool and command."); warned != want {
			t.Errorf("%s: %s", src, warnings)
		}
	}
}
