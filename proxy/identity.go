package proxy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
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
	named     bool // the agent names the run
	derived   bool // the run is known by what the user said
	opened    bool // the session is known by the words that it begins with
	turn      string
	model     string
}

// turnsKey is the key of the conversation's hidden turns. Two principals never
// share one.
func (id *identity) turnsKey() string {
	return id.key(id.session)
}

// key is a key of the principal's own in the store of hidden turns. Different parts
// never make the same key, whatever an agent has named them.
func (id *identity) key(parts ...string) string {
	var key []byte
	for _, part := range append([]string{id.principal.Tenant, id.principal.User, id.principal.Agent}, parts...) {
		key = append(strconv.AppendInt(key, int64(len(part)), 10), ':')
		key = append(key, part...)
	}
	return string(key)
}

// runOf is the id of a run that an agent of the tenant has named. People steer
// runs by their id, so two tenants never share one: but for the default tenant,
// and wherever else it could be taken for another's, it ends in @TENANT.
func runOf(tenant, name string) string {
	if tenant == defaultPrincipal.Tenant && !strings.Contains(name, "@") {
		return name
	}
	return name + "@" + atSign.Replace(tenant)
}

var atSign = strings.NewReplacer("%", "%25", "@", "%40")

// DefaultTenant is the tenant of agents that the configuration names none for.
const DefaultTenant = "default"

// defaultPrincipal is who an agent acts for that the configuration does not know.
var defaultPrincipal = approvals.Principal{Tenant: DefaultTenant}

// client is the configured client that the agent is, by its key, or "".
func (p *Proxy) client(h *fasthttp.RequestHeader) string {
	if len(p.clients) == 0 {
		return ""
	}
	digest := keyDigest(h)
	if _, known := p.clients[digest]; !known {
		return ""
	}
	return digest
}

// principal finds who the agent acts for: by its key, else by headers where they
// are trusted. What the model wrote never counts.
func (p *Proxy) principal(h *fasthttp.RequestHeader) approvals.Principal {
	who := defaultPrincipal
	if known, ok := p.clients[p.client(h)]; ok {
		who = known
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

// info is what the request says of itself as the agent sent it.
func (x *exchange) info() *intercept.Info {
	if !x.informed {
		x.says, x.informed = x.req.Info(), true
	}
	return &x.says
}

// identity says who asks, and what the request says of its session. It is worked
// out when it is first needed: for most requests nobody wants to know.
func (x *exchange) identity() *identity {
	x.conversation()
	if x.who.run == "" && x.followed.Run != "" && x.req.LastUser() == "" {
		x.who.run = x.followed.Run // results of tools go on with the task
	}
	if x.who.run == "" {
		sum := sha256.Sum256([]byte(x.req.Task()))
		x.who.run, x.who.derived = runOf(x.who.principal.Tenant, x.who.session+"-"+hex.EncodeToString(sum[:4])), true
	}
	return &x.who
}

// conversation is the identity as far as the session: the run may still be unknown.
func (x *exchange) conversation() *identity {
	if x.who.session == "" {
		h := &x.fasthttp.Request.Header
		x.who = identify(h, x.p.principal(h), *x.info(), x.followed.Session, x.turn)
		x.says.Opening = "" // would keep the conversation in memory
	}
	return &x.who
}

// identify finds the session: the header names it, else the body, else what the
// request goes on from; else it is told by the opening words.
func identify(h *fasthttp.RequestHeader, who approvals.Principal, info intercept.Info, followed, turn string) identity {
	id := identity{principal: who, turn: turn, model: info.Model, session: string(header(h, headerSession))}
	if run := header(h, headerRun); len(run) > 0 {
		id.run, id.named = runOf(who.Tenant, string(run)), true
	}
	id.session = cmp.Or(id.session, info.Session, followed)
	if id.session == "" && len(info.Refers) > 0 {
		info.Opening = info.Refers[0]
	}
	if id.session == "" {
		sum := sha256.Sum256([]byte(strings.Join([]string{who.Tenant, who.User, who.Agent, info.Opening}, "\x00")))
		id.session, id.opened = "s-"+hex.EncodeToString(sum[:8]), true
	}
	return id
}
