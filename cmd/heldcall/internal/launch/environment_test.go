package launch

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
)

func TestEnvironment(t *testing.T) {
	f := func(proxy string, upstreams []app.Upstream, environment []string, want ...string) {
		t.Helper()
		got := Environment(environment, proxy, &app.Config{Proxy: app.ProxyConfig{Upstreams: upstreams}})
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
