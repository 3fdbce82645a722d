// Command runtests runs the tests of the module: with the race detector where goroutines
// are, without it elsewhere, which takes a third of the time. It prints what go test
// prints, and at the end the slowest packages and tests. With -later it runs those packages
// with the race detector that it leaves out before. With -part K/N it runs each Nth test,
// beginning with the Kth: N parts run all of them.
//
//	go run ./internal/testing/runtests [-later] [-part K/N] [-count N] [-p N] [-parallel N] [-run REGEXP] [PACKAGE...]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	jobs := flag.Int("p", 3, "test programs at a time")
	parallel := flag.Int("parallel", 4, "tests of a program at a time")
	patience := flag.Duration("timeout", time.Hour, "how long the tests of a package may take")
	run := flag.String("run", "", "only tests whose name matches")
	count := flag.Int("count", 0, "how often each test runs; 0: once, and not if nothing has changed")
	partText := flag.String("part", "1/1", "K/N: each Nth test of the packages, from the Kth on; not with -run")
	later := flag.Bool("later", false, "only the packages that are run without the race detector although goroutines are in them, with it")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	part, err := parsePart(*partText)
	if err == nil && part.of > 1 && *run != "" {
		err = errors.New("-part and -run exclude each other")
	}
	exitOn(err)
	flags := []string{"-json", "-vet=off", "-p", strconv.Itoa(*jobs), "-parallel", strconv.Itoa(*parallel), "-timeout", patience.String()}
	if *run != "" {
		flags = append(flags, "-run", *run)
	}
	if *count > 0 {
		flags = append(flags, "-count", strconv.Itoa(*count))
	}
	exitOn(runAll(ctx, patterns, flags, *later, part))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		os.Exit(1)
	}
}

// runAll runs the tests with and without the race detector beside each other: many tests wait.
func runAll(ctx context.Context, patterns, flags []string, later bool, part part) error {
	began := time.Now()
	packages, err := list(ctx, patterns)
	if err != nil {
		return err
	}
	report := newReport(os.Stdout)
	group, ctx := errgroup.WithContext(ctx)
	for _, race := range []bool{true, false} {
		chosen := choose(packages, race, later)
		if len(chosen) == 0 {
			continue
		}
		only, err := part.flags(chosen)
		if err != nil {
			return err
		}
		group.Go(func() error { return goTest(ctx, report, slices.Concat(flags, only, raceFlag(race), names(chosen))) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return report.finish(time.Since(began))
}

// choose returns the packages that run with the race detector, or those that run without it:
// of all, or of those that it is run on later.
func choose(packages []testPackage, race, later bool) (chosen []testPackage) {
	for _, p := range packages {
		if later && (!p.later || !race) {
			continue
		}
		if later || race == (p.race && !p.later) {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

func names(packages []testPackage) (names []string) {
	for _, p := range packages {
		names = append(names, p.name)
	}
	return names
}

func raceFlag(race bool) []string {
	if race {
		return []string{"-race"}
	}
	return nil
}

// goTest runs go test and adds its events to the report. Tests that fail are in the report
// and are no error.
func goTest(ctx context.Context, report *report, arguments []string) error {
	command := exec.CommandContext(ctx, "go", append([]string{"test"}, arguments...)...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	if err := report.read(output); err != nil {
		_ = command.Wait()
		return fmt.Errorf("read the events of go test: %w", err)
	}
	if err := command.Wait(); err != nil && !report.failed() {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}
