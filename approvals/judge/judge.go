// Package judge returns the verdicts on tool calls: calls that a model makes, arguments
// that reviewers edit, and calls that a grant would decide. It is the only place that
// builds a [policy.Call].
//
// Read judge.go (which policy judges a call), rules.go (the verdict on one call), call.go
// (the input of policy), edit.go (edits of reviewers) and check.go (grants), then source.go
// (policy files) and grants.go (grants in force).
package judge

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/approvals/secrets"
)

// maxCounts is the number of turns, runs and principals whose calls are counted for rules
// with a limit. Each takes about 200 bytes.
const maxCounts = 50_000

// Options configures a [Judge].
type Options struct {
	// File is the policy of all clients without their own. If Optional is set, the file
	// may be missing at the start: then people are asked about every call.
	File     string
	Optional bool
	Clients  []ClientPolicy
	// Agent is for all clients; a [ClientPolicy] can name another folder. Its folder and Protected
	// are the arguments of [policy.Policy.Protect].
	Agent     workspace.Agent
	Protected []string
	Own       []string // heldcall's files beside policies: a workspace that holds one is refused
	Shadow    bool     // every call is released; verdicts are only reported
	// Principals are those of the agents whose policy is File, if other agents can join: see
	// [Judge.Join]. The names of policies are then their whole path and the folder of the agent, which
	// do not depend on who joins. Nil: no agent joins.
	Principals []approvals.Principal

	Templates []approvals.GrantTemplate
	Now       func() time.Time // nil: time.Now
	Log       *slog.Logger     // nil: discards
}

// ClientPolicy is a client with a policy, a workspace or a folder of its own.
type ClientPolicy struct {
	KeySHA256 string // of its API key, in hex
	Principal approvals.Principal
	File      string               // "": the policy of all
	Workspace *workspace.Workspace // nil: that of the policy
	Folder    string               // of the agent; "": that of all

	source *Source // of File
}

// Judge holds the policies and grants in force and judges calls by them. It is safe for
// concurrent use.
type Judge struct {
	main      *Source
	folder    string     // of the agents that name none
	joining   sync.Mutex // held while the roster is replaced
	roster    atomic.Pointer[roster]
	shadow    bool
	templates []approvals.GrantTemplate
	counter   *policy.Counter
	grants    grantSet
	secrets   *secrets.Secrets // nil: there are none
	now       func() time.Time
	log       *slog.Logger
}

// New returns a judge that has not read any policy yet: see [Judge.Load].
func New(o Options) *Judge {
	main := &Source{file: o.File, optional: o.Optional, options: &o}
	all := &roster{sources: []*Source{main}}
	j := &Judge{
		main: main, folder: o.Agent.Folder, shadow: o.Shadow, templates: o.Templates,
		counter: policy.NewCounter(maxCounts), now: o.Now, log: o.Log,
	}
	for _, c := range o.Clients {
		c.source = all.source(cmp.Or(c.File, o.File), &o)
		all.clients = append(all.clients, c)
	}
	for _, s := range all.sources {
		s.name = uniqueName(s.file, all.sources)
		if o.Principals != nil {
			s.name = wholeName(s.file, o.Agent.Folder)
		}
	}
	j.roster.Store(all)
	if j.now == nil {
		j.now = time.Now
	}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	return j
}

// roster has the policies, and the clients and joined agents that have a policy of their own. It does not
// change: another one replaces it.
type roster struct {
	sources []*Source // of all policies, each once; the first is that of clients without one of their own
	clients []ClientPolicy
}

// source returns the source of a file, which it adds if it is new.
func (r *roster) source(file string, o *Options) *Source {
	for _, s := range r.sources {
		if s.file == file {
			return s
		}
	}
	s := &Source{file: file, options: o}
	r.sources = append(r.sources, s)
	return s
}

// client returns the last client with a key, or the agent with an id; nil if there is none.
func (r *roster) client(key string) *ClientPolicy {
	for i, c := range slices.Backward(r.clients) {
		if c.KeySHA256 == key {
			return &r.clients[i]
		}
	}
	return nil
}

// without returns a copy of the roster without one client or agent.
func (r *roster) without(key string) *roster {
	next := &roster{sources: slices.Clone(r.sources), clients: slices.Clone(r.clients)}
	next.clients = slices.DeleteFunc(next.clients, func(c ClientPolicy) bool { return c.KeySHA256 == key })
	return next
}

// Load reads all policies. It fails with the first that cannot be read.
func (j *Judge) Load() error {
	for _, s := range j.Sources() {
		if err := s.load(); err != nil {
			return err
		}
	}
	return nil
}

// Sources returns the policy files, each once.
func (j *Judge) Sources() []*Source { return j.roster.Load().sources }

// Shadow reports whether every call is released and verdicts are only reported.
func (j *Judge) Shadow() bool { return j.shadow }

// ShareCounts keeps the counts of limits where other replicas see them. It must be called before the
// first call is judged.
func (j *Judge) ShareCounts(counts policy.SharedCounts) { j.counter.Share(counts) }

// For returns the rules for the calls of a client, by the SHA-256 of its key in hex; "" is
// a client that the configuration does not name. They are the policy and the grants in
// force now. If the client has no policy of its own, agent is the id of a joined agent, whose policy is
// taken; "" is none.
func (j *Judge) For(keySHA256, agent string) *Rules {
	source, p := j.main, j.main.Policy()
	all := j.roster.Load()
	c := all.client(keySHA256)
	if c == nil && agent != "" {
		c = all.client(agent)
	}
	folder := j.folder
	if c != nil {
		source, p = c.source, c.policy()
		folder = cmp.Or(c.Folder, folder)
	}
	p = p.With(j.grants.current())
	r := &Rules{policy: p, name: source.name, folder: folder, counter: j.counter, secrets: j.secrets}
	if j.shadow {
		r.policy = policy.Shadow{Policy: p}
	}
	return r
}

// ofRequest returns the policies that judge the call of a request. There is one, or several
// if an old version did not record the policy. There is none if the request names a policy
// that is not configured here.
func (j *Judge) ofRequest(r *approvals.Request) []*policy.Policy {
	if r.Details.Policy == "" {
		return j.ofPrincipal(r.Principal)
	}
	for _, s := range j.Sources() {
		if s.name == r.Details.Policy {
			return j.ofSource(s, r.Principal)
		}
	}
	return nil
}

// ofPrincipal returns the policies that may judge the calls of a principal if the key of
// the client is unknown.
func (j *Judge) ofPrincipal(who approvals.Principal) []*policy.Policy {
	var found []*policy.Policy
	for _, c := range j.roster.Load().clients {
		if c.Principal == who {
			found = append(found, c.policy())
		}
	}
	if len(found) == 0 {
		found = append(found, j.main.Policy())
	}
	return found
}

// ofGrant returns the policies that may judge the calls that a grant is for.
func (j *Judge) ofGrant(g approvals.Grant) []*policy.Policy {
	g.Narrow()
	found := []*policy.Policy{j.main.Policy()}
	for _, c := range j.roster.Load().clients {
		if g.CoversPrincipal(c.Principal, g.SessionID) {
			found = append(found, c.policy())
		}
	}
	return found
}
