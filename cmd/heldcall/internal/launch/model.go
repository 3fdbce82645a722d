package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/weborigin"
)

// api is an API of models, and how the addresses of its models are set for agents.
type api struct {
	variables []string // that heldcall sets for agents
	// outer is the variable in which a heldcall run names its upstream to the runs that its command starts: they find
	// its own address in the others.
	outer    string
	version  string // end of the path that clients add to the address
	upstream func([]app.Upstream) app.Upstream
	prefix   string // that the default upstreams of the API begin with, and no others
	standard string // URL of the default upstream
	key      string // variable of the key
}

// apis returns the APIs. Copilot's variable is for the one that it uses.
func apis(lookup func(string) (string, bool)) []api {
	openAI := api{
		variables: []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}, outer: "HELDCALL_OPENAI_URL",
		upstream: openAIUpstream, prefix: "/v1", standard: "https://api.openai.com/v1", key: "OPENAI_API_KEY",
	}
	anthropic := api{
		variables: []string{"ANTHROPIC_BASE_URL"}, outer: "HELDCALL_ANTHROPIC_URL", version: "/v1",
		upstream: anthropicUpstream, prefix: "/anthropic", standard: "https://api.anthropic.com/v1", key: "ANTHROPIC_API_KEY",
	}
	copilot := &openAI
	if kind, _ := lookup("COPILOT_PROVIDER_TYPE"); kind == "anthropic" {
		copilot = &anthropic
	}
	copilot.variables = append(copilot.variables, "COPILOT_PROVIDER_BASE_URL")
	return []api{openAI, anthropic}
}

// openAIUpstream returns the upstream at /v1, else the first.
func openAIUpstream(upstreams []app.Upstream) app.Upstream {
	return firstUpstream(upstreams, func(u app.Upstream) bool { return u.Prefix == "/v1" }, func(app.Upstream) bool { return true })
}

// anthropicUpstream returns the first upstream with Anthropic in its prefix, or else in its URL, else what
// openAIUpstream returns.
func anthropicUpstream(upstreams []app.Upstream) app.Upstream {
	u := firstUpstream(upstreams,
		func(u app.Upstream) bool { return strings.Contains(u.Prefix, "anthropic") },
		func(u app.Upstream) bool { return strings.Contains(u.URL, "anthropic") })
	if u.Prefix == "" {
		return openAIUpstream(upstreams)
	}
	return u
}

// firstUpstream returns the first upstream that fits the first condition which fits any; none if there is none.
func firstUpstream(upstreams []app.Upstream, conditions ...func(app.Upstream) bool) app.Upstream {
	for _, fits := range conditions {
		if i := slices.IndexFunc(upstreams, fits); i >= 0 {
			return upstreams[i]
		}
	}
	return app.Upstream{}
}

// address is the address of a model that the user has set for agents.
type address struct {
	url    *url.URL // as that of an upstream
	source string   // variable or setting
}

// models finds the addresses of models that the user has set for agents.
type models struct {
	lookup  func(string) (string, bool)
	command []string
	listen  string // proxy.listen
	probe   http.Client
}

// probeWithin is the limit for the answer of an address that may be that of a heldcall.
const probeWithin = 2 * time.Second

// Adopt makes the addresses that the user has set for agents the upstreams of their APIs, in place of the default ones:
// heldcall replaces them in the environment of the command, and keys and prompts must not go to another provider.
// It returns notes on what it did. Upstreams that the configuration names stay. The command may be nil.
func Adopt(ctx context.Context, p *app.ProxyConfig, command []string, lookup func(string) (string, bool)) (notes string, err error) {
	m := models{
		lookup: lookup, command: command, listen: p.Listen,
		probe: http.Client{
			Timeout: probeWithin, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	p.Upstreams = slices.Clone(p.Upstreams)
	for _, api := range apis(lookup) {
		set, own, err := m.addresses(ctx, api)
		if p.UpstreamsNamed {
			notes += unused(set, api.upstream(p.Upstreams))
			continue
		}
		if err != nil {
			return "", err
		}
		if own != "" && len(set) == 0 {
			notes += fmt.Sprintf("heldcall: model: %s; %s is the address of a heldcall\n", api.standard, own)
		}
		if len(set) == 0 || set[0].url.String() == api.standard {
			continue
		}
		inCodex := slices.ContainsFunc(set, func(a address) bool { return a.source == codexSource })
		for i := range p.Upstreams {
			if u := &p.Upstreams[i]; strings.HasPrefix(u.Prefix, api.prefix) {
				u.URL = set[0].url.String()
				if inCodex { // which would send its login there too
					u.ChatGPT = u.URL
				}
			}
		}
		notes += fmt.Sprintf("heldcall: model: %s, from %s\n", set[0].url, set[0].source)
	}
	return notes, nil
}

// unused notes the addresses that are not those of the upstream that the configuration names.
func unused(set []address, named app.Upstream) (notes string) {
	for _, a := range set {
		if a.url.String() != named.URL {
			notes += fmt.Sprintf("heldcall: model: %s, from the configuration; %s is another and is not used\n", named.URL, a.source)
		}
	}
	return notes
}

// addresses returns the addresses for an API that are not those of a heldcall, the variable with one that is, and an
// error if an address cannot be used or two differ.
func (m *models) addresses(ctx context.Context, api api) (set []address, own string, err error) {
	sources := slices.Clone(api.variables)
	values := map[string]string{codexSource: m.codexAddress(api)}
	if values[codexSource] != "" {
		sources = append(sources, codexSource)
	}
	for _, name := range append(sources, api.outer) {
		value := values[name]
		if value == "" {
			value, _ = m.lookup(name)
		}
		if value = strings.TrimSpace(value); value == "" || (name == api.outer && own == "") {
			continue
		}
		version := api.version
		if name == api.outer { // which is that of an upstream already
			version = ""
		}
		u, wrong := parseAddress(value, version)
		switch {
		case wrong != nil:
			err = cmp.Or(err, fmt.Errorf("%s %w", name, wrong))
		case m.isHeldcall(ctx, u):
			own = cmp.Or(own, name)
		case len(set) > 0 && name == api.outer: // the user has set another for this run
		default:
			set = append(set, address{u, name})
		}
	}
	for _, a := range set {
		if a.url.String() != set[0].url.String() {
			err = cmp.Or(err, fmt.Errorf("%s and %s are different addresses, and heldcall has one upstream for their API: unset one, or configure proxy.upstreams", set[0].source, a.source))
		}
	}
	return set, own, err
}

// parseAddress returns the URL of an upstream for a base URL of clients that add version to it.
func parseAddress(text, version string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, errors.New("is not an http or https URL with a host")
	case u.User != nil:
		return nil, errors.New("holds a user or password: set it without, and give the key in its own variable")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, errors.New("holds a query or fragment, which would be lost: set it without")
	}
	u.Host = strings.TrimPrefix(weborigin.Of(u), u.Scheme+"://")
	path := strings.TrimRight(u.EscapedPath(), "/")
	return url.Parse(u.Scheme + "://" + u.Host + strings.TrimSuffix(path, version) + version)
}

// isHeldcall reports whether an address is that of a heldcall: one answers there, or there is no answer from the address
// at which this run would listen, which people export in their shell's startup file.
func (m *models) isHeldcall(ctx context.Context, u *url.URL) bool {
	for _, api := range apis(m.lookup) {
		if u.String() == api.standard {
			return false
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false
	}
	answer, err := m.probe.Do(request)
	if err != nil {
		host, port, _ := net.SplitHostPort(m.listen)
		return port == u.Port() && listensAt(host, weborigin.Host(u.Host))
	}
	answer.Body.Close()
	return answer.Header.Get("X-Heldcall-Turn") != ""
}

// listensAt reports whether a port on the host of proxy.listen is one at which clients on this machine reach a host. Every
// system that connects to 0.0.0.0 connects to loopback.
func listensAt(listen, host string) bool {
	everywhere := listen == "" || net.ParseIP(listen).IsUnspecified()
	if weborigin.IsLoopback(host) || net.ParseIP(host).IsUnspecified() {
		return everywhere || weborigin.IsLoopback(listen)
	}
	name, _ := os.Hostname()
	if strings.EqualFold(host, listen) || (everywhere && strings.EqualFold(host, name)) {
		return true
	}
	addresses, _ := net.InterfaceAddrs()
	return everywhere && slices.ContainsFunc(addresses, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(net.ParseIP(host))
	})
}

// codexSource is the setting that the arguments with which codex is started would override.
const codexSource = "openai_base_url of Codex's settings"

var codexBaseURL = regexp.MustCompile(`(?m)^\s*openai_base_url\s*=\s*["']([^"'\n]+)["']`)

// codexAddress returns the address of OpenAI's API in Codex's settings, "" for another command or API.
func (m *models) codexAddress(api api) string {
	if api.prefix != "/v1" || len(m.command) == 0 || AgentName(m.command) != "codex" {
		return ""
	}
	settings, err := os.ReadFile(codexSettings(m.lookup))
	if err != nil {
		return ""
	}
	if setting := codexBaseURL.FindSubmatch(settings); setting != nil {
		return string(setting[1])
	}
	return ""
}
