package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
)

func TestEnvironment(t *testing.T) {
	f := func(proxy string, upstreams []app.Upstream, environment []string, want ...string) {
		t.Helper()
		got := Environment(environment, []string{"agent"}, proxy, &app.Config{Proxy: app.ProxyConfig{Upstreams: upstreams}})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	v1 := []app.Upstream{{Prefix: "/local"}, {Prefix: "/v1"}}
	set := func(openAI, anthropic, copilot string) []string {
		return []string{"ANTHROPIC_BASE_URL=http://" + anthropic, "COPILOT_PROVIDER_BASE_URL=http://" + copilot, "OPENAI_API_BASE=http://" + openAI, "OPENAI_BASE_URL=http://" + openAI}
	}
	const patient = "QWEN_STREAM_IDLE_TIMEOUT_MS=0"
	f("127.0.0.1:4141", v1, []string{"A=1", "OPENAI_BASE_URL=https://api.openai.com/v1", "HELDCALL_CONSOLE=http://127.0.0.1:4142", "HELDCALL_TOKEN=t"},
		slices.Concat([]string{"A=1"}, set("127.0.0.1:4141/v1", "127.0.0.1:4141", "127.0.0.1:4141/v1"), []string{patient})...)
	f("0.0.0.0:1", v1[:1], nil,
		append(set("127.0.0.1:1/local", "127.0.0.1:1/local", "127.0.0.1:1/local"), patient)...)
	both := []app.Upstream{{Prefix: "/v1"}, {Prefix: "/a/v1", URL: "https://api.anthropic.com/v1"}}
	outer := []string{"HELDCALL_ANTHROPIC_URL=https://api.anthropic.com/v1"}
	handedOn := func(openAI, anthropic, copilot string) []string {
		all := set(openAI, anthropic, copilot)
		return slices.Concat(all[:2], outer, all[2:])
	}
	f("127.0.0.1:1", both, []string{"HELDCALL_OPENAI_URL=http://other"},
		append(handedOn("127.0.0.1:1/v1", "127.0.0.1:1/a", "127.0.0.1:1/v1"), patient)...)
	f("127.0.0.1:1", both, []string{"COPILOT_PROVIDER_TYPE=anthropic", "QWEN_STREAM_IDLE_TIMEOUT_MS=5000"},
		append([]string{"COPILOT_PROVIDER_TYPE=anthropic", "QWEN_STREAM_IDLE_TIMEOUT_MS=5000"}, handedOn("127.0.0.1:1/v1", "127.0.0.1:1/a", "127.0.0.1:1/a")...)...)
	keyed := []app.Upstream{{Prefix: "/v1", StandIn: "sk-heldcall-1"}, {Prefix: "/a/v1", URL: "https://api.anthropic.com/v1", StandIn: "sk-ant-heldcall-2"}}
	f("127.0.0.1:1", keyed, []string{"OPENAI_API_KEY=placeholder"},
		slices.Concat([]string{"ANTHROPIC_API_KEY=sk-ant-heldcall-2"}, set("127.0.0.1:1/v1", "127.0.0.1:1/a", "127.0.0.1:1/v1")[:2], outer,
			[]string{"OPENAI_API_BASE=http://127.0.0.1:1/v1", "OPENAI_API_KEY=sk-heldcall-1", "OPENAI_BASE_URL=http://127.0.0.1:1/v1", patient})...)
	f("[::1]:1", []app.Upstream{{Prefix: "/"}}, []string{"all_proxy=socks5://p", "no_proxy=x"},
		"all_proxy=socks5://p", "ANTHROPIC_BASE_URL=http://[::1]:1", "COPILOT_PROVIDER_BASE_URL=http://[::1]:1", "NO_PROXY=127.0.0.1,localhost",
		"OPENAI_API_BASE=http://[::1]:1", "OPENAI_BASE_URL=http://[::1]:1", patient, "no_proxy=x,127.0.0.1,localhost")
}

// Claude Code uses a key in the environment in place of its login, so it gets no stand-in beside one.
func TestEnvironmentKeepsLogins(t *testing.T) {
	const standIn = "sk-ant-heldcall-2"
	config := &app.Config{Proxy: app.ProxyConfig{Upstreams: []app.Upstream{{Prefix: "/v1", StandIn: "sk-heldcall-1"}, {Prefix: "/anthropic", StandIn: standIn}}}}
	home := func(name, content string) string {
		folder := t.TempDir()
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	none := "HOME=" + t.TempDir()
	login := home(".claude/.credentials.json", `{"claudeAiOauth":{"accessToken":"sk-ant-oat01-made-up"}}`)
	for name, tt := range map[string]struct {
		command     string
		environment []string
		key         bool
	}{
		"no login":                  {"claude", []string{none}, true},
		"a login":                   {"claude", []string{"HOME=" + login}, false},
		"a login, whole path":       {"/usr/bin/claude", []string{"HOME=" + login}, false},
		"an account":                {"claude", []string{"HOME=" + home(".claude.json", `{"oauthAccount":{}}`)}, false},
		"other settings":            {"claude", []string{"HOME=" + home(".claude.json", `{"numStartups":1}`)}, true},
		"a login in its folder":     {"claude", []string{none, "CLAUDE_CONFIG_DIR=" + filepath.Join(login, ".claude")}, false},
		"another folder":            {"claude", []string{"HOME=" + login, "CLAUDE_CONFIG_DIR=" + filepath.Join(login, "none")}, true},
		"a token":                   {"claude", []string{none, "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-made-up"}, false},
		"a token of a gateway":      {"claude", []string{none, "ANTHROPIC_AUTH_TOKEN=made-up"}, false},
		"a login and a key":         {"claude", []string{"HOME=" + login, "ANTHROPIC_API_KEY=sk-ant-mine"}, true},
		"another agent of the user": {"opencode", []string{"HOME=" + login}, true},
	} {
		got := Environment(tt.environment, []string{tt.command}, "127.0.0.1:1", config)
		if slices.Contains(got, "ANTHROPIC_API_KEY="+standIn) != tt.key || !slices.Contains(got, "OPENAI_API_KEY=sk-heldcall-1") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// A proxy for https is not asked for heldcall: Claude Code would send its requests there.
func TestEnvironmentExceptsLoopback(t *testing.T) {
	for _, proxy := range []string{"HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		got := strings.Join(Environment([]string{proxy + "=http://proxy.example:3128"}, []string{"claude"}, "127.0.0.1:1", &app.Config{}), " ")
		if !strings.Contains(got, "NO_PROXY=127.0.0.1,localhost") || !strings.Contains(got, "no_proxy=127.0.0.1,localhost") {
			t.Errorf("with %s: %s", proxy, got)
		}
	}
}
