package app

import (
	"cmp"
	"net"
	"strings"

	"github.com/heldcall/heldcall/app/configfile"
)

// logSources logs the files of configuration and policy, and where state is stored.
func (a *App) logSources() {
	where, state := "nats", redactURLs(a.options.Config.NATS.URL)
	if a.options.Config.NATS.URL == "" {
		where, state = "data", absolute(a.options.Config.NATS.Dir)
	}
	rules := a.options.Config.Policy.String()
	if !a.options.Config.Policy.Absent() {
		rules = absolute(rules)
	}
	a.options.Log.Info("configuration", "file", cmp.Or(a.options.ConfigFile, "none, defaults"), "policy", rules, where, state)
}

func (a *App) announce() {
	for _, u := range a.options.Config.Proxy.Upstreams {
		a.options.Log.Info("proxy ready", "base_url", "http://"+a.ProxyAddr()+u.Prefix, "upstream", redactURL(u.URL))
	}
	a.announceConsole()
	a.policies.warnOfVacantRoutes()
	if addr := a.NATSAddr(); addr != "" {
		a.options.Log.Info("NATS listening", "url", "nats://"+addr)
		if a.options.Config.NATS.Auth == natsOpen && a.parts.reviewers != nil {
			a.options.Log.Warn("nats.auth is open: clients of NATS without a token read all requests and events, and can take messages from the consumers of others; remove nats.auth", "url", "nats://"+addr)
		}
	}
}

// announceConsole logs the address of the console and who may sign in.
func (a *App) announceConsole() {
	if a.parts.reviewers == nil {
		a.options.Log.Warn("no reviewers configured: anyone on this machine can approve, agents on it too (docs/hardening.md)", "console", a.ConsoleURL())
		return
	}
	c := a.options.Config.Console
	if !c.asks() {
		a.options.Log.Info("reviewers: the token of this run is needed to approve", "console", a.ConsoleURL())
		return
	}
	a.options.Log.Info("reviewers: sign in", "console", cmp.Or(c.URL, a.ConsoleURL()), "configured", len(c.Reviewers), "oidc", cmp.Or(c.OIDC.Issuer, "none"))
	for _, s := range a.parts.judge.Sources() {
		a.policies.warnOfVacantGroups(s)
	}
	if names := c.twoNames(); len(names) > 0 {
		a.options.Log.Warn("these reviewers have a token, and count as other reviewers when they sign in by the provider: to link the two, set their e-mail address as user in console.reviewers", "reviewers", names)
	}
	if host, _, _ := net.SplitHostPort(c.Listen); !configfile.IsLoopback(host) && !strings.HasPrefix(c.URL, "https:") {
		a.options.Log.Warn("the console is reached from other machines without HTTPS, so tokens and sessions can be read on the way: put a proxy with TLS before it and name that in console.url")
	}
}
