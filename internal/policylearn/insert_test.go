package policylearn_test

import (
	"testing"

	"github.com/heldcall/heldcall/internal/policylearn"
)

func TestInsert(t *testing.T) {
	const line, second = "- allow: [make]", "- allow: [ls]"
	for name, tt := range map[string]struct{ before, after string }{ // after "": by hand
		"rules at the end":         {"default: ask\nrules:\n  - deny: [rm]\n", "default: ask\nrules:\n  - deny: [rm]\n  - allow: [make]\n  - allow: [ls]\n"},
		"as far in as the others":  {"rules:\n- deny: [rm] # why\n\n# results\nresults: []\n", "rules:\n- deny: [rm] # why\n- allow: [make]\n- allow: [ls]\n\n# results\nresults: []\n"},
		"after a rule of lines":    {"rules:\n    - ask: [pay]\n      when: |\n        args.x > 1\n        # y\n\ntaint: []\n", "rules:\n    - ask: [pay]\n      when: |\n        args.x > 1\n        # y\n    - allow: [make]\n    - allow: [ls]\n\ntaint: []\n"},
		"no rules":                 {"# of ann\ndefault: ask\n", "# of ann\ndefault: ask\nrules:\n  - allow: [make]\n  - allow: [ls]\n"},
		"rules without a value":    {"rules: # none yet\ndefault: ask\n", "rules: # none yet\n  - allow: [make]\n  - allow: [ls]\ndefault: ask\n"},
		"a policy of init":         {"extends: starter/1\nrules: # your own\n  # - allow: [x]\n", "extends: starter/1\nrules: # your own\n  - allow: [make]\n  - allow: [ls]\n  # - allow: [x]\n"},
		"an empty file":            {"", "rules:\n  - allow: [make]\n  - allow: [ls]\n"},
		"only comments":            {"# a policy\n", "# a policy\nrules:\n  - allow: [make]\n  - allow: [ls]\n"},
		"no end of the last line":  {"rules:\n  - deny: [rm]", "rules:\n  - deny: [rm]\n  - allow: [make]\n  - allow: [ls]\n"},
		"ends of lines of Windows": {"rules:\r\n  - deny: [rm]\r\n", "rules:\r\n  - deny: [rm]\r\n  - allow: [make]\r\n  - allow: [ls]\r\n"},
		"rules in brackets":        {"rules: [{deny: [rm]}]\n", ""},
		"an empty list":            {"rules: []\n", ""},
		"a policy in braces":       {"{default: ask}\n", ""},
		"an end of the document":   {"rules:\n  - deny: [rm]\n...\n", ""},
		"no YAML":                  {"rules: [\n", ""},
	} {
		got, err := policylearn.Insert([]byte(tt.before), []string{line, second})
		if string(got) != tt.after || (err == nil) != (tt.after != "") {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

func TestDiff(t *testing.T) {
	for name, tt := range map[string]struct{ before, after, want string }{
		"in the middle":        {"1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\n+\n5\n6\n7\n8\n", "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n++\n 5\n 6\n 7\n"},
		"at the end":           {"1\n", "1\n2\n", "@@ -1,1 +1,2 @@\n 1\n+2\n"},
		"of an empty file":     {"", "1\n", "@@ -0,0 +1,1 @@\n+1\n"},
		"without a last break": {"1\n2", "1\n2\n3\n", "@@ -1,2 +1,3 @@\n 1\n-2\n\\ No newline at end of file\n+2\n+3\n"},
	} {
		if got := policylearn.Diff("p.yaml", []byte(tt.before), []byte(tt.after)); got != "--- p.yaml\n+++ p.yaml\n"+tt.want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	if got := policylearn.Diff("p.yaml", []byte("1\n"), []byte("1\n")); got != "" {
		t.Errorf("no change: %s", got)
	}
}
