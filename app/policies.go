package app

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/proxy"
)

// policies are the policy of all and those that single clients have in its place.
type policies struct {
	main    *policySource
	clients []clientPolicy
	files   []*policySource // all of them, each file once
	shadow  bool
	granted func() *policy.Grants // the grants in force, which hold beside all of them
}

// clientPolicy is a client with a policy of its own.
type clientPolicy struct {
	digest string // of its key
	who    approvals.Principal
	source *policySource
}

// policySource is a policy's file, what was last found in it, and the policy in
// force.
type policySource struct {
	file     string
	optional bool // it need not be there at the start: then everything is asked about
	protect  func(*policy.Policy) *policy.Policy
	src      []byte // as last read, nil if there was no file
	lost     bool   // it could not be read the last time
	refused  string // why what was last read is not in force, "" if it is
	current  atomic.Pointer[policy.Policy]
}

func newPolicies(c Config) *policies {
	protect := func(p *policy.Policy) *policy.Policy { return p.Protect(c.Policy.WorkDir, c.Policy.Protected...) }
	main := &policySource{file: c.Policy.File, optional: !c.Policy.FileNamed, protect: protect}
	p := &policies{main: main, files: []*policySource{main}, shadow: c.Policy.Mode == "shadow"}
	for _, client := range c.Proxy.Clients {
		if client.Policy != "" {
			p.clients = append(p.clients, clientPolicy{client.digest(), client.principal(), p.source(client.Policy)})
		}
	}
	return p
}

// source is the source of a file.
func (p *policies) source(file string) *policySource {
	for _, s := range p.files {
		if s.file == file {
			return s
		}
	}
	s := &policySource{file: file, protect: p.main.protect}
	p.files = append(p.files, s)
	return s
}

// load reads all policies at the start.
func (p *policies) load() error {
	for _, s := range p.files {
		_, err := s.read(true)
		if errors.Is(err, fs.ErrNotExist) && s.optional {
			s.refused, s.lost = "", false
			s.current.Store(s.protect(policy.Default()))
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inForce are the policies that are in force now.
func (p *policies) inForce() []*policy.Policy {
	var all []*policy.Policy
	for _, s := range p.files {
		all = append(all, s.current.Load())
	}
	return all
}

// of is the policy for a client, by the digest of its key, as the proxy asks it.
func (p *policies) of(client string) proxy.Policy {
	rules := p.main.current.Load()
	for _, c := range p.clients {
		if c.digest == client {
			rules = c.source.current.Load()
		}
	}
	rules = rules.With(p.granted())
	if p.shadow {
		return policy.Shadow{Policy: rules}
	}
	return rules
}

// forCallsOf are the policies that may be those of a principal's calls: who asks
// does not know with which key they came. Grants do not hold in them.
func (p *policies) forCallsOf(who approvals.Principal) []*policy.Policy {
	var found []*policy.Policy
	for _, client := range p.clients {
		if client.who == who {
			found = append(found, client.source.current.Load())
		}
	}
	if len(found) == 0 {
		found = append(found, p.main.current.Load())
	}
	return found
}

// forCallsIn are the policies that may be those of the calls that a grant is for.
func (p *policies) forCallsIn(g approvals.Grant) []*policy.Policy {
	g.Narrow()
	found := []*policy.Policy{p.main.current.Load()}
	for _, client := range p.clients {
		if g.CoversPrincipal(client.who, g.SessionID) {
			found = append(found, client.source.current.Load())
		}
	}
	return found
}

// deniesEdit asks the policies that may be those of a call which of them denies it
// with arguments that a reviewer has changed. The proxy asks that of its client once
// more before it lets the call go.
func (p *policies) deniesEdit(c policy.Call) (policy.Verdict, bool) {
	for _, rules := range p.forCallsOf(c.Principal) {
		if v, denied := rules.With(p.granted()).DeniedEdit(c); denied {
			return v, true
		}
	}
	return policy.Verdict{}, false
}

// wantsOfEdit is what the policies that may be those of a call want of reviewers
// before it goes with arguments that one of them has changed. The proxy asks that of
// its client too.
func (p *policies) wantsOfEdit(c policy.Call) (wants []approvals.Demand) {
	for _, rules := range p.forCallsOf(c.Principal) {
		v := rules.With(p.granted()).Judge(c)
		wants = append(wants, v.Wants()...)
	}
	return wants
}

// read reads the file, if it has changed since the last time or all is to be read
// again, and puts its policy in force. What is wrong leaves the one before.
func (s *policySource) read(again bool) (changed bool, err error) {
	src, err := os.ReadFile(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.optional && s.src == nil && s.current.Load() != nil:
		return false, nil
	case err != nil:
		s.lost = true
		return false, s.refuse(fmt.Errorf("read the policy: %w", err))
	case !again && !s.lost && s.src != nil && bytes.Equal(src, s.src):
		return false, nil
	}
	s.src, s.lost = append([]byte{}, src...), false
	rules, err := policy.Parse(s.file, src)
	if err != nil {
		return false, s.refuse(fmt.Errorf("policy: %w", err))
	}
	s.refused = ""
	s.current.Store(s.protect(rules))
	return true, nil
}

func (s *policySource) refuse(err error) error {
	s.refused = err.Error()
	return err
}
