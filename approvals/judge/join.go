package judge

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Agent is an agent that joins while others are served, with a policy of its own.
type Agent struct {
	ID        string // for [Judge.For]; no other agent has it, and it is no client's key
	Principal approvals.Principal
	File      string // of the policy
	Optional  bool   // File may be missing: then people are asked about every call
	Folder    string
	Protected []string // beside those of all agents
}

// Join adds an agent until leave is called. It fails if the policy cannot be read. Agents with the same
// policy, folder and protected files share a [Source]. The source of agents that have left stays: it judges edits of
// their requests.
func (j *Judge) Join(a Agent) (leave func(), err error) {
	j.joining.Lock()
	defer j.joining.Unlock()
	next, name := j.roster.Load().without(a.ID), wholeName(a.File, a.Folder)
	source := j.inUse(next, name)
	if source == nil {
		o := *j.main.options
		o.Agent = workspace.Agent{Folder: a.Folder, Seen: o.Agent.Seen}
		o.Protected = append(slices.Clip(o.Protected), a.Protected...)
		source = &Source{file: a.File, name: name, optional: a.Optional, options: &o}
		if err := source.load(); err != nil {
			return nil, err
		}
		next.sources = append(slices.DeleteFunc(next.sources, func(s *Source) bool { return s.name == name }), source)
	} else if slices.ContainsFunc(a.Protected, func(file string) bool { return !slices.Contains(source.options.Protected, file) }) {
		return nil, fmt.Errorf("another agent uses %s, which protects other files there", name)
	}
	next.clients = append(next.clients, ClientPolicy{KeySHA256: a.ID, Principal: a.Principal, source: source})
	j.roster.Store(next)
	return func() {
		j.joining.Lock()
		defer j.joining.Unlock()
		j.roster.Store(j.roster.Load().without(a.ID))
	}, nil
}

// inUse returns the policy with a name that judges agents or clients now, nil if there is none.
func (j *Judge) inUse(r *roster, name string) *Source {
	for _, s := range r.sources {
		if s.name == name && (s == j.main || slices.ContainsFunc(r.clients, func(c ClientPolicy) bool { return c.source == s })) {
			return s
		}
	}
	return nil
}
