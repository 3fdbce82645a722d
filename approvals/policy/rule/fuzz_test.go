package rule

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// FuzzIndex: every deny pattern that matches a call, or may match it, is found by the keys
// of the call, whether the text is the resource or an unknown argument. Every allow pattern that
// covers a command is found by the keys of the command and of the call.
func FuzzIndex(f *testing.F) {
	src := tools + "rules:\n"
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		src += "  - deny: ['shell(" + name + " *)', 'shell(git " + name + ")', 'path(" + name + "/**)', 'path(**/" + name + ".x)', 'path(" + name + ")', 'url(https://" + name + ".example/**)', 'url(*://**." + name + ")', 'plain(" + name + ")']\n" +
			"  - allow: ['shell(" + name + ":*)', 'shell(" + name + " x)', 'shell(git " + name + "*)', 'shell(" + name + "* y)', 'shell(> " + name + "*)', 'shell(cd " + name + ")']\n"
	}
	set, err := Parse("policy.yaml", []byte(src))
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"sudo c x", "frob -xc", "C x", "echo c x | d", "git c", "c/y", "z/c.x", "../c", `c\y`, "https://c.example/y", "HTTP://C.example.", "https://c%2eexample/", "ws://x.c", "c", "C", "c:y z && d x", "nice c x", "git -C c git d", "ls >> c", "cc y | git dd", "env c x", "'c' x", "xargs c x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		neutral := map[string]string{"path": "z", "shell": "ls", "url": "https://z.example", "plain": "z"}
		for _, args := range []map[string]any{{"x": text}, {"x": nil, "more": text}} {
			for tool, none := range neutral {
				if args["more"] != nil {
					args["x"] = none
				}
				arguments, err := json.Marshal(args)
				if err != nil {
					t.Fatal(err)
				}
				c := parseCall(set, tool, string(arguments))
				found := slices.Collect(set.Deny.Candidates(tool, c.Kind, c.Keys.Texts, c.Keys.Any))
				for _, p := range set.Deny.All {
					if p.IsFor(tool, c.Kind) && p.Compare(c) != match.No && !slices.Contains(found, p) {
						t.Errorf("%s %s: %s matches and is not found", tool, arguments, p.Text)
					}
				}
				for _, script := range c.Scripts() {
					coveringIsFound(t, set, c, script.All)
				}
			}
		}
	})
}

// coveringIsFound fails where the index does not find an allow pattern that covers one of some commands, or of
// those that do the same.
func coveringIsFound(t *testing.T, set *Set, c *call.Reading, commands []*shell.Command) {
	for _, command := range commands {
		keys := append(command.AppendAllowKeys(nil), c.Keys.Texts...)
		found := slices.Collect(set.Allow.Candidates(c.Call.Tool, c.Kind, keys, false))
		for _, p := range set.Allow.All {
			if p.CoversCommand(c, command) && !slices.Contains(found, p) {
				t.Errorf("%s: %s covers %q and is not found", c.Text, p.Text, command.Words)
			}
		}
		coveringIsFound(t, set, c, command.Instead())
	}
}
