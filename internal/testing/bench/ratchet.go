package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// slower is the ratio to the base that a figure may have: more in each pair of a run is a failure.
	slower = 1.15
	// pairsJudged are the pairs of a figure without which it is not judged.
	pairsJudged = 5
	// knownFile, in the repository, has the figures that are known to be slower. It only becomes shorter.
	knownFile = "benchmarks/known"
)

// figure is a cost of today's heldcall beside that of the base.
type figure struct {
	name      string
	now, base *spread
	ratio     *spread // over the pairs of one round
	pairs     int
	judged    bool // CPU time and memory are; times and throughputs are only printed
}

// compare adds a figure with the values of today's heldcall and of the base, one for each round. It leaves out rounds in which the base has no value.
func (s *suite) compare(name string, judged bool, now, base []float64) {
	if f, ok := newFigure(name, judged, now, base); ok {
		s.results.Figures = append(s.results.Figures, f)
	}
}

// newFigure makes a figure of the values of compare. It is none without a pair.
func newFigure(name string, judged bool, now, base []float64) (f figure, ok bool) {
	pairs := ratios(now, base)
	return figure{name, spreadOf(now), spreadOf(base), spreadOf(pairs), len(pairs), judged}, len(pairs) > 0
}

// isSlower reports whether the figure with these values would fail the run.
func (s *suite) isSlower(name string, now, base []float64) bool {
	f, ok := newFigure(name, true, now, base)
	return ok && f.judge(entryOf(name, s.known)).failure != ""
}

// entryOf returns the entry of a figure, nil if it is not known to be slower.
func entryOf(name string, list []knownFigure) *knownFigure {
	if i := slices.IndexFunc(list, func(k knownFigure) bool { return k.figure == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// knownFigure is a figure that is slower than in the base for a known reason.
type knownFigure struct {
	figure string
	ratio  float64 // what it may have
	reason string
	issue  string // in which it is to be mended
}

// readKnown reads the known figures of a repository: a line each, its columns separated by "|"; lines with # are comments.
func readKnown(repository string) ([]knownFigure, error) {
	text, err := os.ReadFile(filepath.Join(repository, knownFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the known figures: %w", err)
	}
	return parseKnown(string(text))
}

func parseKnown(text string) (list []knownFigure, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "|")
		if len(columns) != 4 {
			return nil, fmt.Errorf("%s: %q is not: figure | ratio | reason | issue", knownFile, line)
		}
		for i := range columns {
			columns[i] = strings.TrimSpace(columns[i])
		}
		ratio, err := strconv.ParseFloat(columns[1], 64)
		if err != nil || ratio <= slower {
			return nil, fmt.Errorf("%s: %s: the ratio %q is not a number above %.2f", knownFile, columns[0], columns[1], slower)
		}
		entry := knownFigure{columns[0], ratio, columns[2], columns[3]}
		if entry.reason == "" || entry.issue == "" {
			return nil, fmt.Errorf("%s: %s: no reason or no issue", knownFile, entry.figure)
		}
		if slices.ContainsFunc(list, func(k knownFigure) bool { return k.figure == entry.figure }) {
			return nil, fmt.Errorf("%s: %s: twice", knownFile, entry.figure)
		}
		list = append(list, entry)
	}
	return list, nil
}

// verdict is what the ratchet finds about one figure. At most one of its texts is set.
type verdict struct {
	failure string
	advice  string // the known entry is no longer needed
}

// judge compares a figure with what it may have; entry is nil if it is not known to be slower.
func (f figure) judge(entry *knownFigure) verdict {
	if !f.judged || f.pairs < pairsJudged {
		return verdict{}
	}
	allowed := slower
	if entry != nil {
		allowed = entry.ratio
	}
	switch {
	case f.ratio.Min > allowed:
		return verdict{failure: fmt.Sprintf("%s: above %.2f times the base in each of %d pairs (%.2f to %.2f)", f.name, allowed, f.pairs, f.ratio.Min, f.ratio.Max)}
	case entry != nil && f.ratio.Max <= slower:
		return verdict{advice: "remove it from " + knownFile}
	case entry != nil && f.ratio.Max < entry.ratio/slower:
		return verdict{advice: fmt.Sprintf("lower it to %.2f in %s", f.ratio.Max, knownFile)}
	}
	return verdict{}
}

// ratchet judges all figures of a run. A known entry that names none of them is a failure if the run was whole.
func ratchet(figures []figure, list []knownFigure, whole bool) (table, []string) {
	t := table{
		title:  "Beside the base",
		note:   fmt.Sprintf("medians of each; ratios over the pairs; CPU time and memory fail above %.2f, or what %s has, in each of at least %d pairs", slower, knownFile, pairsJudged),
		header: []string{"figure", "base", "now", "ratio", "least", "most", "pairs", "may be", ""},
	}
	var failures []string
	named := map[string]bool{}
	for _, f := range figures {
		named[f.name] = f.judged
		entry := entryOf(f.name, list)
		v, allowed, note := f.judge(entry), "-", ""
		switch {
		case v.failure != "":
			failures, note = append(failures, v.failure), "SLOWER"
		case v.advice != "":
			note = v.advice
		case entry != nil:
			note = "known: issue " + entry.issue
		}
		if f.judged {
			allowed = fmt.Sprintf("%.2f", slower)
		}
		if entry != nil {
			allowed = fmt.Sprintf("%.2f", entry.ratio)
		}
		t.rows = append(t.rows, []string{
			f.name, significant(f.base.Median), significant(f.now.Median), fmt.Sprintf("%.2f", f.ratio.Median), fmt.Sprintf("%.2f", f.ratio.Min),
			fmt.Sprintf("%.2f", f.ratio.Max), strconv.Itoa(f.pairs), allowed, note,
		})
	}
	for _, k := range list {
		if whole && !named[k.figure] {
			failures = append(failures, fmt.Sprintf("%s: %q names no figure that is judged: remove it", knownFile, k.figure))
		}
	}
	return t, failures
}

// significant shows three digits of a figure, and all before the point.
func significant(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
