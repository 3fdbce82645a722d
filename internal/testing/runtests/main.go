// Command runtests runs the tests of the module: with the race detector where goroutines
// are, without it elsewhere, which takes a third of the time. It prints what go test
// prints, and at the end the slowest packages and tests.
//
//	go run ./internal/testing/runtests [-count N] [-p N] [-parallel N] [-run REGEXP] [PACKAGE...]
package main

import (
	"context"
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
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	flags := []string{"-json", "-vet=off", "-p", strconv.Itoa(*jobs), "-parallel", strconv.Itoa(*parallel), "-timeout", patience.String()}
	if *run != "" {
		flags = append(flags, "-run", *run)
	}
	if *count > 0 {
		flags = append(flags, "-count", strconv.Itoa(*count))
	}
	if err := runAll(ctx, patterns, flags); err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		os.Exit(1)
	}
}

// runAll runs the tests of both kinds of packages, beside each other: many tests wait.
func runAll(ctx context.Context, patterns, flags []string) error {
	began := time.Now()
	packages, err := list(ctx, patterns)
	if err != nil {
		return err
	}
	report := newReport(os.Stdout)
	group, ctx := errgroup.WithContext(ctx)
	for _, race := range []bool{true, false} {
		var names []string
		for _, p := range packages {
			if p.race == race {
				names = append(names, p.name)
			}
		}
		if len(names) == 0 {
			continue
		}
		group.Go(func() error { return goTest(ctx, report, slices.Concat(flags, raceFlag(race), names)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return report.finish(time.Since(began))
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
