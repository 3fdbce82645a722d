package judge

import (
	"fmt"
	"slices"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Agent is an agent that joins while others are served, with a policy of its own.
type Agent struct {
	ID        string // for [Judge.For]; no client's key
	Principal approvals.Principal
	File      string
	Optional  bool // the file may be missing: then people are asked about every call
	Folder    string
	Protected []string // beside those of all agents
}

// Join adds an agent until leave is called. It fails if the policy cannot be read. A policy
// that another agent uses already is shared, if it protects the same files. One without agents stays, for the requests that it
// has asked.
func (j *Judge) Join(a Agent) (leave func(), err error) {
	j.joining.Lock()
	defer j.joining.Unlock()
	name := wholeName(a.File, a.Folder)
	now := j.roster.Load()
	var source *Source
	for _, s := range now.sources {
		used := s == j.main || slices.ContainsFunc(now.clients, func(c ClientPolicy) bool { return c.source == s })
		if s.name == name && used {
			source = s
		}
	}
	if source == nil {
		o := *j.main.options
		o.Agent = workspace.Agent{Folder: a.Folder, Seen: o.Agent.Seen}
		o.Protected = append(slices.Clip(o.Protected), a.Protected...)
		source = &Source{file: a.File, name: name, optional: a.Optional, options: &o}
		if err := source.load(); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(a.Protected, func(file string) bool { return !slices.Contains(source.options.Protected, file) }) {
		return nil, fmt.Errorf("another agent uses %s, which protects other files there", name)
	}
	next := now.without(a.ID)
	next.sources = slices.DeleteFunc(next.sources, func(s *Source) bool { return s.name == name })
	if source == j.main {
		next.sources = append([]*Source{source}, next.sources...)
	} else {
		next.sources = append(next.sources, source)
	}
	next.clients = append(next.clients, ClientPolicy{KeySHA256: a.ID, Principal: a.Principal, source: source})
	j.roster.Store(next)
	return func() {
		j.joining.Lock()
		defer j.joining.Unlock()
		j.roster.Store(j.roster.Load().without(a.ID))
	}, nil
}
