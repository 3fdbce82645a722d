// Command attention measures how often the starter policy asks people. It judges the recorded
// calls of sessions that were written for it, each with a label, and prints how many prompts
// people get, which of them are needless, and which risky calls pass. sessions/RUBRIC.md
// describes the labels.
//
// It fails if a limit in limits.go is exceeded.
//
//	go run ./internal/testing/attention               the tables
//	go run ./internal/testing/attention -top 30       and the most frequent needless prompts
//	go run ./internal/testing/attention -risky        and each risky call that passes
//	go run ./internal/testing/attention -sessions DIR other sessions in the same form
package main

import (
	"embed"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
)

//go:embed sessions/*.jsonl
var own embed.FS

func main() {
	top := flag.Int("top", 0, "print this many of the most frequent needless prompts, by shape and reason")
	risky := flag.Bool("risky", false, "print each risky call that passes")
	folder := flag.String("sessions", "", "folder of the sessions; the project's own if empty")
	flag.Parse()
	if err := run(os.Stdout, *folder, *top, *risky); err != nil {
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
	return checkLimits(results)
}
