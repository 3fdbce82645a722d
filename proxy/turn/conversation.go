package turn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/intercept"
)

// conversation is the agent's request in its conversation: who asks, what the request
// continues, and what the store keeps of it.
type conversation struct {
	engine  *Engine
	request *Request
	parsed  intercept.Request // what goes upstream

	id       Identity       // once it was needed: see identity
	info     intercept.Info // once it was needed: see requestInfo
	informed bool

	continues responseRef // what the request continues, by the provider's ids
}

// Identity is who asks, and in which conversation and task.
type Identity struct {
	Principal approvals.Principal
	Session   string
	Run       string
	Named     bool // the agent names the run
	Derived   bool // the run is known by what the user wrote
	Opened    bool // the session is known by its opening words
	Model     string
}

// DefaultTenant is the tenant of agents that the configuration names none for.
const DefaultTenant = "default"

// turnsKey is the key of the conversation's hidden turns. Two principals never share one.
func (id *Identity) turnsKey() string { return id.key(id.Session) }

// key is a key of the principal's own in the store. Different parts never make the same
// key, whatever names an agent chooses.
func (id *Identity) key(parts ...string) string { return principalKey(id.Principal, parts...) }

func principalKey(who approvals.Principal, parts ...string) string {
	var key []byte
	for _, part := range append([]string{who.Tenant, who.User, who.Agent}, parts...) {
		key = append(strconv.AppendInt(key, int64(len(part)), 10), ':')
		key = append(key, part...)
	}
	return string(key)
}

// runOf is the id of a run that an agent of the tenant has named. People steer runs by
// their id, so two tenants never share one: except for the default tenant, and wherever
// it could be taken for another's, it ends in @TENANT.
func runOf(tenant, name string) string {
	if tenant == DefaultTenant && !strings.Contains(name, "@") {
		return name
	}
	return name + "@" + atSign.Replace(tenant)
}

var atSign = strings.NewReplacer("%", "%25", "@", "%40")

// read reads the agent's request.
func (c *conversation) read() (refusal *intercept.Error) {
	c.parsed, refusal = c.parse(c.request.Envelope)
	return refusal
}

// judge returns the judge of the agent's calls. It is used in every turn, so it reads
// nothing of the conversation.
func (c *conversation) judge() Judge { return c.engine.Judge(c.request.Client) }

// origin is what the judge reads about a call beside the call itself.
func (c *conversation) origin() judge.Origin {
	who := c.identity()
	return judge.Origin{
		Principal: who.Principal, Session: who.Session, Run: who.Run, Turn: c.request.Turn, Model: who.Model, Dialect: c.request.Dialect.Name(),
		At: time.Now(),
	}
}

// parse reads a request for its dialect.
func (c *conversation) parse(e intercept.Envelope) (intercept.Request, *intercept.Error) {
	r, err := c.request.Dialect.Request(e)
	if err != nil {
		return nil, asError(err, intercept.CodeBadRequest)
	}
	return r, nil
}

// requestInfo is what the request contains about itself, as the agent sent it.
func (c *conversation) requestInfo() *intercept.Info {
	if !c.informed {
		c.info, c.informed = c.parsed.Info(), true
	}
	return &c.info
}

// identity returns the whole identity. It is computed when it is first needed: most
// requests need none.
func (c *conversation) identity() *Identity {
	id := c.sessionIdentity()
	if id.Run == "" && c.continues.Run != "" && c.parsed.LastUser() == "" {
		id.Run = c.continues.Run // results of tools continue the task
	}
	if id.Run == "" {
		sum := sha256.Sum256([]byte(c.parsed.Task()))
		id.Run, id.Derived = runOf(id.Principal.Tenant, id.Session+"-"+hex.EncodeToString(sum[:4])), true
	}
	return id
}

// sessionIdentity returns the identity as far as the session: the run may be unknown.
func (c *conversation) sessionIdentity() *Identity {
	if c.id.Session == "" {
		c.id = identify(c.request, *c.requestInfo(), c.continues.Session)
		c.info.Opening = "" // would keep the conversation in memory
	}
	return &c.id
}

// identify finds the session: a header names it, else the body, else what the request
// continues; else its opening words identify it.
func identify(r *Request, info intercept.Info, continued string) Identity {
	id := Identity{Principal: r.Principal, Model: info.Model, Session: cmp.Or(r.Session, info.Session, continued)}
	if r.Run != "" {
		id.Run, id.Named = runOf(r.Principal.Tenant, r.Run), true
	}
	if id.Session == "" && len(info.Refers) > 0 {
		info.Opening = info.Refers[0]
	}
	if id.Session == "" {
		sum := sha256.Sum256([]byte(strings.Join([]string{r.Principal.Tenant, r.Principal.User, r.Principal.Agent, info.Opening}, "\x00")))
		id.Session, id.Opened = "s-"+hex.EncodeToString(sum[:8]), true
	}
	return id
}

// userMessage identifies the user's last message: "" where the request continues without
// one from an answer that is not known.
func (c *conversation) userMessage() string {
	if c.parsed.LastUser() == "" {
		return c.continues.User
	}
	sum := sha256.Sum256([]byte(c.parsed.Task()))
	return hex.EncodeToString(sum[:8])
}

// recordsOf reads what the store keeps under a key.
func (c *conversation) recordsOf(ctx context.Context, key string) ([][]byte, *intercept.Error) {
	if !c.engine.Store.HasTurns(key) {
		return nil, nil
	}
	kept, err := c.engine.Store.Turns(ctx, key)
	if err != nil {
		c.engine.metrics.storeError("turns")
		return nil, &intercept.Error{Code: intercept.CodeStoreUnavailable, Reason: "the hidden turns of this conversation cannot be read; try again", Err: err}
	}
	return kept, nil
}
