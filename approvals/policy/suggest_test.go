package policy

import (
	"slices"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// TestSuggestFolders: folders are suggested, for writers only where the policy asks about files that run
// later, whatever is granted.
func TestSuggestFolders(t *testing.T) {
	const guarded = "rules:\n  - ask: ['path(@hook)', 'path(@ci)', 'path(@editor)', 'path(@agent)', 'path(@tool-manager)', 'path(@startup)', 'path(@cloud)', 'path(@deploy)', 'path(@installed-program)', 'path(@lock)']\n"
	f := func(src string, c Call, want ...string) {
		t.Helper()
		if v := mustParse(t, src).Judge(c); !slices.Equal(v.Suggested, want) {
			t.Errorf("%s %s: %q, want %q", c.Tool, c.Arguments, v.Suggested, want)
		}
	}
	edit := func(path string) Call {
		return Call{Tool: "Edit", Arguments: argument("file_path", path)}
	}
	f(guarded, edit("/home/me/app/src/a.go"), "Edit(/home/me/app/src/a.go)", "Edit(/home/me/app/src/**)")
	f(guarded, edit("/home/me/app/a.go"), "Edit(/home/me/app/a.go)", "Edit(/home/me/app/**)")
	f(guarded, edit("/home/me/a.go"), "Edit(/home/me/a.go)")
	f(guarded, edit("/work/a.go"), "Edit(/work/a.go)", "Edit(/work/**)")
	f(guarded, edit("/a.go"), "Edit(/a.go)")
	f(guarded, edit("src/a.go"), "Edit(src/a.go)", "Edit(src/**)", "Edit(./**)")
	f(guarded, edit("../a.go"), "Edit(../a.go)")
	f(guarded, edit(`D:\app\src\a.go`), `Edit(D:\app\src\a.go)`, "Edit(d:/app/src/**)")
	f(guarded, edit(`C:\Users\me\a.go`), `Edit(C:\Users\me\a.go)`)
	f(guarded, edit("/etc/app/hosts"), "Edit(/etc/app/hosts)")
	f(guarded, edit("/home/me/.config/app/a"), "Edit(/home/me/.config/app/a)")
	f(guarded, edit("/work/app/.github/workflows/ci.yml"), "Edit(/work/app/.github/workflows/ci.yml)")
	f(guarded, edit("/work/app/.env"), "Edit(/work/app/.env)")
	f(guarded, Call{Tool: "apply_patch", Arguments: "*** Begin Patch\n*** Add File: src/a\n+x\n*** End Patch", FreeText: true},
		"apply_patch(src/a)", "apply_patch(src/**)", "apply_patch(./**)")
	read := func(path string) Call { return Call{Tool: "Read", Arguments: argument("file_path", path)} }
	f("default: ask\n", read("/work/app/src/a.go"), "Read(/work/app/src/a.go)", "Read(/work/app/src/**)")
	f("default: ask\n", read("src/a.go"), "Read(src/a.go)", "Read(src/**)", "Read(./**)")
	f("default: ask\n", read("/etc/app/hosts"), "Read(/etc/app/hosts)")
	f("default: ask\n", read("/home/me/.ssh/config"), "Read(/home/me/.ssh/config)")
	f("", edit("/work/app/a.go"), "Edit(/work/app/a.go)")
	f("rules:\n  - ask: ['*(**/.github/**)']\n", edit("/work/app/a.go"), "Edit(/work/app/a.go)")
	f(guarded+"    remember: true\n", edit("/work/app/a.go"), "Edit(/work/app/a.go)")
}

// TestSuggestedFolderHasNoSecrets: the pattern of a folder for readers does not allow what may hold secrets.
func TestSuggestedFolderHasNoSecrets(t *testing.T) {
	granted := mustParse(t, "default: ask\n").With(NewGrants(grant(t, "G", approvals.GrantAllow, approvals.GrantSession, "Read(/work/app/**)")))
	for path, want := range map[string]Action{
		"/work/app/src/b.go": Allow, "/work/app/.env": Ask, "/work/app/deploy/id_rsa": Ask, "/work/app/../other/a.go": Ask,
	} {
		if v := granted.Judge(Call{Tool: "Read", Arguments: argument("file_path", path), Principal: ann, Session: "s", Now: noon}); v.Action != want {
			t.Errorf("%s: %s, want %s: %s", path, v.Action, want, v.Reason)
		}
	}
}

// TestSuggestNoToolThatIsLowAtTimes: every call of a tool is not suggested for one that only reads by its script or arguments.
func TestSuggestNoToolThatIsLowAtTimes(t *testing.T) {
	const src = "workspace: ['C:\\src']\ndefault: ask\nrules:\n  - ask: ['powershell(*)', 'write_stdin(*)']\n    remember: true\n"
	for _, c := range []Call{
		{Tool: "powershell", Arguments: argument("command", "Get-ChildItem")},
		{Tool: "write_stdin", Arguments: `{"session_id":1,"chars":""}`},
	} {
		v := mustParse(t, src).Judge(c)
		if slices.Contains(v.Suggested, c.Tool+"(*)") {
			t.Errorf("%s: %q", c.Tool, v.Suggested)
		}
	}
}

// TestSuggestTool: every call of a tool is suggested only for one without a resource, and never
// for free text.
func TestSuggestTool(t *testing.T) {
	f := func(src string, c Call, want ...string) {
		t.Helper()
		v := mustParse(t, src).Judge(c)
		if !slices.Equal(v.Suggested, want) {
			t.Errorf("%s %s: %q, want %q", c.Tool, c.Arguments, v.Suggested, want)
		}
	}
	order := Call{Tool: "get_order", Arguments: `{"id":5}`, Principal: ann, Session: "s", Now: noon}
	f("", order, `get_order({"id":5})`, `get_order({"id":*})`)
	f("tools: {get_order: {risk: critical}}\n", order, `get_order({"id":5})`)
	f("tools: {get_order: {resource: id}}\n", order, "get_order(5)")
	f("default: ask\n", Call{Tool: "think", Arguments: argument("thought", "First read.")}, "think(First read.)", "think(*)")
	f("", Call{Tool: "mcp__shop__get", Arguments: `{}`}, "mcp__shop__get({})")
	f("", Call{Tool: "exec", Arguments: "text(1)", FreeText: true}, "exec(text(1))")
	f("", Call{Tool: "python", Arguments: argument("code", "1")}, "python(1)")
	granted := mustParse(t, "").With(NewGrants(grant(t, "G", approvals.GrantAllow, approvals.GrantSession, `get_order({"id":*})`)))
	for arguments, want := range map[string]Action{`{"id":6}`: Allow, `{"id":6,"id":7}`: Ask, `{"id":6,"all":true}`: Ask, `{"id":{"not":5}}`: Ask} {
		other := order
		other.Arguments = arguments
		if v := granted.Judge(other); v.Action != want {
			t.Errorf("%s: %s, want %s: %s", arguments, v.Action, want, v.Reason)
		}
	}
}

// TestSuggestHosts: all pages of a host are suggested for readers of the web, by https and a public name.
func TestSuggestHosts(t *testing.T) {
	for url, want := range map[string][]string{
		"https://docs.example.org/a/b": {"WebFetch(https://docs.example.org/a/b)", "WebFetch(https://docs.example.org/a/**)", "WebFetch(https://docs.example.org/**)"},
		"https://github.com/a/b/c":     {"WebFetch(https://github.com/a/b/c)", "WebFetch(https://github.com/a/b/**)"},
		"https://github.com/a/b":       {"WebFetch(https://github.com/a/b)"},
		"https://a.github.io/b":        {"WebFetch(https://a.github.io/b)"},
		"https://pastebin.com/raw/a":   {"WebFetch(https://pastebin.com/raw/a)"},
		"https://webhook.site/a":       {},
		"https://a.b.oast.fun/a":       {},
		"http://docs.example.org/a":    {"WebFetch(http://docs.example.org/a)"},
		"https://docs.example.org:8/a": {"WebFetch(https://docs.example.org:8/a)"},
		"https://10.0.0.1/a":           {"WebFetch(https://10.0.0.1/a)"},
		"https://wiki.internal/a":      {"WebFetch(https://wiki.internal/a)"},
		"https://localhost/a":          {"WebFetch(https://localhost/a)"},
	} {
		v := mustParse(t, "").Judge(Call{Tool: "WebFetch", Arguments: argument("url", url)})
		if !slices.Equal(v.Suggested, want) {
			t.Errorf("%s: %q, want %q", url, v.Suggested, want)
		}
	}
	v := mustParse(t, "").Judge(Call{Tool: "requests_delete", Arguments: argument("url", "https://docs.example.org/a")})
	if !slices.Equal(v.Suggested, []string{"requests_delete(https://docs.example.org/a)"}) {
		t.Errorf("a tool that changes things: %q", v.Suggested)
	}
}

// TestSuggestNothingForTexts: nothing is suggested for a program that does what a text asks for that it reads, as a pattern
// would allow it any other text.
func TestSuggestNothingForTexts(t *testing.T) {
	for command, want := range map[string]bool{
		"frobnicate a":   true,
		"frobnicate < a": false,
		"apply_patch <<'EOF'\n*** Begin Patch\nEOF":                                     false,
		"cd x && timeout 5 frobnicate <<'EOF'\nx\nEOF":                                  false,
		"cat a | frobnicate":                                                            false,
		"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF": false,
		"cat a | kubectl apply -f -":                                                    false,
		"gh api graphql --input - <<'EOF'\nx\nEOF":                                      false,
		"curl -d @- https://api.example <<'EOF'\nx\nEOF":                                false,
		"curl -d @a https://api.example":                                                true,
		"cat a | tee b":                                                                 true,
	} {
		v := mustParse(t, "").Judge(Call{Tool: "Bash", Arguments: argument("command", command)})
		if (len(v.Suggested) > 0) != want {
			t.Errorf("%q: %q", command, v.Suggested)
		}
	}
}
