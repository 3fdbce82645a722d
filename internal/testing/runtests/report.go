package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// slowest is how many packages and tests the report lists at its end.
const slowest = 10

// event is a line of go test -json: see go doc test2json, and go help buildjson for builds.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // seconds
}

// timed is a package, or a test of one, and how long it took.
type timed struct {
	name    string
	seconds float64
}

// report prints the results of packages as they arrive. It is safe for concurrent use.
type report struct {
	out io.Writer

	mu              sync.Mutex
	output          map[string]*strings.Builder // by package and test, of those that have not ended
	packages, tests []timed
	failures        []string
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[string]*strings.Builder{}}
}

// read adds the events of one go test until they end.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.add(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add takes one line. A line that is no event comes from the Go tool itself.
func (r *report) add(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	if json.Unmarshal(line, &e) != nil {
		fmt.Fprintf(r.out, "%s", line)
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "build-fail":
		r.failures = append(r.failures, e.ImportPath+" (build)")
	case "output":
		r.collect(key, e)
	case "pass", "skip":
		r.ended(key, e)
	case "fail":
		r.failures = append(r.failures, strings.TrimSpace(key))
		if text := r.output[key]; text != nil {
			fmt.Fprint(r.out, text)
		}
		r.ended(key, e)
	}
}

// collect keeps the output of a test until it is known whether it fails. The line with the
// result of a package is printed at once.
func (r *report) collect(key string, e event) {
	if e.Test == "" && (strings.HasPrefix(e.Output, "ok  \t") || strings.HasPrefix(e.Output, "FAIL\t")) {
		fmt.Fprint(r.out, e.Output)
		return
	}
	if r.output[key] == nil {
		r.output[key] = &strings.Builder{}
	}
	r.output[key].WriteString(e.Output)
}

func (r *report) ended(key string, e event) {
	delete(r.output, key)
	switch {
	case e.Test == "":
		r.packages = append(r.packages, timed{e.Package, e.Elapsed})
	case !strings.Contains(e.Test, "/"):
		r.tests = append(r.tests, timed{key, e.Elapsed})
	}
}

func (r *report) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

// finish prints what was slowest and what failed. It fails if a test did.
func (r *report) finish(took time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.printSlowest("packages", r.packages)
	r.printSlowest("tests", r.tests)
	fmt.Fprintf(r.out, "\n%d packages, %d tests in %s\n", len(r.packages), len(r.tests), took.Round(time.Second))
	if len(r.failures) > 0 {
		return fmt.Errorf("%d failed:\n  %s", len(r.failures), strings.Join(r.failures, "\n  "))
	}
	if len(r.tests) == 0 {
		return fmt.Errorf("no test ran")
	}
	return nil
}

func (r *report) printSlowest(what string, list []timed) {
	slices.SortFunc(list, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintf(r.out, "\nslowest %s (seconds)\n", what)
	for _, t := range list[:min(len(list), slowest)] {
		fmt.Fprintf(r.out, "%7.1f  %s\n", t.seconds, t.name)
	}
}
