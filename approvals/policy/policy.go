package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"cmp"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// Call is one tool call as policy sees it.
type Call struct {
	Tool      string // name as the model wrote it
	Arguments string // exact text the model wrote; blank counts as {}
	FreeText  bool   // the tool's input is free text by contract: the text is the resource
	Fixed     bool   // its arguments cannot be changed

	// Ambiguous holds the reasons, one sentence each, why whoever read the
	// call off the wire does not trust that there is only one reading of it.
	Ambiguous []string

	Principal approvals.Principal
	Session   string
	Run       string
	Turn      string
	Model     string
	Dialect   string
	Now       time.Time // zero: not known, so that conditions that ask for it fail
}

// Key is the same for calls of a tool with equal arguments, however they are
// written. Arguments that are not strict are equal only as texts.
func (c *Call) Key() string {
	if c.FreeText || len(match.CheckArguments(c.Arguments)) > 0 {
		return c.Tool + "\x00text\x00" + c.Arguments
	}
	return c.Tool + "\x00" + match.Canonical(c.Arguments)
}

// Action is what policy says of a call. The zero value is not an action and
// must never be taken for [Allow].
type Action string

// The actions.
const (
	Allow Action = "allow"
	Deny  Action = "deny"
	Ask   Action = "ask"
)

// DefaultTimeout is how long people have to answer where no rule says.
const DefaultTimeout = 300 * time.Second

// Verdict is what policy says of one call. The fields from Suggested to
// AllowRemember are set where Action is [Ask].
type Verdict struct {
	Action   Action
	Rule     string // "policy.yaml:12", "tool bash (policy.yaml:4)", "built-in profile of Read" or "default"
	Reason   string // one sentence
	Risk     approvals.Risk
	Resource string // what patterns were compared with
	Preview  string // the resource on one short line, control characters made visible

	// Arguments are those that the call is to be released with where rewrite
	// rules change them, else "". What is allowed or asked about is then the
	// changed call, and RewrittenBy names the rules.
	Arguments   string
	RewrittenBy string

	// Commands are the commands found in a shell command, at any depth and with
	// those that they run, with … for what only a shell can tell. They are set
	// where Action is [Ask].
	Commands []string

	// Suggested are patterns that would have allowed the call, from exact to a
	// little more general. Of a script of several commands they are one exact
	// pattern for each; of what no pattern can allow there are none.
	Suggested []string

	// Grants are the ids of the grants that allow or deny the call, if grants do.
	Grants []string

	Title  string  // of the question, as a rule has it, on one line; "": none has
	Denial *Denial // what the model is told if the call is denied, as a rule has it; nil: none has

	Timeout           time.Duration // never 0 where people are asked
	OnTimeout         string        // approvals.OnTimeoutDeny or approvals.OnTimeoutApprove
	Reviewers         []string      // groups that may decide; none: any reviewer
	Escalate          Escalation    // who may too, after a while
	RequiredApprovals int           // at least 1 where people are asked
	Demands           []Demand      // what rules that name different groups want, each of its own; nil: the fields above say all
	AllowRemember     bool
	RememberScopes    []approvals.GrantScope // of a grant that remembers; nil: any

	// Limits are those of the rules that let the call pass or ask about it. Whether
	// it is one too many has to be counted: see [Counter.Take].
	Limits []Limit

	// Listed says of a hosted tool that hosted_tools lists it, so that it is what
	// policy takes it for.
	Listed bool

	// Shadowed is what the policy says where it is only tried out ([Shadow]) and
	// would not have let the call pass; else "".
	Shadowed Action

	// Flags warn the reviewer, each in one sentence.
	Flags []string
}

// Policy judges calls. It is immutable and safe for concurrent use.
type Policy struct {
	fallback  Action  // where nothing else says anything
	ambiguous ground  // what is said of calls with more than one reading
	tools     []*tool // by falling specificity
	deny      *index
	ask       *index
	allow     *index
	rewrite   *index
	limited   limited
	hosted    hosted
	programs  *shell.Programs
	profiles  *profiles
	grants    *Grants // that hold beside the rules
}

// With is the policy with grants that hold beside its rules, in place of any
// before: one that denies like a deny rule, one that allows like an allow rule.
func (p *Policy) With(g *Grants) *Policy {
	with := *p
	with.grants = g
	return &with
}

// Default is the policy where there is no file: people are asked about
// everything.
func Default() *Policy {
	all := knownProfiles().without()
	return &Policy{
		fallback: Ask, deny: newIndex(nil), ask: newIndex(nil), allow: newIndex(nil), rewrite: newIndex(nil),
		hosted: hosted{rule: "default"}, programs: shell.KnownPrograms(), profiles: all,
	}
}

// Judge says what is to be done with a call.
func (p *Policy) Judge(c Call) Verdict {
	s := p.newSubject(c)
	v := s.rewritten(s.judge(p))
	v.Limits = s.limits(&v)
	return v
}

// judge says what is to be done with the call as it is.
func (s *subject) judge(p *Policy) Verdict {
	denied := s.findDeny()
	if denied.match == match.Yes {
		return s.deny(denied.pattern)
	}
	if len(s.doubts) > 0 && p.ambiguous.action == Deny {
		return s.verdict(p.ambiguous)
	}
	if asks := s.findAsks(p.ask); len(asks) > 0 {
		if by, lifted := s.lifted(asks, denied); lifted {
			return s.verdict(by)
		}
		return s.askMatching(asks, denied)
	}
	by, byRule := s.findAllow(s.allowing(p.allow)...)
	if !byRule {
		by = p.byDefault(s.call.Tool, s.kind, s.tool)
	}
	if by.action != Allow {
		if by.action == Deny {
			return s.verdict(by)
		}
		by.reason = cmp.Or(s.whyNoRule(), by.reason)
		return s.question(by, denied)
	}
	if why := s.whyNotAllow(by, byRule, denied); why != "" {
		by.reason = why
		return s.question(by, denied)
	}
	return s.verdict(by)
}

// AllowsByName reports whether every call of a tool is allowed, whatever its
// arguments as long as they are strictly valid, and by what. Such a call passes
// while it streams, so numbers that programs read differently do not matter to
// [Policy.Judge] either. It is false where any deny, ask or rewrite rule, a grant
// that denies, or an allow rule with a limit has a pattern for the tool. A default
// or a risk allows no tool by name that runs shell scripts or works on files, as
// these may hold secrets, and none that only its built-in profile lets pass.
func (p *Policy) AllowsByName(principal approvals.Principal, name string) (Verdict, bool) {
	s := p.newSubject(Call{Tool: name, Principal: principal})
	by, ok := s.byName()
	if !ok {
		return Verdict{}, false
	}
	s.text = ""
	return s.verdict(by), true
}

// byName is what allows every call of the tool: see [Policy.AllowsByName].
func (s *subject) byName() (ground, bool) {
	p, name, k := s.policy, s.call.Tool, s.kind
	if nameDoubt(name) != "" || p.deny.anyFor(name, k) || p.ask.anyFor(name, k) || p.rewrite.anyFor(name, k) || p.limited.allow.anyFor(name, k) ||
		p.grants.mayDeny(s.call.Principal, name, k) {
		return ground{}, false
	}
	if by, ok := s.allowedByName([]*index{p.allow}, func(p *pattern) bool { return p.rule.when == nil }); ok {
		return by, true
	}
	by := p.byDefault(name, s.kind, s.tool)
	return by, by.action == Allow && !by.builtin && !s.mindsSecrets() && !(by.rated && s.tool.typed)
}

// passesByName reports whether every call of the tool is allowed.
func (s *subject) passesByName() bool {
	_, ok := s.byName()
	return ok
}

// byDefault is what is said of a tool's calls that no rule covers. The risk of a
// built-in profile decides only of tools that the policy says nothing of, and only
// where the policy has no default. Where there is no policy it counts for nothing.
func (p *Policy) byDefault(name string, k kind, t *tool) ground {
	by := ground{action: p.fallback, rule: "default", reason: defaultReason(p.fallback)}
	switch {
	case t == nil:
	case t.fallback != "":
		by = ground{action: t.fallback, rule: t.where, risk: t.risk, reason: t.reason()}
	case t.risk == "", t.builtin && (!p.profiles.risks || t.own || p.allow.anyFor(name, k)):
		by.risk = t.risk
	default:
		by = ground{action: Ask, rule: t.where, risk: t.risk, reason: t.riskReason(), builtin: t.builtin, rated: true}
		if t.risk == approvals.RiskLow {
			by.action = Allow
		}
	}
	return by
}
