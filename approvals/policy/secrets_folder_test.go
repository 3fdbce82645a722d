package policy

import "testing"

// Programs that read files show the environment too, in which keys are.
func TestProgramsThatShowTheEnvironment(t *testing.T) {
	p := mustParse(t, `
rules:
  - allow: ["shell(jq *)", "shell(ps *)", "shell(npm run *)", "shell(ps e)"]
`)
	for script, want := range map[string]Action{
		"jq -n env": Ask, `jq -n '"\(env)"'`: Ask, "jq -rn 'env|keys'": Ask, "jq .x a": Allow, "jq '.environment' a": Allow, "jq '.a | .environ' a": Allow,
		"ps eww": Ask, "ps auxe": Ask, "ps -A e": Ask, "ps -E": Ask, "ps aux": Allow, "ps -ef": Allow, "ps -u me": Allow, "ps -eo pid,comm": Allow,
		"ps e":        Allow, // a rule names it
		"npm run env": Ask, "npm run lint": Allow,
	} {
		if v := p.Judge(Call{Tool: "Bash", Arguments: argument("command", script)}); v.Action != want {
			t.Errorf("%q: %s by %s (%s), want %s", script, v.Action, v.Rule, v.Reason, want)
		}
	}
}

// Paths after cd count from its folder, in all that the script runs.
func TestSecretsBelowTheFolderOfCd(t *testing.T) {
	p := mustParse(t, `
rules:
  - allow: ["shell(cd *)", "shell(pushd *)", "shell(cat *)", "shell(ls *)", "shell(grep *)", "shell(rg *)", "shell(diff *)", "shell(timeout 5 cat *)"]
`)
	f := func(want Action, scripts ...string) {
		t.Helper()
		for _, script := range scripts {
			if v := p.Judge(Call{Tool: "Bash", Arguments: argument("command", script)}); v.Action != want {
				t.Errorf("%q: %s by %s (%s), want %s", script, v.Action, v.Rule, v.Reason, want)
			}
		}
	}
	f(Ask, "cd /etc && cat shadow", "cd / && cat etc/shadow", "cd ~/.docker && cat config.json", "cd ~; cd .docker; cat config.json", "cd ~/.config && cat gh/hosts.yml",
		"cd -- ~/.docker && cat config.json", "cd ~/.docker && timeout 5 cat config.json", "cd / && grep -r KEY .", "cd ~ && rg KEY", "cd ~ && cat .docker/../.docker/config.json",
		"(cd ~/.docker; cat config.json)", "cd .. && cd .docker && cat config.json",
		"diff -rN ~ /tmp/empty", "diff --recursive /home/me /tmp/x")
	f(Allow, "cd src && cat config.json", "cd /work/app && cat src/a.go && grep -r KEY src", "cd ~/app && rg KEY", "cd .. && cat x", "cat shadow", "cat config.json",
		"cd ~/app && diff a b", "diff -r a b", "cd a && cat /work/app/config.json")
	for _, path := range []string{"~/.qwen/oauth_creds.json", "worker/.dev.vars"} {
		f(Ask, "cat "+path)
	}
}
