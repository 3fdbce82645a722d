package proxy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/proxy/conversation"
)

// DefaultTenant is the tenant of agents that the configuration names none for.
const DefaultTenant = conversation.DefaultTenant

// client is the configured client that the agent is, by the SHA-256 of its key, or "".
func (p *Proxy) client(r *agentRequest) string {
	key := r.apiKey()
	if len(p.clients) == 0 || len(key) == 0 {
		return ""
	}
	sum := sha256.Sum256(key)
	digest := hex.EncodeToString(sum[:])
	if _, known := p.clients[digest]; !known {
		return ""
	}
	return digest
}

// principal finds who the agent acts for: by headers where they are trusted, else by its
// client. What the model wrote never counts.
func (p *Proxy) principal(client string, r *agentRequest) approvals.Principal {
	who, configured := p.clients[client]
	if !configured {
		who = p.options.Unnamed
	}
	if p.options.TrustHeaders {
		who.User, who.Agent, who.Tenant = cmp.Or(r.text(idUser), who.User), cmp.Or(r.text(idAgent), who.Agent), cmp.Or(r.text(idTenant), who.Tenant)
	}
	who.Tenant = cmp.Or(who.Tenant, DefaultTenant)
	return who
}
