package approvals

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// GrantEffect is what a grant does to the calls that it covers.
type GrantEffect string

// The effects of a grant.
const (
	GrantAllow GrantEffect = "allow"
	GrantDeny  GrantEffect = "deny"
)

// GrantScope is a set of principals whose calls a grant covers.
type GrantScope string

// The scopes of a grant. Empty parts of a principal are compared like others: a grant
// for the user "" covers the agents without a user.
const (
	GrantSession GrantScope = "session" // one conversation of one principal
	GrantAgent   GrantScope = "agent"   // one agent of one user
	GrantUser    GrantScope = "user"    // every agent of one user
	GrantTenant  GrantScope = "tenant"  // all agents of one tenant
)

// GrantScopes returns all scopes. The first is the default.
func GrantScopes() []GrantScope {
	return []GrantScope{GrantUser, GrantSession, GrantAgent, GrantTenant}
}

// ErrUnknownGrant is returned for a grant id that is not recorded, or was deleted.
var ErrUnknownGrant = errors.New("no such grant")

// Grant is a remembered allow or deny: the calls of a principal that patterns
// cover, until it expires or is revoked.
type Grant struct {
	ID     string      `json:"id"` // ULID
	Effect GrantEffect `json:"effect"`
	Scope  GrantScope  `json:"scope"`
	// Principal is the principal whose calls are covered. The parts that the scope does
	// not compare are "".
	Principal Principal `json:"principal"`
	SessionID string    `json:"session_id,omitempty"` // with the scope session
	// Window is true for a trust window. It has no patterns: it allows the calls of one run whose
	// effects are known as reads and writes in the workspace. RunID is that run.
	Window bool `json:"window,omitempty"`
	// Folder is an absolute path that the grant adds to the workspace of one run, so that the rules decide about the calls
	// in it as about others; "" in other grants. It has no patterns.
	Folder    string   `json:"folder,omitempty"`
	RunID     string   `json:"run_id,omitempty"`
	Patterns  []string `json:"patterns"`   // tool or tool(argument), as in rules
	GrantedBy string   `json:"granted_by"` // the reviewer
	// GranterUser is the user of the same person in principals, set by the channel that
	// authenticated the reviewer. It is not recorded.
	GranterUser string `json:"-"`
	// OnBehalfOf is the reviewer in whose place the decision was taken, or "".
	OnBehalfOf string `json:"on_behalf_of,omitempty"`
	// Groups gave the right to the decision. A rule that names reviewers asks in spite of
	// a grant that allows, unless it names one of these groups. A grant that an admin
	// wrote by hand has none and needs none.
	Groups    []string  `json:"groups,omitempty"`
	Channel   string    `json:"channel,omitempty"`    // "rest", "nats", ...
	RequestID string    `json:"request_id,omitempty"` // the request whose decision was remembered
	Template  string    `json:"template,omitempty"`   // name of the template that was used
	Note      string    `json:"note,omitempty"`
	CreatedAt time.Time `json:"created_at"` // UTC
	// ExpiresAt is the end of the grant, UTC; nil: it has none.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// LastUsedAt is the time of the last call that the grant decided, UTC; nil: none.
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
	Uses       uint64     `json:"uses"` // calls that it decided
}

// GrantPayload is a grant as reviewers write it. The channel sets who grants it.
type GrantPayload struct {
	Effect    GrantEffect `json:"effect"`
	Scope     GrantScope  `json:"scope"`
	Principal Principal   `json:"principal"`
	SessionID string      `json:"session_id"`
	Patterns  []string    `json:"patterns"`
	Template  string      `json:"template"`
	Note      string      `json:"note"`
	ExpiresAt *time.Time  `json:"expires_at"`
}

// By returns the grant that a reviewer writes over a channel. user is the same person in
// principals.
func (p *GrantPayload) By(reviewer, user, channel string) Grant {
	return Grant{
		Effect: p.Effect, Scope: p.Scope, Principal: p.Principal, SessionID: p.SessionID, Patterns: p.Patterns,
		Template: p.Template, Note: p.Note, ExpiresAt: p.ExpiresAt, GrantedBy: reviewer, GranterUser: user, Channel: channel,
	}
}

// Expired reports whether the grant has ended at a time.
func (g *Grant) Expired(now time.Time) bool {
	return g.ExpiresAt != nil && !now.Before(*g.ExpiresAt)
}

// Narrow drops the parts of the principal that the scope does not compare.
func (g *Grant) Narrow() {
	if g.Scope != GrantSession {
		g.SessionID = ""
	}
	switch g.Scope {
	case GrantTenant:
		g.Principal.User, g.Principal.Agent = "", ""
	case GrantUser:
		g.Principal.Agent = ""
	}
}

// CoversPrincipal reports whether the calls of a principal in a session are
// within the scope.
func (g *Grant) CoversPrincipal(p Principal, session string) bool {
	whose := Grant{Scope: g.Scope, Principal: p, SessionID: session}
	whose.Narrow()
	return g.Principal == whose.Principal && g.SessionID == whose.SessionID
}

// CheckGiven refuses values that no grant can have. Fields may be missing.
func (g *Grant) CheckGiven(now time.Time) error {
	switch {
	case g.Effect != "" && g.Effect != GrantAllow && g.Effect != GrantDeny:
		return Invalid("effect", "%q is not known: write allow or deny", g.Effect)
	case g.Scope != "" && !slices.Contains(GrantScopes(), g.Scope):
		return Invalid("scope", "%q is not known: write user, agent, session or tenant", g.Scope)
	case g.ExpiresAt != nil && !now.Before(*g.ExpiresAt):
		return Invalid("expires_at", "the time is in the past")
	}
	return g.checkSize()
}

// checkSize refuses a grant that is too large to be read by people. Its limits are far
// below those of the store, which would refuse a grant after its event was written.
func (g *Grant) checkSize() error {
	if n := len(g.Patterns); n > maxGrantPatterns {
		return Invalid("patterns", "there are %d; one grant has at most %d", n, maxGrantPatterns)
	}
	all := 0
	for _, p := range g.Patterns {
		if len(p) > maxGrantPattern {
			return Invalid("patterns", "one has %d bytes, the limit is %d", len(p), maxGrantPattern)
		}
		all += len(p)
	}
	switch {
	case all > maxGrantText:
		return Invalid("patterns", "together they have %d bytes, the limit is %d", all, maxGrantText)
	case len(g.Note) > maxGrantText:
		return Invalid("note", "it has more than %d bytes", maxGrantText)
	case len(g.Principal.Tenant)+len(g.Principal.User)+len(g.Principal.Agent) > maxGrantText:
		return Invalid("principal", "its names have more than %d bytes", maxGrantText)
	case len(g.SessionID) > maxGrantText:
		return Invalid("session_id", "it has more than %d bytes", maxGrantText)
	case len(g.Folder) > maxGrantPattern:
		return Invalid("folder", "it has more than %d bytes", maxGrantPattern)
	}
	return nil
}

// CheckWhole refuses a grant without one of the required fields.
func (g *Grant) CheckWhole() error {
	switch {
	case g.Effect == "":
		return Invalid("effect", "it is missing: write allow or deny")
	case g.Scope == GrantSession && g.SessionID == "":
		return Invalid("session_id", "it is missing: a grant of the scope session names its session")
	case g.Principal.Tenant == "":
		return Invalid("principal", "its tenant is missing; agents without a tenant have \"default\"")
	case g.Window && !g.isOfRun():
		return Invalid("window", "a trust window allows calls of one run of a session, for a time, and has no patterns")
	case g.Folder != "" && (g.Window || !g.isOfRun()):
		return Invalid("folder", "a folder is added to the workspace of one run of a session, for a time, and has no patterns")
	case len(g.Patterns) == 0 && !g.Window && g.Folder == "":
		return Invalid("patterns", "there are none: write tool or tool(argument)")
	}
	return g.checkSize()
}

// isOfRun reports whether the grant is for one run, as trust windows and folders are.
func (g *Grant) isOfRun() bool {
	return g.Effect == GrantAllow && g.Scope == GrantSession && g.RunID != "" && g.ExpiresAt != nil && len(g.Patterns) == 0
}

// Limits of one grant.
const (
	maxGrantPatterns = 100
	maxGrantPattern  = 4 << 10  // bytes of one pattern
	maxGrantText     = 64 << 10 // bytes of all patterns, of the note and of the names
)

// GrantsDecide reports whether a grant may decide the request while it waits.
func (r *Request) GrantsDecide() bool { return r.AllowRemember && r.RulesApprove() }

// RulesApprove reports whether a rule may approve the request while it waits. People decide questions, results and critical
// calls, those in doubt, and those that need several approvals or a confirmation.
func (r *Request) RulesApprove() bool {
	doubtful := len(r.Details.Doubts) > 0 || r.Details.Abridged
	confirmed := r.Details.Confirm != "" || r.Details.Passkey
	return r.Kind == KindPermission && r.RiskLevel != RiskCritical && r.OneDecides() && !doubtful && !confirmed && len(r.Details.Secrets) == 0
}

// GrantFor returns the grant that a decision on a request asks for, without id and time.
func (r *Request) GrantFor(d *Decision) Grant {
	g := Grant{
		Effect: GrantAllow, Scope: d.Scope, Principal: r.Principal, SessionID: r.SessionID, Patterns: d.Patterns,
		GrantedBy: d.ReviewerID, OnBehalfOf: d.OnBehalfOf, Groups: d.Rights(), Channel: d.Channel, RequestID: r.ID, Template: d.Template, Note: d.Note,
		ExpiresAt: d.GrantExpiresAt,
	}
	if d.Action == ActionDenyAlways {
		g.Effect = GrantDeny
	}
	if d.Window != "" {
		g.Window, g.RunID, g.Patterns = true, r.RunID, []string{}
	}
	return g
}

// GrantOf returns the grant of a recorded decision; ok is false if it has none. The result
// depends on the records only: after a crash any replica can write the same grant.
func (r *Request) GrantOf(d *Decision) (g Grant, ok bool) {
	if d.GrantID == "" {
		return Grant{}, false
	}
	g = r.GrantFor(d)
	g.ID, g.CreatedAt = d.GrantID, d.DecidedAt
	g.Narrow()
	return g, true
}

// GrantFilter selects grants; zero fields select all. Limit is the size of a
// page: 0 means 50, the most is 500. Cursor is the NextCursor of the page before.
type GrantFilter struct {
	Tenant    string
	User      string
	Agent     string
	SessionID string
	Tool      string // those with a pattern for a tool of this name
	Tenants   TenantScope
	Expired   bool // include those that have ended
	Cursor    string
	Limit     int
}

// GrantPage is one page of a list of grants, newest first. NextCursor is "" on
// the last page.
type GrantPage struct {
	Items      []Grant `json:"items"`
	NextCursor string  `json:"next_cursor"`
}

// Truncate keeps the first n items; the next page begins after them.
func (p *GrantPage) Truncate(n int) {
	p.Items, p.NextCursor = firstPage(p.Items, n, p.NextCursor, func(g *Grant) string { return g.ID })
}

// Matches reports whether the filter selects a grant, the tool aside.
func (f *GrantFilter) Matches(g *Grant, now time.Time) bool {
	return (f.Tenant == "" || f.Tenant == g.Principal.Tenant) &&
		f.Tenants.Has(g.Principal.Tenant) &&
		(f.User == "" || f.User == g.Principal.User) &&
		(f.Agent == "" || f.Agent == g.Principal.Agent) &&
		(f.SessionID == "" || f.SessionID == g.SessionID) &&
		(f.Expired || !g.Expired(now)) &&
		(f.Cursor == "" || strings.Compare(g.ID, f.Cursor) < 0)
}

// GrantTemplate is a grant that the configuration defines by name.
type GrantTemplate struct {
	Name     string        `json:"name"`
	Title    string        `json:"title"` // for reviewers
	Effect   GrantEffect   `json:"effect"`
	Patterns []string      `json:"patterns"`
	Scope    GrantScope    `json:"scope"`
	Lasts    time.Duration `json:"-"`       // 0: until it is revoked
	Expires  string        `json:"expires"` // Lasts as the configuration has it: "8h", or ""
}

// GrantPreview lists the recently recorded calls that a grant would have decided.
type GrantPreview struct {
	Grant   Grant       `json:"grant"`   // complete, without an id
	Calls   int         `json:"calls"`   // calls of all principals that were examined
	Covered int         `json:"covered"` // of these
	Since   *time.Time  `json:"since"`   // time of the oldest call that was examined; null: there was none
	Items   []GrantCall `json:"items"`   // covered calls, newest first, at most 100
}

// GrantCall is a recorded call that a grant would have decided.
type GrantCall struct {
	Time      time.Time       `json:"time"`
	Principal Principal       `json:"principal"`
	SessionID string          `json:"session_id"`
	RunID     string          `json:"run_id"`
	RequestID string          `json:"request_id,omitempty"` // if people were asked
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"` // as in [Request]
	Then      string          `json:"then"`      // asked, allowed or denied
}
