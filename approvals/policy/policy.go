package policy

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/resource"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// Call is one tool call as policy sees it.
type Call = resource.Call

// Action is the decision of a policy on a call. The zero value is not an action and must
// never be taken for [Allow].
type Action = resource.Action

// The actions.
const (
	Allow = resource.Allow
	Deny  = resource.Deny
	Ask   = resource.Ask
)

// Escalation is who may decide a question too when nobody has for a while.
type Escalation = rule.Escalation

// Denied is how a call came to be denied.
type Denied = rule.Denied

// DefaultTimeout is how long people have to answer where no rule sets it.
const DefaultTimeout = rule.DefaultTimeout

// Policy judges calls. It is immutable and safe for concurrent use.
type Policy struct {
	rules  *rule.Set
	grants *Grants // that hold beside the rules
}

// Parse reads a policy. Errors have the name as that of the file, and verdicts its last
// element. All mistakes are returned, as [Errors].
func Parse(name string, src []byte) (*Policy, error) {
	rules, err := rule.Parse(name, src)
	if err != nil {
		return nil, err
	}
	return &Policy{rules: rules}, nil
}

// With returns the policy with grants that hold beside its rules, in place of any
// before: one that denies like a deny rule, one that allows like an allow rule.
func (p *Policy) With(g *Grants) *Policy { return &Policy{rules: p.rules, grants: g} }

// Default returns the policy where there is no file: people are asked about
// everything.
func Default() *Policy { return &Policy{rules: rule.EmptySet()} }

// Warnings returns, one sentence each with its place, what of a valid policy may
// not be meant: an allow pattern that is the name alone of a tool whose resource is
// known. It covers calls with any arguments, also what may hold secrets.
func (p *Policy) Warnings() []string { return p.rules.Warnings() }

// Groups returns the groups that rules name, as their reviewers or to escalate to, each
// with one of the rules that do.
func (p *Policy) Groups() map[string]string { return p.rules.Groups() }

// Protect returns the policy with rules for files and folders that calls must not write to:
// a call of a tool for paths or patches that names one, or something in it, is denied
// unless the risk of the tool is low; a shell command that names one is asked about,
// and no grant lifts that. Relative paths of calls count from folder; it and the files
// are absolute. What writes to a file without its name is not found.
func (p *Policy) Protect(folder string, files ...string) *Policy {
	if len(files) == 0 {
		return p
	}
	return &Policy{rules: p.rules.Protect(folder, files...), grants: p.grants}
}

// Judge returns the verdict on a call.
func (p *Policy) Judge(c Call) Verdict {
	q := newQuestion(p.evaluate(c))
	v := q.rewritten(q.judge())
	v.Limits = q.e.limits(&v)
	return v
}

// Load reads a policy file. What is wrong in it is returned as [Errors].
func Load(file string) (*Policy, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	return Parse(file, src)
}

// Error is one mistake in a policy file.
type Error = strictyaml.Error

// Errors are all mistakes in a policy file.
type Errors = strictyaml.Errors

// JudgeHosted reports whether a request may offer the model a tool that the
// provider runs: [Allow], [Deny], or [Ask] where each call of it has to be
// approved, which only hosted MCP tools (mcp:SERVER) can be.
func (p *Policy) JudgeHosted(_ approvals.Principal, name string) Verdict {
	by, listed := p.rules.Hosted.Judge(name)
	return Verdict{Action: by.Action, Rule: by.Rule, Reason: by.Reason, Risk: approvals.RiskMedium, Resource: name, Listed: listed}
}

//go:embed starter.yaml
var starter []byte

// Starter is a commented policy to start from, with safe defaults for coding
// agents.
func Starter() []byte { return bytes.Clone(starter) }

// Shadow is a policy that is tried out: it judges, and lets everything pass as it
// is. The action of the policy is in the verdict's Shadowed.
type Shadow struct{ *Policy }

// Judge allows a call and reports what the policy would have done with it.
func (s Shadow) Judge(c Call) Verdict { return shadowed(s.Policy.Judge(c)) }

// JudgeHosted allows a hosted tool and reports what the policy would have done.
func (s Shadow) JudgeHosted(principal approvals.Principal, name string) Verdict {
	return shadowed(s.Policy.JudgeHosted(principal, name))
}
