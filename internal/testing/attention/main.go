// Command attention measures how often the starter policy asks people. It judges the recorded
// calls of sessions that were written for it, each with a label, and prints how many prompts
// people get, which of them are needless, and which risky calls pass. sessions/RUBRIC.md
// describes the labels. It counts prompts single, and together as people meet them who look every 30 s.
// It also compares what cards state about the labelled calls in effects,
// where effects/RUBRIC.md describes the labels, and prints how many cards are right, vague and wrong.
//
// It fails if a limit in limits.go is exceeded.
//
//	go run ./internal/testing/attention               the tables
//	go run ./internal/testing/attention -top 30       and the most frequent needless prompts
//	go run ./internal/testing/attention -risky        and each risky call that passes
//	go run ./internal/testing/attention -effects      and each card that is vague or wrong
//	go run ./internal/testing/attention -sessions DIR other sessions in the same form
package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
)

//go:embed sessions/*.jsonl
var own embed.FS

//go:embed effects/*.yaml
var effectFiles embed.FS

func main() {
	top := flag.Int("top", 0, "print this many of the most frequent needless prompts, by shape and reason")
	risky := flag.Bool("risky", false, "print each risky call that passes")
	folder := flag.String("sessions", "", "folder of the sessions; the project's own if empty")
	effects := flag.Bool("effects", false, "print each card that is vague or wrong")
	flag.Parse()
	if err := errors.Join(run(os.Stdout, *folder, *top, *risky), runEffects(os.Stdout, *effects)); err != nil {
		fmt.Fprintln(os.Stderr, "attention:", err)
		os.Exit(1)
	}
}

// run measures and prints, and fails if a limit is exceeded.
func run(w io.Writer, folder string, top int, risky bool) error {
	files, err := fs.Sub(own, "sessions")
	if err != nil {
		return err
	}
	if folder != "" {
		files = os.DirFS(folder)
	}
	sessions, err := readSessions(files)
	if err != nil {
		return err
	}
	var results []*result
	for _, v := range variants {
		r, err := v.measure(sessions)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	if err := printTables(w, results); err != nil {
		return err
	}
	if top > 0 {
		if err := printNeedless(w, results[0], top); err != nil {
			return err
		}
	}
	if risky {
		printPassed(w, results)
	}
	printMixed(w, results)
	return checkLimits(results)
}

// runEffects compares the cards of the corpus with its labels, and fails if a limit is exceeded.
func runEffects(w io.Writer, each bool) error {
	corpus, err := ownEffects()
	if err != nil {
		return err
	}
	list, err := checkEffects(corpus)
	if err != nil {
		return err
	}
	if err := printEffects(w, list, each); err != nil {
		return err
	}
	return checkEffectLimits(countEffects(list, func(*checked) bool { return true }))
}
