package launch

import (
	"slices"
	"strings"

	"github.com/heldcall/heldcall/app"
)

// ofReviewers are the variables with which reviewers reach the console.
var ofReviewers = []string{"HELDCALL_CONSOLE", "HELDCALL_TOKEN", "HELDCALL_TOKEN_FILE"}

// shortKey is the length from which a key is also looked for within values. A shorter
// one may be a part of something else by chance.
const shortKey = 8

// WithoutKeys returns an environment with the substitute for each key of an upstream, and
// without the variables that contain heldcall's own secrets.
func WithoutKeys(environment []string, standIns map[string]string, secrets []string) []string {
	holds := func(value, key string) bool {
		return value == key || (len(key) >= shortKey && strings.Contains(value, key))
	}
	var result []string
	for _, entry := range environment {
		name, value, whole := strings.Cut(entry, "=")
		if slices.ContainsFunc(secrets, func(secret string) bool { return holds(value, secret) }) {
			continue
		}
		for key, standIn := range standIns {
			if holds(value, key) {
				value = strings.ReplaceAll(value, key, standIn)
			}
		}
		if whole {
			entry = name + "=" + value
		}
		result = append(result, entry)
	}
	return result
}

// WithoutReviewers returns an environment without the variables of reviewers.
func WithoutReviewers(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(ofReviewers, name)
	})
}

// Environment points the usual clients of a model at the proxy, and gives them the stand-in for the
// key that the configuration has for it. It contains neither the address of the console, where calls
// are approved, nor a token of it.
func Environment(environment []string, proxy string, config *app.Config) []string {
	root := "http://" + app.Reachable(proxy)
	openAI := root + OpenAIPrefix(config.Proxy.Upstreams)
	anthropic := root + anthropicPrefix(config.Proxy.Upstreams) // its clients add /v1 themselves
	set := map[string]string{
		"OPENAI_BASE_URL":           openAI,
		"OPENAI_API_BASE":           openAI,
		"ANTHROPIC_BASE_URL":        anthropic,
		"COPILOT_PROVIDER_BASE_URL": openAI,
	}
	for name, u := range map[string]*app.Upstream{"OPENAI_API_KEY": openAIUpstream(config.Proxy.Upstreams), "ANTHROPIC_API_KEY": anthropicUpstream(config.Proxy.Upstreams)} {
		if u != nil && u.StandIn != "" {
			set[name] = u.StandIn
		}
	}
	if slices.Contains(environment, "COPILOT_PROVIDER_TYPE=anthropic") {
		set["COPILOT_PROVIDER_BASE_URL"] = anthropic
	}
	if !slices.ContainsFunc(environment, func(entry string) bool { return strings.HasPrefix(entry, "QWEN_STREAM_IDLE_TIMEOUT_MS=") }) {
		set["QWEN_STREAM_IDLE_TIMEOUT_MS"] = "0" // Qwen Code would give up a stream that is held for 240 s
	}
	if behindHTTPProxy(environment) {
		set["NO_PROXY"] = addHosts(environment, "NO_PROXY")
		set["no_proxy"] = addHosts(environment, "no_proxy")
	}
	result := slices.DeleteFunc(WithoutReviewers(environment), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, replaced := set[name]
		return replaced
	})
	for name, value := range set {
		result = append(result, name+"="+value)
	}
	slices.Sort(result[len(result)-len(set):])
	return result
}

// OpenAIPrefix returns the prefix of the upstream for clients of OpenAI's API, "" if there is none.
func OpenAIPrefix(upstreams []app.Upstream) string {
	if u := openAIUpstream(upstreams); u != nil {
		return strings.TrimRight(u.Prefix, "/")
	}
	return ""
}

// openAIUpstream returns the upstream at /v1, else the first; nil if there is none.
func openAIUpstream(upstreams []app.Upstream) *app.Upstream {
	if i := slices.IndexFunc(upstreams, func(u app.Upstream) bool { return u.Prefix == "/v1" }); i >= 0 {
		return &upstreams[i]
	}
	if len(upstreams) > 0 {
		return &upstreams[0]
	}
	return nil
}

// anthropicUpstream returns the first upstream at Anthropic, else what openAIUpstream returns.
func anthropicUpstream(upstreams []app.Upstream) *app.Upstream {
	if i := slices.IndexFunc(upstreams, func(u app.Upstream) bool { return strings.Contains(u.Prefix+u.URL, "anthropic") }); i >= 0 {
		return &upstreams[i]
	}
	return openAIUpstream(upstreams)
}

// anthropicPrefix returns the prefix of the upstream for clients of Anthropic's API without the /v1 at its end, "" if
// there is none.
func anthropicPrefix(upstreams []app.Upstream) string {
	u := anthropicUpstream(upstreams)
	if u == nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(u.Prefix, "/"), "/v1")
}

// behindHTTPProxy reports whether clients would send even requests to loopback
// to another proxy first.
func behindHTTPProxy(environment []string) bool {
	return slices.ContainsFunc(environment, func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		name = strings.ToUpper(name)
		return value != "" && (name == "HTTP_PROXY" || name == "ALL_PROXY")
	})
}

// addHosts adds loopback to a list of hosts in the environment.
func addHosts(environment []string, name string) string {
	const loopback = "127.0.0.1,localhost"
	for _, entry := range environment {
		if value, ok := strings.CutPrefix(entry, name+"="); ok && value != "" {
			return value + "," + loopback
		}
	}
	return loopback
}
