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
// without the variables that contain heldcall's own secrets. The proxies of the command's
// programs stay: heldcall may use the same.
func WithoutKeys(environment []string, standIns map[string]string, secrets []string) []string {
	holds := func(value, key string) bool {
		return value == key || (len(key) >= shortKey && strings.Contains(value, key))
	}
	var result []string
	for _, entry := range environment {
		name, value, whole := strings.Cut(entry, "=")
		if !namesProxy(name) && slices.ContainsFunc(secrets, func(secret string) bool { return holds(value, secret) }) {
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
// key that the configuration has for it, unless the agent of the command has a login. It contains
// neither the address of the console, where calls are approved, nor a token of it.
func Environment(environment, command []string, proxy string, config *app.Config) []string {
	set, unset := map[string]string{}, []string{}
	lookup := lookupIn(environment)
	for _, api := range apis(lookup) {
		u := api.upstream(config.Proxy.Upstreams)
		if _, given := lookup(api.key); !given && hasLogin(command, api, lookup) {
			u.StandIn = ""
		}
		for _, name := range api.variables {
			set[name] = "http://" + app.Reachable(proxy) + strings.TrimSuffix(prefixOf(u), api.version)
		}
		for name, value := range map[string]string{api.outer: u.URL, api.key: u.StandIn} {
			if value != "" {
				set[name] = value
			}
		}
		unset = append(unset, api.outer)
	}
	if !slices.ContainsFunc(environment, func(entry string) bool { return strings.HasPrefix(entry, "QWEN_STREAM_IDLE_TIMEOUT_MS=") }) {
		set["QWEN_STREAM_IDLE_TIMEOUT_MS"] = "0" // Qwen Code would give up a stream that is held for 240 s
	}
	if behindProxy(environment) {
		set["NO_PROXY"] = addHosts(environment, "NO_PROXY")
		set["no_proxy"] = addHosts(environment, "no_proxy")
	}
	result := slices.DeleteFunc(WithoutReviewers(environment), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, replaced := set[name]
		return replaced || slices.Contains(unset, name)
	})
	for name, value := range set {
		result = append(result, name+"="+value)
	}
	slices.Sort(result[len(result)-len(set):])
	return result
}

// lookupIn returns a look-up in an environment, like [os.LookupEnv].
func lookupIn(environment []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, entry := range slices.Backward(environment) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

// OpenAIPrefix returns the prefix of the upstream for clients of OpenAI's API.
func OpenAIPrefix(upstreams []app.Upstream) string { return prefixOf(openAIUpstream(upstreams)) }

func prefixOf(u app.Upstream) string { return strings.TrimRight(u.Prefix, "/") }

// behindProxy reports whether clients would send even requests to loopback to another proxy
// first. Claude Code uses that of HTTPS_PROXY for http too.
func behindProxy(environment []string) bool {
	return slices.ContainsFunc(environment, func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return value != "" && namesProxy(name)
	})
}

// namesProxy reports a variable that names a proxy for programs.
func namesProxy(variable string) bool {
	switch strings.ToUpper(variable) {
	case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY":
		return true
	}
	return false
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
