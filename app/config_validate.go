package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/internal/weborigin"
	"github.com/heldcall/heldcall/proxy/upstream"
)

// configValidator checks the values of a configuration that was read.
type configValidator struct{ *strictyaml.Reader }

// validate adds the values that are of the right type but cannot work.
func (r *configValidator) validate(c *Config) {
	r.validateListeners(c)
	r.validateProxy(&c.Proxy)
	r.validateUpstreams(&c.Proxy)
	r.validateClients(c.Proxy.Clients)
	r.validateNATS(&c.NATS)
	r.validateNATSAuth(c)
	r.validateTemplates(c.Grants.Templates)
	if c.Hold.ParkAfter <= 0 {
		r.Problem("hold.park_after", "%s is not above 0; write for example 50s", c.Hold.ParkAfter)
	}
	if c.Hold.OrphanTTL < time.Second {
		r.Problem("hold.orphan_ttl", "%s is less than a second; write for example 15m", c.Hold.OrphanTTL)
	}
	if c.Hold.MaxStored < 1<<20 {
		r.Problem("hold.max_stored", "%s is less than 1MiB; write for example 1GiB", c.Hold.MaxStored)
	}
	if c.Runs.Idle < time.Second {
		r.Problem("runs.idle", "%s is less than a second; write for example 30m", c.Runs.Idle)
	}
	if c.Policy.File == "" {
		r.Problem("policy.file", "is empty; name the file, or remove the key to use policy.yaml")
	} else if c.Policy.FileNamed {
		r.validateFile("policy.file", c.Policy.File)
	}
	r.validateWorkDir("policy.workdir", c.Policy.WorkDir)
	r.validateConsole(&c.Console)
	r.validateTracing(&c.Tracing)
	r.validateActing(c)
	r.validateNotify(&c.Notify)
	r.validateAudit(c)
}

func (r *configValidator) validateAudit(c *Config) {
	if c.Audit.Retention < time.Hour {
		r.Problem("audit.retention", "%s is less than an hour; write for example 90d", c.Audit.Retention)
	}
	if c.Audit.Checkpoint < time.Second || c.Audit.Checkpoint > time.Hour {
		r.Problem("audit.checkpoint", "%s is not between 1s and 1h; write for example 1m", c.Audit.Checkpoint)
	}
	if inside, err := filepath.Rel(c.NATS.Dir, c.AuditDir()); c.NATS.URL == "" && err == nil && filepath.IsLocal(inside) {
		r.Problem("audit.dir", "is in nats.dir: who rewrites the state would rewrite the checkpoints too; name another folder")
	}
}

// validateListeners checks the three addresses. A console without reviewers lets everybody
// decide who reaches it, and the embedded NATS server has no authentication: they must be
// on loopback.
func (r *configValidator) validateListeners(c *Config) {
	proxy := r.validateListen("proxy.listen", c.Proxy.Listen, "")
	open := "there are no console.reviewers to ask who may decide; add them, or"
	if c.Console.asks() {
		open = ""
	}
	console := r.validateListen("console.listen", c.Console.Listen, open)
	if proxy != "" && proxy == console {
		r.Problem("console.listen", "is the address of proxy.listen; choose another port")
	}
	if c.NATS.Listen == "" || c.NATS.URL != "" {
		return
	}
	nats := r.validateListen("nats.listen", c.NATS.Listen, "the embedded server is for bots on this machine, without TLS;")
	if nats != "" && (nats == proxy || nats == console) {
		r.Problem("nats.listen", "is the address of another listener; choose another port")
	}
}

func (r *configValidator) validateProxy(p *ProxyConfig) {
	if p.Keepalive < time.Second {
		r.Problem("proxy.keepalive", "%s is less than a second; write for example 10s", p.Keepalive)
	}
	if p.MaxBody < 1<<10 {
		r.Problem("proxy.max_body", "%s is too small for any request; write for example 64MiB", p.MaxBody)
	}
	if p.Memory != 0 && p.Memory < p.MaxBody {
		r.Problem("proxy.memory", "%s is less than proxy.max_body (%s): no request of that size could be served; write for example 256MiB, or 0 for half of the memory", p.Memory, p.MaxBody)
	}
	if p.MaxContinuations < 1 {
		r.Problem("proxy.max_continuations", "%d is less than 1: a model could never learn of a denial", p.MaxContinuations)
	}
	if p.MaxDenials < 0 {
		r.Problem("proxy.max_denials", "%d is negative; write 0 for any number", p.MaxDenials)
	}
	r.validateWeb(p)
	for i, pattern := range p.Routes.Allow {
		key := strictyaml.Index("proxy.routes.allow", i)
		if !strings.HasPrefix(pattern, "/") {
			r.Problem(key, "%q does not begin with /; write a path such as /v1/realtime/**", pattern)
		} else if _, err := path.Match(pattern, ""); err != nil {
			r.Problem(key, "%q is not a pattern: a bracket or backslash has no end", pattern)
		}
	}
}

// validateWeb checks the names and the web pages of the agents' port.
func (r *configValidator) validateWeb(p *ProxyConfig) {
	for i, host := range p.Hosts {
		if !hostName.MatchString(host) {
			r.Problem(strictyaml.Index("proxy.hosts", i), "%q is not a host; write its name without scheme and port, such as host.docker.internal", host)
		}
	}
	for i, origin := range p.Origins {
		key := strictyaml.Index("proxy.origins", i)
		switch _, err := weborigin.Parse(origin); {
		case errors.Is(err, weborigin.ErrNull):
			r.Problem(key, "null is the origin of every page that another site shows in a sandboxed frame: all of them could use the model; serve the page from a host, and name that")
		case err != nil:
			r.Problem(key, "%q is not an origin; write scheme://host or scheme://host:port without a path, such as https://app.example or app://obsidian.md", origin)
		}
	}
}

var hostName = regexp.MustCompile(`^([A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

var plainPrefix = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

func (r *configValidator) validateUpstreams(p *ProxyConfig) {
	if len(p.Upstreams) == 0 {
		r.Problem("proxy.upstreams", "is empty; name at least one, or remove the key to use https://api.openai.com/v1")
	}
	seen := map[string]int{}
	for i, u := range p.Upstreams {
		key := strictyaml.Index("proxy.upstreams", i)
		prefix := strings.ToLower(u.Prefix) // paths are routed whatever their letter case
		switch first, twice := seen[prefix]; {
		case u.Prefix != "/" && (!plainPrefix.MatchString(u.Prefix) || path.Clean(u.Prefix) != u.Prefix):
			r.Problem(key+".prefix", "%q is not a plain path; write for example /v1", u.Prefix)
		case twice:
			r.Problem(key+".prefix", "%q is also the prefix of proxy.upstreams[%d]; each upstream needs its own", u.Prefix, first)
		default:
			seen[prefix] = i
		}
		p.Upstreams[i].KeyHeader = cmp.Or(u.KeyHeader, "auto")
		target := r.validateURL(key+".url", u.URL, "http", "https")
		r.validateConnection(key, &u, target)
		if target == nil {
			continue
		}
		if p.Upstreams[i].URL = strings.TrimRight(u.URL, "/"); target.Host == p.Listen {
			r.Problem(key+".url", "is the address of proxy.listen: heldcall would call itself")
		}
		r.validateChatGPT(key+".chatgpt_url", &p.Upstreams[i], target.Hostname(), p.Listen)
	}
}

// validateChatGPT checks the address for logins for ChatGPT of the upstream at a host, and sets that of OpenAI's upstreams:
// no other gets such a login unless it is named for it.
func (r *configValidator) validateChatGPT(key string, u *Upstream, host, listen string) {
	if u.ChatGPT == "" {
		switch strings.ToLower(host) {
		case "api.openai.com":
			u.ChatGPT = chatGPT
		case "chatgpt.com":
			u.ChatGPT = u.URL
		}
		return
	}
	target := r.validateURL(key, u.ChatGPT, "http", "https")
	if u.ChatGPT = strings.TrimRight(u.ChatGPT, "/"); target != nil && target.Host == listen {
		r.Problem(key, "is the address of proxy.listen: heldcall would call itself")
	}
}

// validateConnection checks the proxy and the files with which an upstream is reached at target, nil if that is not known.
func (r *configValidator) validateConnection(key string, u *Upstream, target *url.URL) {
	if _, err := upstream.ParseProxy(string(u.Proxy)); err != nil {
		r.Problem(key+".proxy", "%s; or none for connections without a proxy", err)
	}
	if u.CA != "" {
		if _, err := upstream.LoadAuthorities(u.CA); err != nil {
			r.Problem(key+".ca", "%s", err)
		}
	}
	if u.Cert == "" && u.Key == "" {
		return
	}
	if target != nil && target.Scheme != "https" {
		r.Problem(key+".cert", "has no effect with http; write https in url, or remove cert and key")
	} else if _, err := upstream.LoadCertificate(u.Cert, u.Key); err != nil {
		r.Problem(key+".cert", "%s", err)
	}
}

func (r *configValidator) validateClients(clients []Client) {
	seen := map[string]int{}
	for i, client := range clients {
		key := strictyaml.Index("proxy.clients", i)
		switch digest, err := hex.DecodeString(client.KeySHA256); {
		case (client.Key == "") == (client.KeySHA256 == ""):
			r.Problem(key, "give exactly one of key and key_sha256")
		case err != nil || (client.KeySHA256 != "" && len(digest) != 32) || strings.ToLower(client.KeySHA256) != client.KeySHA256:
			r.Problem(key+".key_sha256", "is not 64 lower-case hex digits; make it with: printf %%s KEY | sha256sum")
		default:
			id := client.digest()
			if first, twice := seen[id]; twice {
				r.Problem(key, "has the key of proxy.clients[%d]; each client needs its own", first)
			}
			seen[id] = i
		}
		if client.Tenant == "" && client.User == "" && client.Agent == "" {
			r.Problem(key, "names no principal; give tenant, user or agent")
		}
		if client.Policy != "" {
			r.validateFile(key+".policy", client.Policy)
		}
		if _, err := client.workspace(); err != nil {
			r.Problem(key+".workspace", "%s", err)
		}
		r.validateWorkDir(key+".workdir", client.WorkDir)
	}
}

// digest returns the SHA-256 of the client's key, however it was given.
func (c Client) digest() string {
	if c.KeySHA256 != "" {
		return c.KeySHA256
	}
	sum := sha256.Sum256([]byte(c.Key))
	return hex.EncodeToString(sum[:])
}

func (r *configValidator) validateNATS(n *NATSConfig) {
	if n.Replicas < 0 || n.Replicas > 5 {
		r.Problem("nats.replicas", "%d is not a number from 0 to 5; 0 follows the cluster", n.Replicas)
	}
	if n.URL == "" {
		if n.Dir == "" {
			r.Problem("nats.dir", "is empty; name a folder for the embedded server, or give nats.url")
		}
		for _, external := range []struct{ key, value string }{
			{"creds", n.Creds},
			{"nkey", n.NKey},
			{"tls.ca", n.TLS.CA},
			{"tls.cert", n.TLS.Cert},
			{"tls.key", n.TLS.Key},
		} {
			if external.value != "" {
				r.Problem("nats."+external.key, "is for an external server; give nats.url too, or remove it")
			}
		}
		return
	}
	for _, server := range strings.Split(n.URL, ",") {
		r.validateURL("nats.url", strings.TrimSpace(server), "nats", "tls", "ws", "wss")
	}
	if n.Creds != "" && n.NKey != "" {
		r.Problem("nats", "give at most one of creds and nkey")
	}
	if (n.TLS.Cert == "") != (n.TLS.Key == "") {
		r.Problem("nats.tls", "cert and key belong together; give both")
	}
	for _, file := range []struct{ key, path string }{
		{"nats.creds", n.Creds},
		{"nats.nkey", n.NKey},
		{"nats.tls.ca", n.TLS.CA},
		{"nats.tls.cert", n.TLS.Cert},
		{"nats.tls.key", n.TLS.Key},
	} {
		if file.path != "" {
			r.validateFile(file.key, file.path)
		}
	}
}

// validateNATSAuth checks that somebody can authenticate to the embedded server.
func (r *configValidator) validateNATSAuth(c *Config) {
	tokens := slices.ContainsFunc(c.Console.Reviewers, func(reviewer Reviewer) bool { return reviewer.TokenSHA256 != "" })
	switch {
	case c.NATS.Auth == natsOpen && c.Console.limitsTenants():
		r.Problem("nats.auth", "open lets everybody read all tenants, and reviewers have tenants; write reviewers, or leave it out")
	case c.NATS.Auth != natsReviewers:
	case c.NATS.URL != "":
		r.Problem("nats.auth", "is for the embedded server; an external one authenticates users by its own configuration (heldcall nats permissions)")
	case !tokens:
		r.Problem("nats.auth", "no client could connect: none of console.reviewers has a token; make one with heldcall token create")
	}
}
