package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestFigureIsJudgedByItsPairs(t *testing.T) {
	const ratio = 1.5 // of the known entry
	for _, c := range []struct {
		name         string
		now          []float64 // beside a base of 1
		judged       bool
		plain, known string // how the note of the figure begins, without and with an entry in the list of known ones
	}{
		{"as fast", []float64{1, 1, 1, 1, 1}, true, "", "remove it"},
		{"slower in each pair", []float64{1.16, 1.2, 1.2, 1.4, 1.45}, true, "SLOWER", "known: issue 35"},
		{"slower in all but one pair", []float64{1.15, 9, 9, 9, 9}, true, "", "known: issue 35"},
		{"slower in four pairs of four", []float64{9, 9, 9, 9}, true, "", "known: issue 35"},
		{"above the entry in each pair", []float64{1.51, 1.6, 1.7, 1.8, 1.9}, true, "SLOWER", "SLOWER"},
		{"better than the entry by a margin", []float64{1.16, 1.2, 1.2, 1.2, 1.29}, true, "SLOWER", "lower it to 1.29"},
		{"better than the entry, not in one pair", []float64{1.16, 1.16, 1.16, 1.16, 1.31}, true, "SLOWER", "known: issue 35"},
		{"as fast but for one pair", []float64{1, 1, 1, 1, 1.2}, true, "", "lower it to 1.20"},
		{"a time", []float64{9, 9, 9, 9, 9}, false, "", "known: issue 35"},
	} {
		for i, list := range [][]knownFigure{nil, {{"f", ratio, "a reason", "35"}}} {
			s := &suite{}
			s.compare("f", c.judged, c.now, []float64{1, 1, 1, 1, 1})
			got, failures := ratchet(s.results.Figures, list, false)
			note, want := got.rows[0][len(got.header)-1], []string{c.plain, c.known}[i]
			if !strings.HasPrefix(note, want) || (want == "" && note != "") {
				t.Errorf("%s, %d known: the note is %q, want %q", c.name, i, note, want)
			}
			failed := len(failures) > 0
			if failed != (want == "SLOWER") {
				t.Errorf("%s, %d known: failures %q", c.name, i, failures)
			}
			if s.known = list; c.judged && s.isSlower("f", c.now, []float64{1, 1, 1, 1, 1}) != failed {
				t.Errorf("%s, %d known: it is not measured again as it fails", c.name, i)
			}
		}
	}
}

func TestKnownEntryNamesAFigure(t *testing.T) {
	s := &suite{}
	s.compare("f", true, []float64{1, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 1})
	s.compare("time", false, []float64{9}, []float64{1})
	s.compare("without a base", true, []float64{9}, nil)
	list := []knownFigure{{"f", 2, "r", "35"}, {"time", 2, "r", "35"}, {"without a base", 2, "r", "35"}, {"gone", 2, "r", "35"}}
	if _, failures := ratchet(s.results.Figures, list, false); len(failures) != 0 {
		t.Errorf("a part of the steps: %q", failures)
	}
	_, failures := ratchet(s.results.Figures, list, true)
	if len(failures) != 3 {
		t.Fatalf("failures %q, want 3", failures)
	}
	for i, name := range []string{"time", "without a base", "gone"} {
		if !strings.Contains(failures[i], fmt.Sprintf("%q names no figure that is judged: remove it", name)) {
			t.Errorf("failure %q, want that of %s", failures[i], name)
		}
	}
}

func TestKnownFiguresAreRead(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "[] <nil>"},
		{"# figure | ratio\n\n chat: prompts, plain: CPU | 1.5 | copies | 35\n", "[{chat: prompts, plain: CPU 1.5 copies 35}] <nil>"},
		{"f | 1.5 | copies", "is not: figure | ratio | reason | issue"},
		{"f | fast | copies | 35", `the ratio "fast" is not a number above 1.15`},
		{"f | 1.15 | copies | 35", "is not a number above 1.15"},
		{"f | 1.5 | | 35", "no reason or no issue"},
		{"f | 1.5 | copies | ", "no reason or no issue"},
		{"f | 1.5 | copies | 35\nf | 2 | copies | 35", "f: twice"},
	} {
		list, err := parseKnown(c.text)
		if got := fmt.Sprintf("%v %v", list, err); !strings.Contains(got, c.want) {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestListOfThisRepositoryIsRead(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readKnown(root); err != nil {
		t.Error(err)
	}
	if revision, err := readBase(root); err != nil || len(revision) < 7 {
		t.Errorf("the base is %q (%v)", revision, err)
	}
}

func TestBaseWithoutHistory(t *testing.T) {
	_, err := buildBase(t.TempDir(), "7e2f311ffff", false)
	if err == nil || !strings.Contains(err.Error(), "revision 7e2f311ffff in benchmarks/base, is not in the git history") || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("the error is %v", err)
	}
}
