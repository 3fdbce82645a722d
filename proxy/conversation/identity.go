package conversation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/intercept"
)

// Identity is who sends the request, and its conversation and task.
type Identity struct {
	Principal approvals.Principal
	Session   string
	Run       string
	Named     bool // the agent names the run
	Derived   bool // the run is known by the text of the user
	Opened    bool // the session is known by its opening words
	Model     string
}

// DefaultTenant is the tenant of agents for which the configuration names none.
const DefaultTenant = "default"

// Key returns a key of the principal's own in the store. Different parts never make the
// same key, whatever names an agent chooses. Two principals never share one.
func (id *Identity) Key(parts ...string) string { return PrincipalKey(id.Principal, parts...) }

// PrincipalKey is [Identity.Key] for a principal.
func PrincipalKey(who approvals.Principal, parts ...string) string {
	return lengthPrefixed(append([]string{who.Tenant, who.User, who.Agent}, parts...)...)
}

// lengthPrefixed joins texts with their lengths, so that different texts never make the same.
func lengthPrefixed(parts ...string) string {
	var key []byte
	for _, part := range parts {
		key = append(strconv.AppendInt(key, int64(len(part)), 10), ':')
		key = append(key, part...)
	}
	return string(key)
}

// turnsKey is the key of the conversation's hidden turns.
func (id *Identity) turnsKey() string { return id.Key(id.Session) }

// RunOf is the id of a run that an agent of the tenant has named. People steer runs by
// their id, so two tenants never share one: except for the default tenant, and wherever
// it could be taken for another's, it ends in @TENANT.
func RunOf(tenant, name string) string {
	if tenant == DefaultTenant && !strings.Contains(name, "@") {
		return name
	}
	return name + "@" + atSign.Replace(tenant)
}

var atSign = strings.NewReplacer("%", "%25", "@", "%40")

// identify finds the session: a header names it, else the body, else the continued
// answer; else its opening words identify it.
func (r *Request) identify(info *intercept.Info, opening intercept.UserText, continued string, digests *Digests) Identity {
	id := Identity{Principal: r.Principal, Model: info.Model, Session: cmp.Or(r.Session, info.Session, continued)}
	if r.Run != "" {
		id.Run, id.Named = RunOf(r.Principal.Tenant, r.Run), true
	}
	if id.Session != "" {
		return id
	}
	if len(info.Refers) > 0 {
		opening = intercept.UserText{Prefix: info.Refers[0]}
	}
	opening.Prefix = strings.Join([]string{r.Principal.Tenant, r.Principal.User, r.Principal.Agent, opening.Prefix}, "\x00")
	id.Session, id.Opened = "s-"+digests.hex(opening, 8), true
	return id
}

// conversationHeaders are those in which agents name a conversation as they name it to their hooks.
var conversationHeaders = []string{"session-id", "session_id", "x-session-id", "thread-id", "thread_id", "conversation_id", "x-claude-code-session-id"}

// NameDigests returns the digests of the names that the agent gives the conversation: in headers and in the body. Opening
// words are no name.
func (c *Conversation) NameDigests() (digests []string) {
	add := func(digest string) {
		if !slices.Contains(digests, digest) {
			digests = append(digests, digest)
		}
	}
	if who := c.sessionIdentity(); !who.Opened {
		add(DigestHeader([]byte(who.Session)))
	}
	if session := c.Info().Session; session != "" {
		add(DigestHeader([]byte(session)))
	}
	for _, header := range c.Request.sessionHeaders() {
		if slices.Contains(conversationHeaders, header.Name) {
			add(header.Digest)
		}
	}
	return digests
}
