package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
)

// judgedSize is the size of a policy: the number of rules, and of grants of the caller.
type judgedSize struct {
	Rules  int
	Grants int
}

// The sizes: the typical one, without grants, and both with ten times as much twice.
var (
	typical     = judgedSize{100, 1_000}
	noGrants    = judgedSize{100, 0}
	manyGrants  = judgedSize{100, 10_000}
	moreRules   = judgedSize{1_000, 1_000}
	manyRules   = judgedSize{10_000, 1_000}
	judgedSizes = []judgedSize{noGrants, typical, manyGrants, moreRules, manyRules}
)

func (s judgedSize) String() string { return fmt.Sprintf("%d rules, %d grants", s.Rules, s.Grants) }

const (
	judgedCalls = 100 // in one try: few enough for one turn on a busy machine's CPU
	judgedTries = 20  // in one round, of which the median counts
)

// judgingResult is how long policy takes for one call of a kind.
type judgingResult struct {
	Call string
	judgedSize
	Took *spread
}

// judging measures policy by itself, in rounds that go through all sizes.
func (s *suite) judging() error {
	calls := judgedKinds()
	var policies []*policy.Policy
	for _, size := range judgedSizes {
		p, err := size.policy()
		if err != nil {
			return err
		}
		for _, c := range calls {
			if v := p.Judge(c.call); v.Action != c.action && (size.Grants > 0 || !c.granted) {
				return fmt.Errorf("a %s, %s: the verdict is %s (%s), not %s", c.name, size, v.Action, v.Reason, c.action)
			}
		}
		policies = append(policies, p)
	}
	took := map[judgingResult][]float64{}
	for range s.rounds {
		for i, p := range policies {
			for _, c := range calls {
				key := judgingResult{Call: c.name, judgedSize: judgedSizes[i]}
				took[key] = append(took[key], judgeRound(p, c.call))
			}
		}
	}
	for _, c := range calls {
		for _, size := range judgedSizes {
			r := judgingResult{Call: c.name, judgedSize: size}
			r.Took = spreadOf(took[r])
			s.results.Judging = append(s.results.Judging, r)
		}
	}
	return nil
}

// judgeRound judges a call again and again, and returns the microseconds of one.
func judgeRound(p *policy.Policy, c policy.Call) float64 {
	tries := make([]float64, judgedTries)
	for i := range tries {
		began := time.Now()
		for range judgedCalls {
			p.Judge(c)
		}
		tries[i] = float64(time.Since(began).Nanoseconds()) / 1e3 / judgedCalls
	}
	return spreadOf(tries).Median
}

var judgedPrincipal = approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"}

// judgedKind is a typical call.
type judgedKind struct {
	name    string
	call    policy.Call
	action  policy.Action
	granted bool // the action needs the grants
	limit   float64
}

// The limits by kind, in microseconds a call by the typical policy.
const (
	plainMicros = 5.0
	listMicros  = 10.0 // lists of commands, and lists of grants
	askedMicros = 12.0
)

// judgedKinds are calls that a rule allows, that a grant allows, and that nothing
// covers.
func judgedKinds() []judgedKind {
	kinds := []judgedKind{
		{name: "command, by a rule", call: shell("npm run task7:unit"), action: policy.Allow, limit: plainMicros},
		{name: "list of commands, by rules", call: shell("npm run task7:unit && npm run task3"), action: policy.Allow, limit: listMicros},
		{name: "command, by a grant", call: shell("npm run target6"), action: policy.Allow, granted: true, limit: listMicros},
		{name: "list of commands, asked about", call: shell("npm run task7 && cargo build"), action: policy.Ask, limit: askedMicros},
		{name: "command, asked about", call: shell("cargo build --release"), action: policy.Ask, limit: askedMicros},
		{name: "path, by a rule", call: policy.Call{Tool: "read_file", Arguments: `{"path":"./src7/a/b.go","limit":200}`}, action: policy.Allow, limit: plainMicros},
		{name: "path, by a grant", call: policy.Call{Tool: "read_file", Arguments: `{"path":"./granted7/a/b.go","limit":200}`}, action: policy.Allow, granted: true, limit: listMicros},
	}
	for i := range kinds {
		kinds[i].call.Principal, kinds[i].call.Session, kinds[i].call.Now = judgedPrincipal, "s", time.Now()
	}
	return kinds
}

func shell(command string) policy.Call {
	return policy.Call{Tool: "bash", Arguments: fmt.Sprintf(`{"command":%q,"timeout":60000}`, command)}
}

// policy is a policy of the size, with grants.
func (s judgedSize) policy() (*policy.Policy, error) {
	var src strings.Builder
	src.WriteString("default: ask\ntools:\n  bash: {resource: command, as: shell}\n  read_file: {resource: path, as: path}\nrules:\n")
	for i := range s.Rules / 4 {
		fmt.Fprintf(&src, "  - deny: ['bash(danger%d *)']\n  - deny: ['read_file(./secret%d/**)']\n", i, i)
		fmt.Fprintf(&src, "  - allow: ['bash(npm run task%d:*)']\n  - allow: ['read_file(./src%d/**)']\n", i, i)
	}
	p, err := policy.Parse("policy.yaml", []byte(src.String()))
	if err != nil {
		return nil, fmt.Errorf("the policy to judge by: %w", err)
	}
	scopes := approvals.GrantScopes()
	var compiled []*policy.CompiledGrant
	for i := range s.Grants {
		g := approvals.Grant{
			ID: fmt.Sprintf("G%05d", i), Effect: approvals.GrantAllow, Scope: scopes[i%len(scopes)], Principal: judgedPrincipal, SessionID: "s",
			Patterns: []string{fmt.Sprintf("bash(npm run target%d)", i)},
		}
		switch {
		case i%4 == 3:
			g.Patterns = []string{fmt.Sprintf("read_file(./granted%d/**)", i)}
		case i%10 == 8:
			g.Effect, g.Patterns = approvals.GrantDeny, []string{fmt.Sprintf("bash(forbidden%d:*)", i)}
		}
		one, err := policy.CompileGrant(g)
		if err != nil {
			return nil, fmt.Errorf("a grant to judge by: %w", err)
		}
		compiled = append(compiled, one)
	}
	return p.With(policy.NewGrants(compiled...)), nil
}

func judgingTable(all []judgingResult) table {
	t := table{
		title:  "Judging one call by rules and the caller's grants",
		note:   "us a call, median and quartiles over the rounds; of a round the median of its tries",
		header: []string{"call"},
	}
	for _, size := range judgedSizes {
		t.header = append(t.header, size.String())
	}
	for call := range slices.Chunk(all, len(judgedSizes)) {
		row := []string{call[0].Call}
		for _, r := range call {
			row = append(row, ratio(r.Took))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// judgeJudging compares the typical size with its target, and what ten times the
// grants or the rules cost with what they may.
func judgeJudging(all []judgingResult) []target {
	took, limits := map[judgingResult]float64{}, map[string]float64{}
	for _, kind := range judgedKinds() {
		limits[kind.name] = kind.limit
	}
	for _, r := range all {
		took[judgingResult{Call: r.Call, judgedSize: r.judgedSize}] = r.Took.Median
	}
	var ts []target
	for _, r := range all {
		of := func(size judgedSize) float64 { return took[judgingResult{Call: r.Call, judgedSize: size}] }
		grows := func(from judgedSize) target {
			return atMost(fmt.Sprintf("judging a %s, %s against %s", r.Call, r.judgedSize, from), of(r.judgedSize)/of(from), judgingGrowth, "%.2f")
		}
		switch r.judgedSize {
		case typical:
			ts = append(ts, atMost(fmt.Sprintf("judging a %s, %s", r.Call, typical), of(typical), limits[r.Call], "%.1f us"))
		case manyGrants:
			ts = append(ts, grows(typical))
		case manyRules:
			ts = append(ts, grows(moreRules))
		}
	}
	return ts
}
