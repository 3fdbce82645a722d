package proxy

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/hooks"
	"github.com/heldcall/heldcall/proxy/conversation"
	"github.com/valyala/fasthttp"
)

// DefaultTenant is the tenant of agents that the configuration names none for.
const DefaultTenant = conversation.DefaultTenant

// clients are the agents that are known by their keys. They do not change: others replace them.
type clients struct {
	principals map[string]approvals.Principal // by SHA-256 of the key
	removed    map[string]bool                // keys of clients since the start that are no longer known
}

// newClients returns clients. before are those that they replace, nil at the start.
func newClients(list []Client, before *clients) *clients {
	c := &clients{principals: make(map[string]approvals.Principal, len(list)), removed: map[string]bool{}}
	for _, client := range list {
		c.principals[strings.ToLower(client.KeySHA256)] = client.Principal
	}
	if before == nil {
		return c
	}
	maps.Copy(c.removed, before.removed)
	for key := range before.principals {
		c.removed[key] = true
	}
	for key := range c.principals {
		delete(c.removed, key)
	}
	return c
}

// errClientRemoved refuses an agent whose client was removed: it would be let in as one that was never known.
var errClientRemoved = &intercept.Error{Code: intercept.CodeClientRemoved, Reason: "this API key was removed from proxy.clients; give the agent another key"}

// identify returns the configured client that the agent is, by the SHA-256 of its key, or "", and who it acts for.
func (p *Proxy) identify(r *agentRequest, h *fasthttp.RequestHeader) (client string, who approvals.Principal, refusal *intercept.Error) {
	all := p.clients.Load()
	if path, isHook := strings.CutPrefix(r.path, hooks.Path); isHook && hasHeader(h, hooks.HeaderKeyID) {
		if client, refusal = all.signed(path, r.body, h); refusal != nil {
			return "", approvals.Principal{}, refusal
		}
		return client, p.principal(all, client, r), nil
	}
	if key := r.apiKey(); len(key) > 0 && len(all.principals)+len(all.removed) > 0 {
		sum := sha256.Sum256(key)
		digest := hex.EncodeToString(sum[:])
		if all.removed[digest] {
			return "", approvals.Principal{}, errClientRemoved
		}
		if _, known := all.principals[digest]; known {
			client = digest
		}
	}
	return client, p.principal(all, client, r), nil
}

// signed returns the client that has signed the question of a hook.
func (c *clients) signed(form string, body []byte, h *fasthttp.RequestHeader) (client string, refusal *intercept.Error) {
	id, text := string(header(h, hooks.HeaderKeyID)), func(name string) string { return string(header(h, name)) }
	for key := range c.principals {
		digest, err := hex.DecodeString(key)
		if err != nil || hooks.KeyID(digest) != id {
			continue
		}
		want := hooks.Sign(digest, form, text(hooks.HeaderNonce), text(hooks.HeaderDeadline), body)
		if hmac.Equal([]byte(want), header(h, hooks.HeaderSigned)) {
			return key, nil
		}
	}
	return "", badRequest("the question is not signed with the key of a client in proxy.clients")
}

// principal finds who the agent acts for: by headers where they are trusted, else by its
// client. What the model wrote never counts.
func (p *Proxy) principal(all *clients, client string, r *agentRequest) approvals.Principal {
	who, configured := all.principals[client]
	if !configured {
		who = p.options.Unnamed
	}
	if p.options.TrustHeaders {
		who.User, who.Agent, who.Tenant = cmp.Or(r.text(idUser), who.User), cmp.Or(r.text(idAgent), who.Agent), cmp.Or(r.text(idTenant), who.Tenant)
	}
	who.Tenant = cmp.Or(who.Tenant, DefaultTenant)
	return who
}

// Renewal is what can change of a proxy while it serves.
type Renewal struct {
	Clients   []Client
	Upstreams []Upstream // those of the options, with other keys
}

// Check returns why the upstreams cannot be used.
func (r Renewal) Check() error {
	var errs []error
	for _, u := range r.Upstreams {
		errs = append(errs, validateUpstream(&u)...)
	}
	return errors.Join(errs...)
}

// Renew changes the clients and the keys of upstreams: for all requests that arrive from now on, and the keys also for
// answers that have begun. A client that is removed is refused.
func (p *Proxy) Renew(r Renewal) {
	p.clients.Store(newClients(r.Clients, p.clients.Load()))
	for _, u := range r.Upstreams {
		for _, client := range p.router.upstreams {
			if client.Prefix == strings.TrimSuffix(u.Prefix, "/") {
				client.UseKey(u.APIKey)
			}
		}
	}
}
