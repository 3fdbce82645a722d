package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
)

// What is judged by: so many rules, beside grants of the very caller.
const (
	judgedRules = 100
	fewGrants   = 1_000
	manyGrants  = 10_000
	judgedCalls = 100 // in one try: few enough for one turn on a busy machine's CPU
	judgedTries = 20  // in one round, of which the fastest counts
)

// judgingResult is how long policy takes for one call of a kind.
type judgingResult struct {
	Call   string  `json:"call"`
	Grants int     `json:"grants"`
	Took   *spread `json:"us"`
}

// judging measures policy by itself, in rounds that go through all sizes.
func (s *suite) judging() error {
	calls := judgedKinds()
	sizes := []int{0, fewGrants, manyGrants}
	var policies []*policy.Policy
	for _, n := range sizes {
		p, err := judgedPolicy(n)
		if err != nil {
			return err
		}
		policies = append(policies, p)
	}
	took := map[judgingResult][]float64{}
	for range s.rounds {
		for i, p := range policies {
			for _, c := range calls {
				key := judgingResult{Call: c.name, Grants: sizes[i]}
				took[key] = append(took[key], judgeRound(p, c.call))
			}
		}
	}
	for _, c := range calls {
		for _, n := range sizes {
			r := judgingResult{Call: c.name, Grants: n}
			r.Took = spreadOf(took[r])
			s.results.Judging = append(s.results.Judging, r)
		}
	}
	return nil
}

// judgeRound judges a call again and again, and returns the microseconds of one.
func judgeRound(p *policy.Policy, c policy.Call) float64 {
	fastest := math.Inf(1)
	for range judgedTries {
		began := time.Now()
		for range judgedCalls {
			p.Judge(c)
		}
		fastest = min(fastest, float64(time.Since(began).Nanoseconds())/1e3/judgedCalls)
	}
	return fastest
}

var judgedPrincipal = approvals.Principal{Tenant: "acme", User: "ann", Agent: "coder"}

// judgedKind is a typical call.
type judgedKind struct {
	name string
	call policy.Call
}

// judgedKinds are calls that a rule allows, that a grant allows, and that nothing
// covers.
func judgedKinds() []judgedKind {
	kinds := []judgedKind{
		{"command, by a rule", policy.Call{Tool: "bash", Arguments: `{"command":"npm run task7:unit","cwd":"x"}`}},
		{"command, by a grant", policy.Call{Tool: "bash", Arguments: `{"command":"npm run target6","cwd":"x"}`}},
		{"command, asked about", policy.Call{Tool: "bash", Arguments: `{"command":"cargo build --release","cwd":"x"}`}},
		{"path, by a grant", policy.Call{Tool: "read_file", Arguments: `{"path":"./granted7/a/b.go","limit":200}`}},
	}
	for i := range kinds {
		kinds[i].call.Principal, kinds[i].call.Session, kinds[i].call.Now = judgedPrincipal, "s", time.Now()
	}
	return kinds
}

// judgedPolicy is a policy with grants.
func judgedPolicy(grants int) (*policy.Policy, error) {
	var src strings.Builder
	src.WriteString("default: ask\ntools:\n  bash: {resource: command, as: shell}\n  read_file: {resource: path, as: path}\nrules:\n")
	for i := range judgedRules / 4 {
		fmt.Fprintf(&src, "  - deny: ['bash(danger%d *)']\n  - deny: ['read_file(./secret%d/**)']\n", i, i)
		fmt.Fprintf(&src, "  - allow: ['bash(npm run task%d:*)']\n  - ask: ['transfer%d']\n", i, i)
	}
	p, err := policy.Parse("policy.yaml", []byte(src.String()))
	if err != nil {
		return nil, fmt.Errorf("the policy to judge by: %w", err)
	}
	scopes := approvals.GrantScopes()
	var compiled []*policy.CompiledGrant
	for i := range grants {
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
		title:  fmt.Sprintf("Judging one call by %d rules and the caller's grants", judgedRules),
		note:   "us a call, median and quartiles over the rounds; of a round the fastest tries",
		header: []string{"call", "no grants", fmt.Sprintf("%d grants", fewGrants), fmt.Sprintf("%d grants", manyGrants)},
	}
	for i := 0; i < len(all); i += 3 { // the sizes of one kind of call stand together
		row := []string{all[i].Call}
		for _, r := range all[i : i+3] {
			row = append(row, ratio(r.Took))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// judgeJudging compares the typical call with its target, and what many grants
// cost with what they may.
func judgeJudging(all []judgingResult) []target {
	var ts []target
	few := map[string]float64{}
	for _, r := range all {
		switch r.Grants {
		case fewGrants:
			few[r.Call] = r.Took.Median
			ts = append(ts, atMost(fmt.Sprintf("judging a %s, %d rules and %d grants", r.Call, judgedRules, fewGrants), r.Took.Median, judgingMicros, "%.1f us"))
		case manyGrants:
			ts = append(ts, atMost(fmt.Sprintf("judging a %s, %d grants against %d", r.Call, manyGrants, fewGrants), r.Took.Median/few[r.Call], judgingGrowth, "%.2f"))
		}
	}
	return ts
}
