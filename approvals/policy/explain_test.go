package policy

import (
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	p := mustParse(t, `
tools:
  bash: {resource: command, as: shell}
  any: {default: ask}
rules:
  - allow: ["bash(git log *)", "bash(ls *)", "bash", "read(src/**)"]
  - deny: ["bash(rm *)"]
    ask: ["x"]
`)
	f := func(c Call, known, doubt string, says ...string) {
		t.Helper()
		e := p.Explain(c)
		if e.Known != known || e.Doubt != doubt || e.Verdict.Action != p.Judge(c).Action {
			t.Errorf("%+v", e)
		}
		for i, r := range e.Rules {
			if r.Says != says[i] || r.Applies != ((says[i][0] == 'c' && says[i][1] == 'o' && !strings.HasPrefix(says[i], "covers none of the commands")) || says[i] == "matches" || says[i][:3] == "may") {
				t.Errorf("%+v, want %q", r, says[i])
			}
		}
	}
	const other = "is for another tool"
	f(Call{Tool: "bash", Arguments: argument("command", "git log -p; ls x; ls y")}, "Its command or cmd or script is judged as shell (tool bash (policy.yaml:3)).", "",
		"covers every call of the tool", "covers git log -p", "covers ls x and ls y", other, "does not match", other)
	f(Call{Tool: "bash", Arguments: argument("command", "r$X x >| y")}, "Its command or cmd or script is judged as shell (tool bash (policy.yaml:3)).", "The script redirects input or output.",
		"covers every call of the tool", "does not cover the call: The script redirects input or output", "does not cover the call: The script redirects input or output", other,
		"may match: `r$X` is unknown before it runs", other)
	f(Call{Tool: "read", Arguments: argument("filePath", "src/x")}, "Its filePath is judged as path (built-in profile of read).", "", other, other, other, "covers src/x", other, other)
	f(Call{Tool: "any"}, "Its arguments are compared as a whole (tool any (policy.yaml:4)).", "", other, other, other, other, other, other)
	f(Call{Tool: "x"}, "The tool is unknown: its arguments are compared as a whole.", "", other, other, other, other, other, "matches")
}

// TestNearest: an explanation names the allow pattern that goes furthest, and the word at which it ends.
func TestNearest(t *testing.T) {
	p := mustParse(t, `
tools: {bash: {resource: command, as: shell}}
rules:
  - allow: ["bash(npm run test:*)", "bash(npm ci)", "bash(git log *)", "bash(make *)", "bash(sudo *)", "bash(./gradlew test:*)", "bash(docker compose *)"]
`)
	for command, want := range map[string]string{
		"npm run build":                      `bash(npm run test:*) ends at "build"`,
		"cd x && npm run build":              `bash(npm run test:*) ends at "build"`,
		"npm ci --force":                     `bash(npm ci) ends at "--force"`,
		"git log --output=x":                 `bash(git log *) ends at "--output=x"`,
		"git log -p; git push":               `bash(git log *) ends at "push"`,
		"make":                               "bash(make *) is for more words than `make`",
		"make test -f /tmp/x":                `bash(make *) ends at "-f"`,
		"sudo ls":                            `bash(sudo *) ends at "ls"`,
		"./gradlew build":                    `bash(./gradlew test:*) ends at "build"`,
		"docker compose -p x run web 'rm x'": `bash(docker compose *) ends at "run"`,
		"npm run test:unit":                  "",
		"frob x":                             "",
	} {
		if e := p.Explain(Call{Tool: "bash", Arguments: argument("command", command)}); e.Nearest != want {
			t.Errorf("%s: %q, want %q", command, e.Nearest, want)
		}
	}
}
