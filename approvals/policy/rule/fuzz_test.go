package rule

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// FuzzIndex: every deny pattern that matches a call, or may match it, is found by the keys
// of the call, whether the text is the resource or an unknown argument.
func FuzzIndex(f *testing.F) {
	src := tools + "rules:\n"
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		src += "  - deny: ['shell(" + name + " *)', 'shell(git " + name + ")', 'path(" + name + "/**)', 'path(**/" + name + ".x)', 'path(" + name + ")', 'url(https://" + name + ".example/**)', 'url(*://**." + name + ")', 'plain(" + name + ")']\n"
	}
	set, err := Parse("policy.yaml", []byte(src))
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"sudo c x", "frob -xc", "C x", "echo c x | d", "git c", "c/y", "z/c.x", "../c", `c\y`, "https://c.example/y", "HTTP://C.example.", "https://c%2eexample/", "ws://x.c", "c", "C"} {
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
			}
		}
	})
}
