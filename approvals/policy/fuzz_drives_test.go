package policy

import (
	"strings"
	"testing"
)

// FuzzWindowsPath: a path with a backslash is allowed only if both of its readings are: with slashes,
// as on Windows, and with another character of a name, as elsewhere.
func FuzzWindowsPath(f *testing.F) {
	mustHaveCorpus(f)
	p := mustParse(f, `
tools: {edit: {resource: path, as: path}}
rules:
  - allow: ["edit(D:/work/**)", "edit(./**)", "edit(/work/**)", "edit(**)"]
  - ask: ["edit(**/.github/**)", "edit(*.lock)"]
  - deny: ["edit(**/private/**)", "edit(*.txt)", "edit(D:/work/x/*)"]
`)
	judge := func(path string) Action {
		return p.Judge(Call{Tool: "edit", Arguments: argument("path", path)}).Action
	}
	const inName = "ø" // no name in the list of secrets has it, as none has a backslash
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.Contains(text, `\`) || judge(text) != Allow {
			return
		}
		if windows := strings.ReplaceAll(text, `\`, "/"); judge(windows) != Allow {
			t.Errorf("%q is allowed, and %q is not", text, windows)
		}
		elsewhere := strings.ReplaceAll(text, `\`, inName)
		if len(elsewhere) > 1 && elsewhere[1] == ':' {
			elsewhere = elsewhere[:1] + inName + elsewhere[2:]
		}
		if strings.HasSuffix(elsewhere, ".") || strings.HasPrefix(elsewhere, "~") {
			return // the name of another file, and in doubt for that
		}
		if judge(elsewhere) != Allow {
			t.Errorf("%q is allowed, and a name like %q is not", text, elsewhere)
		}
	})
}
