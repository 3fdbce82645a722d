package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	for name, c := range map[string]struct{ events, printed, fails string }{
		"a test that fails": {
			`{"Action":"output","Package":"p","Test":"TestA","Output":"a_test.go:1: wrong\n"}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":0.5}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.6s\n"}
{"Action":"fail","Package":"p","Elapsed":0.6}`,
			"a_test.go:1: wrong\nFAIL\tp\t0.6s\n", "p TestA",
		},
		"a test that passes": {
			`{"Action":"output","Package":"p","Test":"TestA","Output":"a_test.go:1: noted\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.5}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.6s\n"}
{"Action":"pass","Package":"p","Elapsed":0.6}`,
			"ok  \tp\t0.6s\n", "",
		},
		"a package that does not build": {
			`{"ImportPath":"p","Action":"build-output","Output":"p.go:1: undefined: x\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","Package":"p","Elapsed":0}`,
			"p.go:1: undefined: x\n", "p (build)",
		},
		"a panic, which is output of the package": {
			`{"Action":"output","Package":"p","Output":"panic: boom\n"}
{"Action":"fail","Package":"p","Elapsed":0}`,
			"panic: boom\n", "p",
		},
		"no test": {"", "", "no test ran"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(strings.NewReader(c.events)); err != nil {
				t.Fatal(err)
			}
			err := r.finish(time.Second)
			if !strings.HasPrefix(out.String(), c.printed+"\nslowest packages") {
				t.Errorf("printed %q, want %q first", out.String(), c.printed)
			}
			if (err == nil) != (c.fails == "") || (err != nil && !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("got the error %v, want %q", err, c.fails)
			}
		})
	}
}

// The race detector is for packages where goroutines are, also where only what a package
// imports starts them, but for a test kit and where none of them runs.
func TestRaceWhereGoroutinesAre(t *testing.T) {
	packages, err := list(t.Context(), []string{"../../../proxy/agentconn", "../../../notify/webhook", "../../../intercept/sse", "../../../intercept/responses", "../../policylearn"})
	if err != nil {
		t.Fatal(err)
	}
	races := map[string]bool{}
	for _, p := range packages {
		races[p.name[strings.LastIndex(p.name, "/")+1:]] = p.race
	}
	if !races["agentconn"] || !races["webhook"] || races["sse"] || races["responses"] || races["policylearn"] || len(races) != 5 {
		t.Errorf("with the race detector: %v", races)
	}
}

func TestChoose(t *testing.T) {
	packages := []testPackage{{name: "pure"}, {name: "gate", race: true}, {name: "app", race: true, later: true}}
	for _, c := range []struct {
		race, later bool
		want        string
	}{{true, false, "gate"}, {false, false, "pure app"}, {true, true, "app"}, {false, true, ""}} {
		if got := strings.Join(names(choose(packages, c.race, c.later)), " "); got != c.want {
			t.Errorf("race %t, later %t: %q, want %q", c.race, c.later, got, c.want)
		}
	}
}

func TestParsePart(t *testing.T) {
	for text, want := range map[string]part{"1/1": {1, 1}, "2/3": {2, 3}, "0/2": {}, "3/2": {}, "half": {}, "": {}} {
		got, err := parsePart(text)
		if (err == nil) != (want.of > 0) || (err == nil && got != want) {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
}

// Each test of a package is in one of the parts.
func TestPartsHaveAllTests(t *testing.T) {
	packages, err := list(t.Context(), []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	all, err := testNames(packages)
	if err != nil || !slices.Contains(all, "TestPartsHaveAllTests") {
		t.Fatalf("the tests of this package are %q, %v", all, err)
	}
	var inParts []string
	for number := 1; number <= 3; number++ {
		flags, err := part{number, 3}.flags(packages)
		if err != nil || len(flags) != 2 || flags[0] != "-run" {
			t.Fatalf("part %d: %q, %v", number, flags, err)
		}
		inParts = append(inParts, strings.Split(strings.Trim(flags[1], "^()$"), "|")...)
	}
	slices.Sort(inParts)
	if !slices.Equal(inParts, all) {
		t.Errorf("the parts have %q, want %q", inParts, all)
	}
}
