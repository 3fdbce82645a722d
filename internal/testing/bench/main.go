// Command bench measures heldcall beside an older version of it and four other ways of reaching the same model: directly, through a TCP copy
// (the least a hop can cost), through a plain fasthttp reverse proxy that parses nothing, and through the standard library's reverse proxy.
//
// Every hop is a process of its own, and so is the scripted model; this process is the load generator. A workload runs on all hops
// within a round, each round begins with another hop, and ratios are taken within a round: the report has their median and
// quartiles. Every answer is compared byte for byte with what the model sent.
//
// Figures to reach are printed with "reached" or "NOT reached". The program fails when an event is lost, torn or out of order, when
// something does not work, and when heldcall uses more CPU time or memory than the revision in benchmarks/base, which runs as one more hop:
// above 1.15 times, or what benchmarks/known has for the figure, in each of at least five rounds, and of as many more. It never fails on a time.
//
//	go run ./internal/testing/bench                    the whole run
//	go run ./internal/testing/bench -short             about three minutes: fewer hops and rounds
//	go run ./internal/testing/bench -only 'coalesced'  the steps whose name matches
//	go run ./internal/testing/bench -profile /tmp/p    CPU profiles of both versions by workload
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// The hops of a run. A short run has only those that can fail it.
const (
	allHops   = hopDirect + "," + hopTCP + "," + hopFasthttp + "," + hopHTTPUtil + "," + hopHeldcall + "," + hopBase
	shortHops = hopHeldcall + "," + hopBase
)

func main() {
	role := flag.String("role", "", "run as the upstream or as a hop (the program starts itself this way)")
	upstreamAddr := flag.String("upstream", "", "where a hop's upstream listens")
	var o options
	flag.IntVar(&o.rounds, "rounds", 7, "interleaved rounds of each workload")
	flag.DurationVar(&o.duration, "duration", 250*time.Millisecond, "of a workload on a hop in a round; paced streams take three times that")
	flag.IntVar(&o.streams, "streams", 2000, "streams open and held at once for the memory figures")
	flag.IntVar(&o.many, "many", manyHeld, "calls held at once in the step of very many")
	flag.IntVar(&o.decided, "history", 50_000, "decided requests in the step of the history")
	flag.DurationVar(&o.soakFor, "soak", 0, "how long -streams calls are held while agents leave and return; 0: not")
	flag.Int64Var(&o.events, "events", eventsChecked, "events of the correctness run")
	flag.DurationVar(&o.limit, "events-limit", 2*time.Minute, "after which the correctness run stops short")
	only := flag.String("only", "", "run only the steps whose name matches this regular expression")
	hops := flag.String("hops", "", "hops to run: all, or those of a short run, if empty")
	flag.StringVar(&o.heldcall, "heldcall", "", "today's heldcall; built from this module if empty")
	flag.StringVar(&o.profiles, "profile", "", "folder for CPU and heap profiles of heldcall and the base, which are then built with a profiler")
	flag.BoolVar(&o.short, "short", false, "a short run: fewer hops and rounds, and no steps that wait")
	flag.Parse()
	if *role != "" {
		exitOn(runRole(*role, *upstreamAddr))
		return
	}
	o.settle, o.progress = 4*time.Second, os.Stderr
	if *only != "" {
		var err error
		o.only, err = regexp.Compile(*only)
		exitOn(err)
	}
	names := cmp.Or(*hops, allHops)
	if o.short {
		o.shorten()
		names = cmp.Or(*hops, shortHops)
	}
	o.hopNames, o.whole = strings.Split(names, ","), *only == "" && *hops == ""
	exitOn(run(o))
}

// shorten makes the run take some minutes. A flag may ask for less.
func (o *options) shorten() {
	o.rounds, o.duration = min(o.rounds, pairsJudged), min(o.duration, 150*time.Millisecond)
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

// run measures, reports, and gives an error if anything did not work, or a figure is worse than it may be.
func run(o options) (err error) {
	if o.root, err = moduleRoot(); err != nil {
		return err
	}
	if o.known, err = readKnown(o.root); err != nil {
		return err
	}
	r, err := runSuite(o)
	if err != nil {
		return err
	}
	ts := tables(r)
	beside, slow := ratchet(r.Figures, o.known, o.whole)
	if len(r.Figures) > 0 {
		ts = append(ts, beside)
	}
	fmt.Printf("%s, %d CPUs, %d rounds: medians over the rounds, with quartiles; ratios are taken within a round.\n", r.Go, r.CPUs, r.Rounds)
	if len(r.Load)+len(r.Paced) > 0 {
		fmt.Printf("Of the CPU time used, %.0f%% went to programs that are no part of this.\n", 100*r.Foreign)
	}
	if err := writeText(os.Stdout, ts); err != nil {
		return err
	}
	return failed(append(r.Failures, slow...))
}

// failed is the error of what failed.
func failed(failures []string) error {
	if len(failures) == 0 {
		return nil
	}
	return fmt.Errorf("%d failed:\n  %s", len(failures), strings.Join(failures, "\n  "))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
