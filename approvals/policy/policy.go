package policy

import (
	"fmt"
	"os"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/policy/shell"
)

// Call is one tool call as policy sees it.
type Call = call.Call

// Action is the decision of a policy. The zero value is invalid and must not be read as [Allow].
type Action = call.Action

// The actions.
const (
	Allow = call.Allow
	Deny  = call.Deny
	Ask   = call.Ask
)

// Denied is how a call came to be denied.
type Denied = rule.Denied

// Policy judges calls and their results. It is immutable and safe for concurrent use.
type Policy struct {
	rules   *rule.Set
	grants  *Grants       // that hold beside the rules
	results *resultMemory // of rules
}

// Parse reads a policy. Errors contain the name as the file, verdicts its last element. It returns
// all mistakes as [strictyaml.Errors].
func Parse(name string, src []byte) (*Policy, error) {
	rules, err := rule.Parse(name, src)
	if err != nil {
		return nil, err
	}
	return &Policy{rules: rules, results: newResultMemory()}, nil
}

// With returns the policy with grants in place of any before. A grant that denies is like a deny
// rule, one that allows like an allow rule.
func (p *Policy) With(g *Grants) *Policy {
	next := *p
	next.grants = g
	return &next
}

// Default returns the policy that asks about every call.
func Default() *Policy { return &Policy{rules: rule.EmptySet(), results: newResultMemory()} }

// Extends returns what the policy extends.
func (p *Policy) Extends() rule.Extension { return p.rules.Extends }

// Warnings returns one sentence for each allow pattern that is only the name of a tool with a known
// resource: it allows any arguments, including secrets. Patterns of secrets are warned of alike. Others are for run.tainted without taint, and
// for patterns of tools whose calls are questions to people: they have no effect.
func (p *Policy) Warnings() []string { return p.rules.Warnings() }

// Widened returns the allow patterns that cover more than in language 1, each with its place and what it covers now. It
// returns none if the policy has the key language.
func (p *Policy) Widened() []string { return p.rules.Widened() }

// Groups returns the groups that rules name as reviewers or for escalation, each with the place of
// one such rule.
func (p *Policy) Groups() map[string]string { return p.rules.Groups() }

// Protect returns the policy with rules for files and folders that calls must not write: a call of
// a tool for paths or patches on them is denied unless the tool's risk is low; a shell command that
// names one is asked about, and no grant overrides that. Relative paths of calls are relative to
// folder; it and the files are absolute. Commands that write a file without its name are not found.
func (p *Policy) Protect(folder string, files ...string) *Policy {
	if len(files) == 0 {
		return p
	}
	next := *p
	next.rules = p.rules.Protect(folder, files...)
	return &next
}

// Judge returns the verdict on a call.
func (p *Policy) Judge(c Call) Verdict {
	folders := p.grants.foldersOf(&c)
	v, e := p.withFolders(folders).judged(c)
	switch {
	case v.Action == Ask:
		v.Folder, v.Files = e.folderThatAllows(), e.files(v.Arguments)
	case v.Action == Allow && len(folders) > 0:
		if without, _ := p.judged(c); without.Action != Allow {
			v.Grants = append(v.Grants, idsOf(folders)...)
		}
	}
	return v
}

// judged returns the verdict on a call, and the evaluation from which it follows.
func (p *Policy) judged(c Call) (Verdict, *evaluation) {
	v, e := p.judgedByName(c)
	return e.underOtherNames(v), e
}

// judgedByName is judged by the name of the tool as it is written. A script of more than a list of commands is not
// allowed by rules that count calls or rewrite them: a loop repeats commands, but the call counts once.
func (p *Policy) judgedByName(c Call) (Verdict, *evaluation) {
	e := p.evaluate(c)
	e.whole = len(c.Secrets) == 0
	v := e.judge()
	if e.whole && v.Action == Allow && (v.Arguments != "" || len(v.Limits) > 0) && e.c.AnyScript(func(s *shell.Script) bool { return !s.IsList() }) {
		e.whole = false
		v = e.judge()
	}
	return v, e
}

// judge returns the verdict on the call with its limits, after rewrite rules.
func (e *evaluation) judge() Verdict {
	q := newQuestion(e)
	v := q.unlessExhausted(q.rewritten(q.askAboutSecrets(q.judge())))
	v.Limits = e.limits(&v)
	v.Unoffered = e.c.Call.Unoffered
	return v
}

// unlessExhausted returns the verdict, or asks in its place if it allows a call that was not compared whole.
func (q *question) unlessExhausted(v Verdict) Verdict {
	if why := q.c.Exhausted(); why != "" && v.Action == Allow {
		return q.ask(rule.Basis{Rule: "default", Reason: why})
	}
	return v
}

// Load reads a policy file. It returns all mistakes as [strictyaml.Errors].
func Load(file string) (*Policy, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	return Parse(file, src)
}

// JudgeHosted returns whether a request may offer a tool that the provider runs: [Allow], [Deny],
// or [Ask] if each call needs approval, which only hosted MCP tools (mcp:SERVER) support.
func (p *Policy) JudgeHosted(_ approvals.Principal, name string) Verdict {
	by, listed := p.rules.Hosted.Judge(name)
	return Verdict{Action: by.Action, Rule: by.Rule, Reason: by.Reason, Risk: approvals.RiskMedium, Resource: name, Listed: listed}
}

// Shadow is a policy on trial: it allows every call unchanged and reports its action in the
// verdict's Shadowed.
type Shadow struct{ Policy *Policy }

// Judge allows a call and reports the action of the policy.
func (s Shadow) Judge(c Call) Verdict { return shadowed(s.Policy.Judge(c)) }

// Questions returns nothing: a policy on trial holds no call.
func (Shadow) Questions() (offer []string, always bool) { return nil, false }

// AsksPeople returns false.
func (Shadow) AsksPeople(string) bool { return false }

// QuestionTimeout is [Policy.QuestionTimeout].
func (s Shadow) QuestionTimeout(parks bool) time.Duration { return s.Policy.QuestionTimeout(parks) }

// DeniesUnseen returns false: a policy that only reports denies nothing.
func (s Shadow) DeniesUnseen() bool { return false }

// JudgesResults is [Policy.JudgesResults].
func (s Shadow) JudgesResults() bool { return s.Policy.JudgesResults() }

// PermitsSecret is [Policy.PermitsSecret].
func (s Shadow) PermitsSecret(c Call, name string) bool { return s.Policy.PermitsSecret(c, name) }

// InsertSecrets is [Policy.InsertSecrets].
func (s Shadow) InsertSecrets(c Call, values map[string]string) (string, error) {
	return s.Policy.InsertSecrets(c, values)
}

// JudgeHosted allows a hosted tool and reports the action of the policy.
func (s Shadow) JudgeHosted(principal approvals.Principal, name string) Verdict {
	return shadowed(s.Policy.JudgeHosted(principal, name))
}
