// Command runtests runs the tests of the module: with the race detector where goroutines
// are, without it elsewhere, which takes a third of the time. It prints what go test
// prints, and at the end the slowest packages and tests. With -later it runs those packages
// with the race detector that it leaves out before.
//
//	go run ./internal/testing/runtests [-later] [-count N] [-p N] [-parallel N] [-run REGEXP] [PACKAGE...]
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
	later := flag.Bool("later", false, "only the packages that are run without the race detector although goroutines are in them, with it")
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
	if err := runAll(ctx, patterns, flags, *later); err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		os.Exit(1)
	}
}

// runAll runs the tests with and without the race detector beside each other: many tests wait.
func runAll(ctx context.Context, patterns, flags []string, later bool) error {
	began := time.Now()
	packages, err := list(ctx, patterns)
	if err != nil {
		return err
	}
	report := newReport(os.Stdout)
	group, ctx := errgroup.WithContext(ctx)
	for _, race := range []bool{true, false} {
		if names := choose(packages, race, later); len(names) > 0 {
			group.Go(func() error { return goTest(ctx, report, slices.Concat(flags, raceFlag(race), names)) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return report.finish(time.Since(began))
}

// choose returns the packages that run with the race detector, or those that run without it:
// of all, or of those that it is run on later.
func choose(packages []testPackage, race, later bool) (names []string) {
	for _, p := range packages {
		if later && (!p.later || !race) {
			continue
		}
		if later || race == (p.race && !p.later) {
			names = append(names, p.name)
		}
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
