package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals/policy"
)

// TestCases judges the corpus: what must be allowed, denied and asked about, with
// the known ways past the permission rules of other tools.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("../testdata/cases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, file := range files {
		all, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Load(all.Policy)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all.Cases {
			judged++
			if problem := c.Check(p); problem != "" {
				t.Errorf("%s: %q (%s) %s", c.Where, c.Call.Arguments, c.Why, problem)
			}
			if c.Why == "" {
				t.Errorf("%s: has no reason", c.Where)
			}
		}
	}
	if judged < 300 {
		t.Errorf("only %d cases were judged", judged)
	}
}

func TestLoad(t *testing.T) {
	f := func(src string, want ...string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "cases.yaml")
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(file)
		if err == nil {
			t.Errorf("no error\n%s", src)
			return
		}
		got := strings.Split(err.Error(), "\n")
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || !strings.HasPrefix(strings.TrimPrefix(got[i], file), want[i]) {
				t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
				return
			}
		}
	}
	f("", ": contains no cases")
	f("policy: p.yaml\n", ":1: cases: is missing")
	f("cases:\n  - {given: ls, expect: allow}\n", ":2: cases[0].given: is a text without a field")
	f("given: {field: x}\ncases:\n  - {given: 5, expect: allow}\n  - {given: ls}\n", `:3: cases[0].given: must be a text or a mapping, and is "5" (int): quote it`)
	f("given: {field: x}\ncases:\n  - {given: ls}\n", ":3: cases[0]: has no expect")
	f("cases:\n  - {given: {tool: x, args: [1]}, expect: maybe, because: y}\n",
		":2: cases[0].given.args: must be a mapping of arguments", `:2: cases[0].expect: is "maybe"`, ":2: cases[0].because: unknown key")
}

func TestCaseCheck(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte("rules:\n  - deny: ['bash(rm *)']\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Call: policy.Call{Tool: "bash", Arguments: `{"command":"rm x"}`}, Expect: policy.Deny, Rule: "policy.yaml:2"}
	if problem := c.Check(p); problem != "" {
		t.Error(problem)
	}
	c.Rule = "policy.yaml:3"
	if problem := c.Check(p); problem != "is deny by policy.yaml:2, want policy.yaml:3" {
		t.Error(problem)
	}
	c.Expect = policy.Allow
	if problem := c.Check(p); problem != "is deny by policy.yaml:2, want allow: A policy rule denies bash(rm *)." {
		t.Error(problem)
	}
}

// FuzzCases: any file contains cases that can be judged, or returns an error with a place.
func FuzzCases(f *testing.F) {
	if files, err := os.ReadDir("testdata/fuzz/FuzzCases"); err != nil || len(files) == 0 {
		f.Fatalf("no corpus: %v", err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		all, err := parse("cases.yaml", []byte(src))
		if (all == nil) == (err == nil) {
			t.Fatalf("%v, %v", all, err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "cases.yaml") {
				t.Errorf("the error has no place: %v", err)
			}
			return
		}
		for _, c := range all.Cases {
			if problem := c.Check(policy.Default()); (problem == "") != (c.Expect == policy.Default().Judge(c.Call).Action && (c.Rule == "" || c.Rule == policy.Default().Judge(c.Call).Rule)) {
				t.Errorf("%s: %s", c.Where, problem)
			}
		}
	})
}
