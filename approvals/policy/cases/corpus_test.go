package cases

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/internal/testing/golden"
)

var update = flag.Bool("update", false, "write the verdicts of the corpus")

// TestCorpus holds the verdicts of the starter on the public corpus of commands, and that neither
// the starter nor a policy which allows far more lets a risky one pass.
func TestCorpus(t *testing.T) {
	const file = "../testdata/corpus.yaml"
	all, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	starter, err := policy.Load(all.Policy)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := policy.Load("../testdata/corpus.policy")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(src), "\n")
	allowed, labels := map[string]int{}, map[string]int{}
	for _, c := range all.Cases {
		label, _, _ := strings.Cut(c.Why, ":")
		verdict, wider := starter.In(starter.Workspace().Of(workspace.Agent{Folder: c.Folder})).Judge(c.Call).Action, wide.Judge(c.Call).Action
		if label == "risky" && (verdict == policy.Allow || wider == policy.Allow) {
			t.Errorf("%s: %s is allowed: %s by the starter, %s by corpus.policy", c.Where, c.Call.Arguments, verdict, wider)
		}
		labels[label]++
		if wider == policy.Allow {
			allowed[label]++
		}
		var line int
		if _, err := fmt.Sscanf(c.Where[strings.LastIndexByte(c.Where, ':')+1:], "%d", &line); err != nil {
			t.Fatal(err)
		}
		before, after, _ := strings.Cut(lines[line-1], ", expect: ")
		_, why, _ := strings.Cut(after, ", why: ")
		lines[line-1] = before + ", expect: " + string(verdict) + ", why: " + why
	}
	var want bytes.Buffer
	for _, line := range lines {
		want.WriteString(line)
	}
	golden.Check(t, file, want.Bytes(), *update, "go test ./approvals/policy/cases -run Corpus -update")
	if labels["harmless"] < 100 || labels["risky"] < 100 || allowed["harmless"]*10 < labels["harmless"]*7 {
		t.Errorf("%v commands; corpus.policy allows %v", labels, allowed)
	}
	t.Logf("%v commands; corpus.policy allows %v", labels, allowed)
}
