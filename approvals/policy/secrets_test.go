package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// TestReadersMindSecrets is finding 10 (3 of the report): trees, globs and filters
// are compared with the list of secrets, and ordinary searches pass.
func TestReadersMindSecrets(t *testing.T) {
	// Own rules for every reader, and the built-in risks.
	rules := mustParse(t, `
rules:
  - allow: ["Grep(**)", "Grep(/**)", "Grep(~/**)", "Read(**)", "Read(/**)", "Read(~/**)", "grep(**)", "grep(/**)"]
  - allow: ["search_files(**)", "search_files(/**)", "read_many_files(**)", "read_many_files(/**)", "Glob(**)", "LS(**)", "LS(~/**)"]
`)
	open := mustParse(t, "default: allow\n")
	risks := mustParse(t, "tools: {bash: {resource: command, as: shell, risk: high}}\n")
	f := func(want Action, tool, args string) {
		t.Helper()
		for by, p := range map[string]*Policy{"rule": rules, "default": open, "risk": risks} {
			v := p.Judge(Call{Tool: tool, Arguments: args})
			if v.Action != want || (want == Ask && by != "risk" && !strings.Contains(v.Reason, "may access secrets")) {
				t.Errorf("by %s, %s %s: %s by %s (%s), want %s", by, tool, args, v.Action, v.Rule, v.Reason, want)
			}
		}
	}
	for _, args := range []string{
		`{"pattern":"foo"}`, `{"pattern":"foo","path":"src"}`, `{"pattern":"foo","path":"."}`, `{"pattern":".env","path":"config"}`,
		`{"pattern":"foo","path":"/home/u/repo/src"}`, `{"pattern":"foo","path":"/Users/u/repo"}`, `{"pattern":"foo","path":"/work"}`, `{"pattern":"foo","path":"/tmp"}`,
		`{"pattern":"foo","glob":"*.go"}`, `{"pattern":"foo","glob":"**/*"}`, `{"pattern":"foo","glob":"*"}`, `{"pattern":"foo","glob":"*.{ts,tsx}"}`,
		`{"pattern":"foo","glob":"**/*.test.ts"}`, `{"pattern":"foo","glob":"*.test.*"}`, `{"pattern":"foo","glob":"src/**/*.json"}`, `{"pattern":"foo","glob":"*_test.go"}`,
		`{"pattern":"foo","glob":"!*.pem"}`, `{"pattern":"foo","glob":"Makefile"}`, `{"pattern":"foo","glob":".env.example"}`, `{"pattern":"foo","glob":"README*"}`,
	} {
		f(Allow, "Grep", args)
	}
	for _, args := range []string{
		`{"pattern":"x","glob":".env"}`, `{"pattern":"x","glob":"*.pem"}`, `{"pattern":"x","glob":"**/.e*"}`, `{"pattern":"x","glob":"id_*"}`, `{"pattern":"x","glob":".*"}`,
		`{"pattern":"x","glob":"*.p[e]m"}`, `{"pattern":"x","glob":"*.pe?"}`, `{"pattern":"x","glob":".{env,x}"}`, `{"pattern":"x","glob":"{*.go,.env}"}`, `{"pattern":"x","glob":"*.go,.env"}`,
		`{"pattern":"x","glob":"*env"}`, `{"pattern":"x","glob":"*.env.*"}`, `{"pattern":"x","glob":"*.e*"}`, `{"pattern":"x","glob":"*secret*"}`, `{"pattern":"x","glob":"config/.env.*"}`, `{"pattern":"x","glob":".s*/*"}`, `{"pattern":"x","glob":".ENV"}`,
		`{"pattern":"x","glob":"*_rsa"}`, `{"pattern":"x","glob":"server*.pem"}`, `{"pattern":"x","glob":"` + strings.Repeat("{a,b}", 20) + `"}`,
		`{"pattern":"x","path":"/"}`, `{"pattern":"x","path":"~"}`, `{"pattern":"x","path":"~/"}`, `{"pattern":"x","path":"/home/u"}`, `{"pattern":"x","path":"/home"}`, `{"pattern":"x","path":"/Users/u"}`,
		`{"pattern":"x","path":"/etc"}`, `{"pattern":"x","path":"/home/u/.ssh"}`, `{"pattern":"x","path":"secrets"}`, `{"pattern":"x","path":".git"}`, `{"pattern":"x","path":"/work/.config"}`, `{"pattern":"x","path":"/root"}`,
		`{"pattern":"BEGIN","path":"/home/u","output_mode":"content","glob":"id_*"}`,
	} {
		f(Ask, "Grep", args)
	}
	f(Ask, "grep", `{"pattern":"x","include":".env"}`)
	f(Allow, "grep", `{"pattern":"x","include":"*.go"}`)
	f(Ask, "search_files", `{"path":"/","regex":".","file_pattern":"id_rsa"}`)
	f(Ask, "search_files", `{"path":"deploy","regex":".","file_pattern":".env"}`)
	f(Allow, "search_files", `{"path":"deploy","regex":".","file_pattern":"*.yaml"}`)
	for _, paths := range []string{"/home/u/.s*/*", "**/.e*", "/**", "/home/u/.{ssh,x}/*", ".env", "config/*.key", "~/**/*.md"} {
		f(Ask, "read_many_files", `{"paths":["`+paths+`"]}`)
	}
	f(Ask, "read_many_files", `{"include":["**/*"],"useDefaultExcludes":false}`)
	f(Allow, "read_many_files", `{"include":["**/*"],"useDefaultExcludes":true}`)
	f(Allow, "read_many_files", `{"paths":["src/**/*.go","docs/*.md","README.md"]}`)
	f(Allow, "LS", `{"path":"~"}`)
	f(Ask, "LS", `{"path":"~/.ssh"}`)

	f(Ask, "Grep", `{"pattern":"x","path":".."}`)
}

// TestListOfSecrets is finding 10: what the list has, and what it has not.
func TestListOfSecrets(t *testing.T) {
	p := mustParse(t, "rules: [{allow: ['Read(**)', 'Read(/**)', 'Read(~/**)', 'Read(../**)']}]\n")
	f := func(want Action, paths ...string) {
		t.Helper()
		for _, path := range paths {
			if v := p.Judge(Call{Tool: "Read", Arguments: argument("file_path", path)}); v.Action != want {
				t.Errorf("%s: %s (%s), want %s", path, v.Action, v.Reason, want)
			}
		}
	}
	f(Ask, ".env", "a/.env.local", "prod.env", ".envrc", "server.key", "release.jks", "me.ovpn", "/etc/krb5.keytab", "../../etc/shadow", "/etc/sudoers.d/x",
		"~/.config/sops/age/keys.txt", "~/.password-store/a.gpg", "~/.vault-token", "ci/service-account-prod.json", "/tmp/ssh-abc/agent.1", "~/.bash_history", "~/.zsh_history",
		"/proc/self/environ", "~/Library/Keychains/login.keychain-db", "~/.config/google-chrome/Default/Cookies", "~/x/Login Data", "p/logins.json", "p/key4.db", "~/.mozilla/firefox/x/cookies.sqlite",
		"~/.aws/config", "~/.azure/x", "~/.config/gcloud/x.db", "~/.s3cfg", "~/.boto", "~/.config/rclone/rclone.conf", "~/.m2/settings.xml", "gradle.properties", ".npmrc", ".yarnrc.yml",
		"~/.gemini/oauth_creds.json", "~/.config/github-copilot/apps.json", "~/.claude.json", "~/.cache/huggingface/token", "~/.huggingface/token", "~/.kaggle/kaggle.json",
		"~/.databrickscfg", "~/.snowflake/config.toml", "~/.config/helm/registry/config.json",
		".pypirc", "~/.netrc", "~/_netrc", "~/.docker/config.json", "~/.cargo/credentials.toml", "~/.kube/config", "kubeconfig.yaml",
		"heldcall.yaml", "policy.yaml", "/etc/heldcall/environment", "/var/lib/heldcall/x", "~/.local/state/heldcall/run/x", "data/jetstream/x/1.blk", "~/.ssh/.env.example")
	f(Allow, "src/a.go", ".env.example", "deploy/.env.sample", ".env.template", ".env.dist", ".env.local.example", "example.env", "src/environment.ts", "keys/README.md", "package.json", "heldcall/main.go", "proc/x.go", "root/x.go", "docs/policy.md", "data/users.csv", "auth.go")
}

// TestCommandsMindSecrets is finding 10: shell commands that name a secret are asked
// about, unless the rule names it or allows the tool by its name.
func TestCommandsMindSecrets(t *testing.T) {
	rules := mustParse(t, `
tools: {bash: {resource: command, as: shell}}
rules:
  - allow: ["bash(cat *)", "bash(ls:*)", "bash(git show *)", "bash(git add *)", "bash(git commit *)", "bash(git commit -m *)", "bash(cp *)", "bash(kubectl get *)", "bash(grep *)", "bash(rg *)", "bash(head *)", "bash(find *)", "bash(cd *)", "bash(echo *)"]
  - allow: ["bash(cat config/.env.test)", "bash(cat deploy/*.pem)", "bash(kubectl get secret db)", "bash(curl --netrc-file .netrc https://a.example)"]
`)
	open := mustParse(t, "default: allow\ntools: {bash: {resource: command, as: shell}}\n")
	f := func(want Action, scripts ...string) {
		t.Helper()
		for _, script := range scripts {
			for by, p := range map[string]*Policy{"rule": rules, "default": open} {
				v := p.Judge(Call{Tool: "bash", Arguments: argument("command", script)})
				if v.Action != want || (want == Ask && !strings.Contains(v.Reason, "may access secrets")) {
					t.Errorf("by %s, %s: %s by %s (%s), want %s", by, script, v.Action, v.Rule, v.Reason, want)
				}
			}
		}
	}
	f(Ask, "git show HEAD:.env", "cat ~/.ssh/id_rsa", "kubectl get secret", "kubectl get secrets -o yaml", "ls ~/.ssh", "cat /etc/shadow", "cat ../../etc/shadow", "cp .env x", "git add .env",
		"ls src && cat .env", "cd ~/.ssh && cat config", "grep -r KEY /", "grep -rn KEY ~", "rg KEY /home/u", "rg -g .env KEY", "rg -g '*.pem' KEY", "grep --include=.env -r x .", "find . -name '*.pem'", "find . -name .env",
		"cp evil policy.yaml", "cat /proc/1/environ", "timeout 5 cat .env", "cp -r ~ x", "head ~/.bash_history", "cat config/heldcall.yaml", "grep -e x .env", "grep .env", "grep -A 3 .env", "rg --files .env", "grep -rn x secrets", "grep -f secrets.txt src")
	for _, script := range []string{"cat < .env", "echo $(cat ~/.ssh/id_rsa)", "cat <<E\n$(< .env)\nE", "sh -c 'cat \"$X\" .env'"} {
		if v := mustParse(t, "default: allow\n").Judge(Call{Tool: "Bash", Arguments: argument("command", script)}); v.Action != Ask {
			t.Errorf("%q: %s by %s (%s)", script, v.Action, v.Rule, v.Reason)
		}
	}
	f(Allow, "cat README.md", "ls", "ls ~", "git show HEAD:src/a.go", "grep -rn foo src", "rg foo", "rg -g '*.go' foo .", "cat .env.example", "cd ..", "cp a b", "find . -name '*.go'", "ls /", "git commit -m 'Reset the password by mail'", "ls src/*.go", "echo secret", "grep -rn password src", "rg getCredentials src", "grep -i secret README.md")

	g := func(p *Policy, want Action, scripts ...string) {
		t.Helper()
		for _, script := range scripts {
			if v := p.Judge(Call{Tool: "bash", Arguments: argument("command", script)}); v.Action != want {
				t.Errorf("%s: %s by %s (%s), want %s", script, v.Action, v.Rule, v.Reason, want)
			}
		}
	}
	g(rules, Allow, "cat config/.env.test", "cat deploy/server.pem", "kubectl get secret db") // rules that name them
	g(rules, Ask, "cat config/.env", "kubectl get secret other")
	g(mustParse(t, "rules: [{allow: [bash]}]\n"), Allow, "cat ~/.ssh/id_rsa", "cat .env > x")
	if v := rules.Judge(Call{Tool: "bash", Arguments: argument("command", "cat .env")}); len(v.Suggested) != 1 || v.Suggested[0] != "bash(cat .env)" {
		t.Errorf("suggested: %q", v.Suggested)
	}
	for pattern, want := range map[string]Action{"bash(cat .env)": Allow, "bash(cat *)": Ask} {
		c, err := CompileGrant(approvals.Grant{ID: "g", Effect: approvals.GrantAllow, Scope: approvals.GrantUser, Patterns: []string{pattern}})
		if err != nil {
			t.Fatal(err)
		}
		g(mustParse(t, "").With(NewGrants(c)), want, "cat .env")
	}
}

// FuzzFilter: a filter that matches a secret by its own letters is found, and
// nothing makes the comparison slow or panic.
func FuzzFilter(f *testing.F) {
	mustHaveCorpus(f)
	for _, text := range []string{".env", "*.pem", "**/.e*", "id_*", "{a,b}", "{", "[", "a/b/**", "*.{ts,tsx}"} {
		f.Add(text)
	}
	p := mustParse(f, "rules: [{allow: ['Grep(**)']}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		args, err := json.Marshal(map[string]string{"pattern": "x", "glob": text + ",.env"})
		if err != nil {
			return
		}
		if v := p.Judge(Call{Tool: "Grep", Arguments: string(args)}); v.Action == Allow && strings.Count(text, "{") == strings.Count(text, "}") && !strings.Contains(text, "!") {
			t.Errorf("%q is allowed", text)
		}
	})
}
