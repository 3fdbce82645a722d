package policy

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/heldcall/heldcall/approvals/policy/match"
)

// FuzzShellDeny: a denied command is never allowed, with any other text beside it, and no
// allowed script contains it as a plain command.
func FuzzShellDeny(f *testing.F) {
	mustHaveCorpus(f)
	p := mustParse(f, "tools: {bash: {resource: command, as: shell}}\nrules:\n  - allow: [bash]\n  - deny: ['bash(evil:*)', 'bash(git push --force *)']\n")
	allowed := func(script string) bool {
		return p.Judge(Call{Tool: "bash", Arguments: script, FreeText: true}).Action == Allow
	}
	f.Fuzz(func(t *testing.T, script string) {
		for _, before := range []string{
			"evil; ", "evil x\n", "/bin/evil && ", "x=$(evil); ", "e'v'il | ", "sudo evil; ", "{,evil} ; ", "sh -c evil; ", "git push origin --force; ",
			"env -Sevil; ", "sed 1eevil; ", "frob -xevil; ", "GIT_EDITOR='evil x' git log; ", "make -f- <<< 'x:;evil'\n", "bash -s a <<E\nevil\nE\n", "echo evil > s; sh s\n",
		} {
			if allowed(before + script) {
				t.Errorf("%q is allowed", before+script)
			}
		}
		if !allowed(script) {
			return
		}
		file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
		if err != nil {
			t.Fatalf("%q is allowed and does not parse: %v", script, err)
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && path.Base(call.Args[0].Lit()) == "evil" {
				t.Errorf("%q is allowed and runs %q", script, call.Args[0].Lit())
			}
			return true
		})
		if !strings.Contains(script, "<<") && allowed(script+"\nevil x") {
			t.Errorf("%q is allowed, and still is with another line", script)
		}
	})
}

// FuzzPath: an allowed path is in the folder of the pattern, and a path in a denied folder
// is found in any spelling.
func FuzzPath(f *testing.F) {
	mustHaveCorpus(f)
	p := mustParse(f, "tools: {read: {resource: path, as: path}, open: {resource: path, as: path, default: allow}}\nrules:\n"+
		"  - allow: ['read(./src/**)', 'read(src/a)', 'read(src/c/*)', 'read(src/**/e)', 'read(src/f)']\n"+ // enough for an index
		"  - deny: ['open(./secrets/**)', 'open(**/.env)', 'open(a/b/**)', 'open(c/*)', 'open(/etc/x/**)', 'open(~/.ssh/**)']\n")
	judge := func(tool, text string) Action {
		return p.Judge(Call{Tool: tool, Arguments: text, FreeText: true}).Action
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := path.Join("/work", text)
		if judge("read", text) == Allow && ((clean != "/work/src" && !strings.HasPrefix(clean, "/work/src/")) || strings.HasPrefix(text, "/")) {
			t.Errorf("%q is allowed and is %q", text, clean)
		}
		folded := strings.ToLower(clean)
		if home, ok := strings.CutPrefix(text, "~/"); ok {
			folded = strings.ToLower(path.Join("/home/me", home))
		}
		if judge("open", text) == Allow && (strings.HasPrefix(folded, "/work/secrets/") || strings.HasPrefix(folded, "/home/me/.ssh/") || path.Base(folded) == ".env") {
			t.Errorf("%q is allowed and is %q", text, folded)
		}
		l, problem := match.Locate(text)
		if again, _ := match.Locate(written(l)); problem == "" && again != l {
			t.Errorf("%q is %+v, and that is %+v", text, l, again)
		}
	})
}

// written is a location as a path.
func written(l match.Location) string {
	rest := strings.TrimSuffix(strings.Repeat("../", l.Up)+l.Body, "/")
	switch {
	case l.Anchor == "/":
		return "/" + rest
	case l.Anchor != "":
		return l.Anchor + "/" + rest
	case rest == "":
		return "."
	case l.Up == 0:
		return "./" + rest
	}
	return rest
}

// FuzzURL: an allowed URL has the pattern's scheme and host, and a denied host is found.
func FuzzURL(f *testing.F) {
	mustHaveCorpus(f)
	p := mustParse(f, "tools: {fetch: {resource: url, as: url}, get: {resource: url, as: url, default: allow}}\nrules:\n"+
		"  - allow: ['fetch(https://github.com/a/**)']\n  - deny: ['get(*://evil.example)']\n")
	judge := func(tool, text string) Action {
		return p.Judge(Call{Tool: tool, Arguments: text, FreeText: true}).Action
	}
	f.Fuzz(func(t *testing.T, text string) {
		if judge("fetch", text) == Allow {
			scheme, rest, _ := strings.Cut(strings.ToLower(text), "://")
			host := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz."))]
			if scheme != "https" || host != "github.com" || strings.Contains(rest, "/../") {
				t.Errorf("%q is allowed", text)
			}
		}
		u, err := url.Parse(text)
		if err == nil && strings.EqualFold(u.Hostname(), "evil.example") && judge("get", text) == Allow {
			t.Errorf("%q is allowed", text)
		}
		a, problem := match.ParseURL(text)
		host := a.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		if a.Port != "" {
			host += ":" + a.Port
		}
		written := (&url.URL{Scheme: a.Scheme, Host: host, Path: a.Path}).String()
		if again, _ := match.ParseURL(written); problem == "" && again != a {
			t.Errorf("%q is %+v, and %q is %+v", text, a, written, again)
		}
	})
}

// FuzzPatch: an allowed patch names no file but those that the pattern covers, and
// one that names another besides is not allowed.
func FuzzPatch(f *testing.F) {
	mustHaveCorpus(f)
	p := mustParse(f, "tools: {apply_patch: {resource: input, as: patch}}\nrules:\n  - allow: ['apply_patch(src/**)']\n")
	allowed := func(patch string) bool {
		return p.Judge(Call{Tool: "apply_patch", Arguments: argument("input", patch)}).Action == Allow
	}
	f.Fuzz(func(t *testing.T, patch string) {
		if !allowed(patch) {
			return
		}
		for line := range strings.SplitSeq(patch, "\n") {
			for _, header := range []string{"*** Add File:", "*** Delete File:", "*** Update File:", "*** Move to:"} {
				named, ok := strings.CutPrefix(strings.TrimSpace(line), header)
				if named = path.Clean(strings.TrimSpace(named)); ok && named != "src" && !strings.HasPrefix(named, "src/") {
					t.Errorf("%q is allowed and names %q", patch, named)
				}
			}
		}
		for _, more := range []string{"*** Delete File: x", "*** Move to: x", " *** Add File: x", "\t*** Update File: x", "*** Update File: src/../x"} {
			if longer := strings.Replace(patch, "*** End Patch", more+"\n*** End Patch", 1); longer != patch && allowed(longer) {
				t.Errorf("%q is allowed", longer)
			}
		}
	})
}

// FuzzSuggest: every pattern that is suggested loads, together they allow the
// call, and none of them allows another program or host, files elsewhere, or secrets.
func FuzzSuggest(f *testing.F) {
	mustHaveCorpus(f)
	const tools = "tools: {bash: {resource: x, as: shell}, read: {resource: x, as: path}, fetch: {resource: x, as: url}, note: {resource: x}}\n"
	asks := mustParse(f, tools)
	f.Fuzz(func(t *testing.T, text string) {
		for tool, others := range map[string][]string{
			"bash":  {"evil", "evil x", text + "; evil", text + " $(evil)", text + " > evil9", "evil " + text, text + " --evil=1", text + "\nevil"},
			"read":  {"../" + text, "../evil", "/evil9/x", path.Dir(text) + "/.env", path.Dir(text) + "/secrets.yaml"},
			"fetch": {"https://evil.example/", strings.Replace(text, "://", "://evil.example/", 1), strings.Replace(text, "://", "://x@evil.example/", 1)},
			"note":  {"evil", text + "x"},
		} {
			call := Call{Tool: tool, Arguments: argument("x", text)}
			suggested := asks.Judge(call).Suggested
			if len(suggested) == 0 {
				continue
			}
			p, err := Parse("p.yaml", []byte(tools+"rules:\n  - allow: "+marshal(suggested)+"\n"))
			if err != nil {
				t.Fatalf("%s %q: %q: %v", tool, text, suggested, err)
			}
			if v := p.Judge(call); v.Action != Allow {
				t.Errorf("%s %q: not allowed by %q: %s", tool, text, suggested, v.Reason)
			}
			for _, other := range others {
				if strings.Contains(text, "echo") && strings.HasSuffix(other, "--evil=1") {
					continue // it is printed
				}
				if other != text && p.Judge(Call{Tool: tool, Arguments: argument("x", other)}).Action == Allow && !sameText(tool, other, text) {
					t.Errorf("%s %q: %q is allowed by %q", tool, text, other, suggested)
				}
			}
		}
	})
}

// sameText reports whether two paths are one.
func sameText(tool, a, b string) bool {
	return tool == "read" && path.Join("/x", a) == path.Join("/x", b) && strings.HasPrefix(a, "/") == strings.HasPrefix(b, "/")
}
