package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
)

func TestChildEnvironment(t *testing.T) {
	f := func(proxy string, upstreams []app.Upstream, environment []string, want ...string) {
		t.Helper()
		got := childEnvironment(environment, proxy, &app.Config{Proxy: app.ProxyConfig{Upstreams: upstreams}})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	v1 := []app.Upstream{{Prefix: "/local"}, {Prefix: "/v1"}}
	f("127.0.0.1:4141", v1, []string{"A=1", "OPENAI_BASE_URL=https://api.openai.com/v1", "HELDCALL_CONSOLE=http://127.0.0.1:4142"},
		"A=1", "ANTHROPIC_BASE_URL=http://127.0.0.1:4141", "OPENAI_API_BASE=http://127.0.0.1:4141/v1", "OPENAI_BASE_URL=http://127.0.0.1:4141/v1")
	f("0.0.0.0:1", v1[:1], nil,
		"ANTHROPIC_BASE_URL=http://127.0.0.1:1/local", "OPENAI_API_BASE=http://127.0.0.1:1/local", "OPENAI_BASE_URL=http://127.0.0.1:1/local")
	f("127.0.0.1:1", []app.Upstream{{Prefix: "/v1"}, {Prefix: "/a/v1", URL: "https://api.anthropic.com/v1"}}, nil,
		"ANTHROPIC_BASE_URL=http://127.0.0.1:1/a", "OPENAI_API_BASE=http://127.0.0.1:1/v1", "OPENAI_BASE_URL=http://127.0.0.1:1/v1")
	f("[::1]:1", []app.Upstream{{Prefix: "/"}}, []string{"all_proxy=socks5://p", "no_proxy=x"}, "all_proxy=socks5://p",
		"ANTHROPIC_BASE_URL=http://[::1]:1", "NO_PROXY=127.0.0.1,localhost", "OPENAI_API_BASE=http://[::1]:1", "OPENAI_BASE_URL=http://[::1]:1",
		"no_proxy=x,127.0.0.1,localhost")
}
