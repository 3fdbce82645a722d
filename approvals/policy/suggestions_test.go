package policy

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/starter"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// suggestionSeed is a call, and others that no suggestion for it may allow.
type suggestionSeed struct {
	Call  string   `yaml:"call"` // TOOL JSON, or $ COMMAND
	Risky []string `yaml:"risky"`
	Also  []string `yaml:"also"` // names of common lists of risky calls, with the seed's program or tool in place of %
	For   string   `yaml:"for"`  // that program or tool
	Same  []string `yaml:"same"` // calls that a suggestion allows
}

// callOf reads a call of the file of seeds.
func callOf(t testing.TB, text string) Call {
	t.Helper()
	c := Call{Principal: ann, Session: "s", Run: "r", Now: noon}
	if command, ok := strings.CutPrefix(text, "$ "); ok {
		c.Tool, c.Arguments = "Bash", argument("command", command)
		return c
	}
	c.Tool, c.Arguments, _ = strings.Cut(text, " ")
	return c
}

// TestSuggestionsDoNotWiden: with all suggestions for a call taken, no risky call passes that did not before, with a policy
// that asks about every call, and with the starter in a workspace; the rules that the suggestions would be are no wider.
func TestSuggestionsDoNotWiden(t *testing.T) {
	text, err := os.ReadFile("testdata/suggestions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Lists map[string][]string `yaml:"lists"`
		Seeds []suggestionSeed    `yaml:"seeds"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	start, err := starter.Policy(starter.Options{Workspace: []string{"/work/app"}})
	if err != nil {
		t.Fatal(err)
	}
	policies := map[string]*Policy{"asks": mustParse(t, "default: ask\n"), "workspace": mustParse(t, "workspace: [/work/app]\ndefault: ask\n"), "starter": mustParse(t, string(start))}
	for _, name := range []string{"workspace", "starter"} {
		policies[name] = policies[name].In(policies[name].Workspace().Of(workspace.Agent{Folder: "/work/app"}))
	}
	seeds, risky, widened := 0, 0, 0
	for _, seed := range file.Seeds {
		seeds++
		all := seed.Risky
		for _, list := range seed.Also {
			if file.Lists[list] == nil {
				t.Fatalf("%s: there is no list %s", seed.Call, list)
			}
			for _, other := range file.Lists[list] {
				all = append(all, strings.ReplaceAll(other, "%", seed.For))
			}
		}
		if len(all) < 5 {
			t.Errorf("%s has %d risky calls, a seed needs five", seed.Call, len(all))
		}
		for name, p := range policies {
			suggested := p.Judge(callOf(t, seed.Call)).Suggested
			if name == "asks" && len(seed.Same) > 0 && len(suggested) < 2 {
				t.Errorf("%s: only %q is suggested", seed.Call, suggested)
			}
			if len(suggested) == 0 {
				continue
			}
			granted := p.With(NewGrants(grant(t, "G", approvals.GrantAllow, approvals.GrantSession, suggested...)))
			ruled := p
			for _, pattern := range suggested {
				next, err := ruled.Allowing(pattern)
				if err != nil {
					t.Errorf("%s: %s is no rule: %v", seed.Call, pattern, err)
					continue
				}
				ruled = next
			}
			for _, other := range all {
				risky++
				c := callOf(t, other)
				if p.Judge(c).Action == Allow {
					continue // without the suggestions
				}
				if granted.Judge(c).Action == Allow {
					widened++
					t.Errorf("%s, %s: %q, as a grant, allow %s", name, seed.Call, suggested, other)
				}
				if ruled.Judge(c).Action == Allow {
					widened++
					t.Errorf("%s, %s: %q, as rules, allow %s", name, seed.Call, suggested, other)
				}
			}
			for _, other := range seed.Same {
				if name != "starter" && granted.Judge(callOf(t, other)).Action != Allow {
					t.Errorf("%s, %s: %q do not allow %s", name, seed.Call, suggested, other)
				}
			}
		}
	}
	typed := policies["workspace"].With(NewGrants(grant(t, "G", approvals.GrantAllow, approvals.GrantSession, "Bash(go test:./src/**)", "Bash(rg:./src/**)")))
	for command, want := range map[string]Action{
		"go test ./src/...": Allow, "go test ./src/a -v": Allow, "rg x src": Allow, "go test -v ./src/a": Ask, "go test": Ask, "go test -run ./src/a": Ask, "go test ./...": Ask, "rg x": Ask, "rg src": Ask, "go test ./src/... ./b": Ask, "cd src && rg x": Ask,
	} {
		if got := typed.Judge(callOf(t, "$ "+command)).Action; got != want {
			t.Errorf("%s with a pattern for a folder: %s, want %s", command, got, want)
		}
	}
	if seeds < 84 {
		t.Errorf("%d seeds, want at least 84", seeds)
	}
	t.Logf("%d seeds, %d risky calls, %d widened", seeds, risky, widened)
}
