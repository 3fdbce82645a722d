package main

import (
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
// imports starts them.
func TestRaceWhereGoroutinesAre(t *testing.T) {
	packages, err := list(t.Context(), []string{"../../../proxy/agentconn", "../../../notify/webhook", "../../../intercept/sse"})
	if err != nil {
		t.Fatal(err)
	}
	races := map[string]bool{}
	for _, p := range packages {
		races[p.name[strings.LastIndex(p.name, "/")+1:]] = p.race
	}
	if !races["agentconn"] || !races["webhook"] || races["sse"] || len(races) != 3 {
		t.Errorf("with the race detector: %v", races)
	}
}

func TestChoose(t *testing.T) {
	packages := []testPackage{{name: "pure"}, {name: "gate", race: true}, {name: "app", race: true, later: true}}
	for _, c := range []struct {
		race, later bool
		want        string
	}{{true, false, "gate"}, {false, false, "pure app"}, {true, true, "app"}, {false, true, ""}} {
		if got := strings.Join(choose(packages, c.race, c.later), " "); got != c.want {
			t.Errorf("race %t, later %t: %q, want %q", c.race, c.later, got, c.want)
		}
	}
}
