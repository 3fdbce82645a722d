package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// BenchmarkJudge judges typical calls by policies of some sizes: what it costs must
// grow no worse than their number.
func BenchmarkJudge(b *testing.B) {
	for _, rules := range []int{100, 1_000, 10_000} {
		p := mustParse(b, manyRules(rules))
		for name, c := range map[string]Call{
			"shell":   {Tool: "bash", Arguments: `{"command":"npm run task24:unit && npm run task3","timeout":60000}`},
			"unknown": {Tool: "bash", Arguments: `{"command":"frob build --target web src/main.c -O2","timeout":60000}`},
			"path":    {Tool: "read_file", Arguments: `{"path":"./src24/a/b/c.go","limit":200}`},
			"other":   {Tool: "search", Arguments: `{"query":"how are tool calls held","limit":20,"deep":{"a":[1,2,3]}}`},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, rules), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.Judge(c)
				}
			})
		}
	}
}

// manyRules is a policy of so many rules, of each kind alike.
func manyRules(n int) string {
	var src strings.Builder
	src.WriteString("tools:\n  bash: {resource: command, as: shell}\n  read_file: {resource: path, as: path}\nrules:\n")
	for i := range n / 4 {
		fmt.Fprintf(&src, "  - deny: ['bash(danger%d *)']\n  - deny: ['read_file(./secret%d/**)']\n", i, i)
		fmt.Fprintf(&src, "  - allow: ['bash(npm run task%d:*)']\n  - allow: ['read_file(./src%d/**)']\n", i, i)
	}
	return src.String()
}

// BenchmarkJudgeWithGrants judges typical calls by 100 rules and so many grants
// of the very caller: the worst case, as those of others are not looked at.
func BenchmarkJudgeWithGrants(b *testing.B) {
	for _, n := range []int{0, 1_000, 10_000} {
		p := mustParse(b, manyRules(100)).With(NewGrants(manyGrants(b, n)...))
		for name, c := range map[string]Call{
			"granted": {Tool: "bash", Arguments: `{"command":"npm run target8","timeout":60000}`},
			"hidden":  {Tool: "bash", Arguments: `{"command":"make target8","timeout":60000}`}, // may run anything: every deny pattern counts
			"ruled":   {Tool: "bash", Arguments: `{"command":"npm run task24:unit","timeout":60000}`},
			"list":    {Tool: "bash", Arguments: `{"command":"npm run task24:unit && npm run task3","timeout":60000}`},
			"asked":   {Tool: "bash", Arguments: `{"command":"cargo build --release","timeout":60000}`},
			"unruled": {Tool: "bash", Arguments: `{"command":"npm run task7 && cargo build","timeout":60000}`}, // a list that is asked about
			"path":    {Tool: "read_file", Arguments: `{"path":"./granted7/a/b/c.go","limit":200}`},
		} {
			c.Principal, c.Session, c.Now = ann, "s", noon
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.Judge(c)
				}
			})
		}
	}
}

// manyGrants are so many grants of ann's, one in four of them for a tool of paths,
// one in ten denying.
func manyGrants(b *testing.B, n int) []*CompiledGrant {
	var all []*CompiledGrant
	scopes := approvals.GrantScopes()
	for i := range n {
		effect, pattern := approvals.GrantAllow, fmt.Sprintf("bash(npm run target%d)", i)
		if i%4 == 3 {
			pattern = fmt.Sprintf("read_file(./granted%d/**)", i)
		}
		if i%10 == 9 {
			effect, pattern = approvals.GrantDeny, fmt.Sprintf("bash(danger%d:*)", i)
		}
		all = append(all, grant(b, fmt.Sprintf("G%05d", i), effect, scopes[i%len(scopes)], pattern))
	}
	return all
}
