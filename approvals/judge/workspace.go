package judge

import (
	"cmp"
	"errors"
	"path/filepath"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// errInWorkspace is why a changed policy is not taken while agents run.
var errInWorkspace = errors.New("policy: the file is in the workspace that it names, where an agent may have changed it: look at the change, then restart heldcall or send it SIGHUP; or move the file (docs/hardening.md)")

// parse reads a policy for all agents.
func (s *Source) parse(src []byte) (*policy.Policy, error) {
	p, err := policy.Parse(s.file, src)
	if err != nil {
		return nil, err
	}
	if err := p.CheckOwn(s.options.Own...); err != nil {
		return nil, err
	}
	p = p.In(p.Workspace().Of(s.options.Agent))
	return p.Protect(s.options.Agent.Folder, s.options.Protected...), nil
}

// inOwnWorkspace reports whether the file is in the workspace of its policy in force.
func (s *Source) inOwnWorkspace() bool {
	p := s.Policy()
	if p == nil {
		return false
	}
	file, err := filepath.Abs(s.file)
	return err != nil || p.Workspace().Holds(file) != ""
}

// policy returns the policy in force for the client.
func (c *ClientPolicy) policy() *policy.Policy {
	p := c.source.Policy()
	if c.Workspace == nil && c.Folder == "" {
		return p
	}
	w := p.Workspace()
	if c.Workspace != nil {
		w = c.Workspace
	}
	agent := c.source.options.Agent
	return p.In(w.Of(workspace.Agent{Folder: cmp.Or(c.Folder, agent.Folder), Seen: agent.Seen}))
}

// ofSource returns the policies by which a source may judge the calls of a principal: that of all, or
// those of its clients with a workspace or folder of their own.
func (j *Judge) ofSource(s *Source, who approvals.Principal) []*policy.Policy {
	var found []*policy.Policy
	for _, c := range j.roster.Load().clients {
		if c.source == s && c.Principal == who {
			found = append(found, c.policy())
		}
	}
	if len(found) == 0 {
		found = append(found, s.Policy())
	}
	return found
}
