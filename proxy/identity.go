package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
	"github.com/valyala/fasthttp"
)

// identity is who asks, and in which conversation and task.
type identity struct {
	principal approvals.Principal
	session   string
	run       string
	named     bool // the agent has named the run
	turn      string
	model     string
}

// turnsKey is the key of the conversation's hidden turns. Two principals never
// share one.
func (id *identity) turnsKey() string {
	return strings.Join([]string{id.principal.Tenant, id.principal.User, id.principal.Agent, id.session}, "\x00")
}

// defaultPrincipal is who an agent acts for that the configuration does not know.
var defaultPrincipal = approvals.Principal{Tenant: "default"}

// principal finds who the agent acts for: by its key, else by headers where they
// are trusted. What the model wrote never counts.
func (p *Proxy) principal(h *fasthttp.RequestHeader) approvals.Principal {
	who := defaultPrincipal
	if len(p.clients) > 0 {
		if known, ok := p.clients[keyDigest(h)]; ok {
			who = known
		}
	}
	if p.options.TrustHeaders {
		for name, field := range map[string]*string{headerUser: &who.User, headerAgent: &who.Agent, headerTenant: &who.Tenant} {
			if v := header(h, name); len(v) > 0 {
				*field = string(v)
			}
		}
	}
	if who.Tenant == "" {
		who.Tenant = defaultPrincipal.Tenant
	}
	return who
}

// keyDigest is the SHA-256 of the agent's API key, in hex, "" without one.
func keyDigest(h *fasthttp.RequestHeader) string {
	key := string(header(h, "Authorization"))
	if len(key) > 7 && strings.EqualFold(key[:7], "bearer ") {
		key = strings.TrimSpace(key[7:])
	} else {
		key = ""
	}
	for _, name := range []string{"X-Api-Key", "Api-Key"} {
		if key == "" {
			key = string(header(h, name))
		}
	}
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// identity says who asks, and what the request says of its session. It is worked
// out when it is first needed: for most requests nobody wants to know.
func (x *exchange) identity() *identity {
	if x.who.session == "" {
		h := &x.fasthttp.Request.Header
		x.who = identify(h, x.p.principal(h), x.req.Info(), x.turn)
	}
	if x.who.run == "" {
		sum := sha256.Sum256([]byte(x.req.Task()))
		x.who.run = x.who.session + "-" + hex.EncodeToString(sum[:4])
	}
	return &x.who
}

func identify(h *fasthttp.RequestHeader, who approvals.Principal, info intercept.Info, turn string) identity {
	id := identity{principal: who, turn: turn, model: info.Model, session: string(header(h, headerSession)), run: string(header(h, headerRun))}
	id.named = id.run != ""
	if id.session == "" {
		id.session = info.Session
	}
	if id.session == "" {
		sum := sha256.Sum256([]byte(strings.Join([]string{who.Tenant, who.User, who.Agent, info.Opening}, "\x00")))
		id.session = "s-" + hex.EncodeToString(sum[:8])
	}
	return id
}
