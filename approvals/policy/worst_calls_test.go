package policy

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var worst = flag.Int("worst", 0, "print so many of the calls that take longest to judge")

func starterPolicy(tb testing.TB) *Policy {
	tb.Helper()
	text, err := os.ReadFile("testdata/starter.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	return mustParse(tb, string(text))
}

// costlyParts are parts of scripts and paths of which there is much to compare.
var costlyParts = []string{
	"a%d;", "cat a%d && ", "a%d|", "rm -rf a%d;", "frob /w/app/a%d -b ", "*%d*[a-e]?x* ", "{a,b}{c,d}{e,f}{g,h}*%d ", "-x%d ", "a:b:", "=", "/a", "../", "*/", "**/", "$a%d ",
	"'a%d' ", "ls >a%d;", "cd a%d;", "git -C a%d diff;", "ls|xargs rm a%d;", "A%d=1 b;", "cat <<'E'\nrm -rf %d\nE\n", "bash <<E\nrm -rf %d\nE\n", "python3 -c 'os.system(\"rm -rf a%d\")';",
	"psql -c 'drop table a%d; select (1)';", "curl -X POST https://a.example/%d -d @a%d;", "$(a%d) ", "`a%d` ", "<(a%d) ", "if a%d; then b; fi;", "for x in a b c; do cat $x%d; done;", "f%d() { rm; };",
	"bash -c \"rm -rf a%d; x='b'\";", "eval 'rm a%d; b';", "$'a\\x41%d' ", "abcdefgh", "{\"a\": [%d]},", "([{}])", "$", "-a.", "ae", "ssh h%d 'rm -rf a';", "docker exec a%d sh -c 'rm -rf b';",
	"RM -RF A%d;", "sed -i 's/a/b/' a%d;", "a%d\n", "--opt%d=/a/b ", "https://a.example/%d ", "a/.env%d ", "ä%d ",
}

// costlyCalls are calls that consist of such parts, alone and within other commands. Not all: each part is in one.
func costlyCalls(all bool) map[string]Call {
	const size = 7900
	calls := map[string]Call{}
	for name, script := range hostileScripts() {
		calls[name] = scriptCall(script)
	}
	for i, part := range costlyParts {
		isTurn := func() bool { i++; return all || i%11 == 0 }
		text := numbered(part, size)
		unquoted := strings.ReplaceAll(text, "'", "\"")
		for _, script := range []string{
			text,
			"frob " + text,
			"python3 -c '" + unquoted + "'",
			"bash -c '" + unquoted + "'",
			strings.Repeat("eval ", 8) + "'" + unquoted[:len(unquoted)/9] + "'",
			"for x in " + strings.Repeat("a ", 64) + "; do cat $x; " + text + "\ndone",
			numbered(part, 60_000),
		} {
			if isTurn() {
				calls[fmt.Sprintf("%d bytes: %.16s %s", len(script), script, part)] = scriptCall(script)
			}
		}
		for _, tool := range []string{"Edit", "Grep", "WebFetch", "mcp__a__b"} {
			if !isTurn() {
				continue
			}
			args, _ := json.Marshal(map[string]string{"file_path": text, "path": text, "url": "https://a.example/" + text, "pattern": text, "glob": text})
			calls[tool+" "+part] = Call{Tool: tool, Arguments: string(args)}
		}
	}
	return calls
}

// TestWorstCalls: no call takes more steps than the bound, but for those of the last comparison, and none beyond it is
// allowed. With -v -args -worst 20 it prints what takes longest, for people: where steps take long, they are too few.
func TestWorstCalls(t *testing.T) {
	const lastSteps = 8 << 10
	type cost struct {
		name string
		took time.Duration
	}
	for name, p := range map[string]*Policy{"starter": starterPolicy(t), "1000 rules": mustParse(t, manyRules(1_000))} {
		var costs []cost
		for call, c := range costlyCalls(*worst > 0) {
			v, e := p.judged(c)
			least := time.Hour
			for range min(*worst, 3) {
				start := time.Now()
				p.Judge(c)
				least = min(least, time.Since(start))
			}
			costs = append(costs, cost{call, least})
			switch steps := e.c.Steps(); {
			case steps < -lastSteps:
				t.Errorf("%s, %.60q: takes %d steps more than the bound", name, call, -steps)
			case steps < 0 && v.Action == Allow:
				t.Errorf("%s, %.60q: allowed, but it is not compared whole", name, call)
			}
		}
		slices.SortFunc(costs, func(a, b cost) int { return cmp.Compare(b.took, a.took) })
		for _, one := range costs[:min(*worst, len(costs))] {
			fmt.Printf("%-12s %10v  %.60q\n", name, one.took, one.name)
		}
	}
}
