package policy

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkJudge judges typical calls by policies of some sizes: what it costs must
// grow no worse than their number.
func BenchmarkJudge(b *testing.B) {
	for _, rules := range []int{100, 1_000, 10_000} {
		p := mustParse(b, manyRules(rules))
		for name, c := range map[string]Call{
			"shell": {Tool: "bash", Arguments: `{"command":"npm run task24:unit && npm run task3","cwd":"x"}`},
			"path":  {Tool: "read_file", Arguments: `{"path":"./src24/a/b/c.go","limit":200}`},
			"other": {Tool: "search", Arguments: `{"query":"how are tool calls held","limit":20,"deep":{"a":[1,2,3]}}`},
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
