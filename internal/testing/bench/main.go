// Command bench measures heldcall beside four other ways of reaching the same model: directly, through a TCP copy (the least a hop can
// cost), through a plain fasthttp reverse proxy that parses nothing, and through the standard library's reverse proxy.
//
// Every hop is a process of its own, and so is the scripted model; this process is the load generator. A workload runs on all hops
// within a round, each round begins with another hop, and ratios are taken within a round: the report has their median and
// quartiles. Every answer is compared byte for byte with what the model sent.
//
// Figures to reach are printed with "reached" or "NOT reached". The program fails only when an event is lost, torn or out of order, or
// when something does not work; never on a time.
//
//	go run ./internal/testing/bench                    the whole run
//	go run ./internal/testing/bench -short             a few minutes, for a look
//	go run ./internal/testing/bench -only 'coalesced'  the steps whose name matches
//	go run ./internal/testing/bench -profile /tmp/p    CPU profiles of heldcall by workload
//	go run ./internal/testing/bench -short -save       the result that later runs are compared with
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// outputs are the files a run writes, besides the report on standard output; empty for none. folder has the saved results that runs are
// compared with; save replaces the result of runs of this length.
type outputs struct {
	json, markdown, folder string
	save                   bool
}

func main() {
	role := flag.String("role", "", "run as the upstream or as a hop (the program starts itself this way)")
	upstreamAddr := flag.String("upstream", "", "where a hop's upstream listens")
	var o options
	var out outputs
	flag.IntVar(&o.rounds, "rounds", 9, "interleaved rounds of each workload")
	flag.DurationVar(&o.duration, "duration", 400*time.Millisecond, "of a workload on a hop in a round; paced streams take three times that")
	flag.IntVar(&o.streams, "streams", 2000, "streams open and held at once for the memory figures")
	flag.IntVar(&o.many, "many", manyHeld, "calls held at once in the step of very many")
	flag.IntVar(&o.decided, "history", 50_000, "decided requests in the step of the history")
	flag.DurationVar(&o.soakFor, "soak", 0, "how long -streams calls are held while agents leave and return; 0: not")
	flag.Int64Var(&o.events, "events", eventsChecked, "events of the correctness run")
	flag.DurationVar(&o.limit, "events-limit", 2*time.Minute, "after which the correctness run stops short")
	only := flag.String("only", "", "run only the steps whose name matches this regular expression")
	hops := flag.String("hops", strings.Join([]string{hopDirect, hopTCP, hopFasthttp, hopHTTPUtil, hopHeldcall}, ","), "hops to run")
	flag.StringVar(&o.heldcall, "heldcall", "", "the heldcall binary; built from this module if empty")
	flag.StringVar(&o.profiles, "profile", "", "folder for CPU profiles of heldcall, which is then built with a profiler")
	flag.BoolVar(&o.short, "short", false, "a short run: fewer rounds, streams and events")
	flag.StringVar(&out.json, "json", "", "write the results to this file")
	flag.StringVar(&out.markdown, "markdown", "", "write the report to this file in Markdown")
	flag.StringVar(&out.folder, "compare", "benchmarks", "folder with the saved results to compare with")
	flag.BoolVar(&out.save, "save", false, "replace the saved result by that of this run")
	flag.Parse()
	if *role != "" {
		exitOn(runRole(*role, *upstreamAddr))
		return
	}
	o.settle = 4 * time.Second
	o.hopNames, o.progress = strings.Split(*hops, ","), os.Stderr
	if *only != "" {
		if out.save {
			exitOn(errors.New("-save needs a whole run, without -only"))
		}
		var err error
		o.only, err = regexp.Compile(*only)
		exitOn(err)
	}
	if o.short {
		o.shorten()
	}
	exitOn(run(o, out))
}

// shorten makes the run take some minutes.
func (o *options) shorten() {
	o.rounds = 2
	o.streams, o.many = min(o.streams, 500), min(o.many, 1000)
	o.events = min(o.events, 500_000)
}

// runRole is the life of a child.
func runRole(role, upstreamAddr string) error {
	go waitForClosedInput()
	if role == "upstream" {
		return runUpstream()
	}
	return runHop(role, upstreamAddr)
}

// run measures, reports, and gives an error if anything did not work.
func run(o options, out outputs) error {
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return fmt.Errorf("folder for profiles: %w", err)
		}
	}
	r, err := runSuite(o)
	if err != nil {
		return err
	}
	ts := tables(r)
	then, err := readSaved(savedIn(out.folder, o.short))
	if err != nil {
		return err
	}
	if then != nil {
		ts = append(ts, compareTable(&r, then))
	}
	fmt.Printf("%s, %d CPUs, %d rounds: medians over the rounds, with quartiles; ratios are taken within a round.\n", r.Go, r.CPUs, r.Rounds)
	if len(r.Load)+len(r.Paced) > 0 {
		fmt.Printf("Of the CPU time used, %.0f%% went to programs that are no part of this.\n", 100*r.Foreign)
	}
	if err := writeText(os.Stdout, ts); err != nil {
		return err
	}
	if err := out.write(r, ts); err != nil {
		return err
	}
	if len(r.Failures) > 0 {
		return fmt.Errorf("%d steps failed:\n  %s", len(r.Failures), strings.Join(r.Failures, "\n  "))
	}
	if out.save {
		return writeResults(savedIn(out.folder, o.short), r)
	}
	return nil
}

// writeResults writes results to a file, and makes its folder.
func writeResults(file string, r results) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the results to %s: %w", file, err)
	}
	return nil
}

func (out outputs) write(r results, ts []table) error {
	if out.json != "" {
		if err := writeResults(out.json, r); err != nil {
			return err
		}
	}
	if out.markdown == "" {
		return nil
	}
	f, err := os.Create(out.markdown)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	defer f.Close()
	return writeMarkdown(f, ts)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
