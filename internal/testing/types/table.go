package main

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed responses.txt chat.txt messages.txt
var tables embed.FS

// row is a row of a table.
type row struct {
	key
	runs   string // one of runners
	does   string // held, passed, refused, judged (as an offer) or result (judged as one)
	change string // JSON members by which the sample differs, "" for none
	place  string // file and line
}

// The words of a row.
var (
	kinds   = []string{"item", "event", "block", "delta", "call", "member", "input", "tool", "field"}
	runners = []string{"agent", "provider", "nobody"}
	deeds   = []string{"held", "passed", "refused", "judged", "result"}
)

// readTables reads the tables, which are named for their dialects.
func readTables() (rows []row, err error) {
	files, err := tables.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := tables.ReadFile(file.Name())
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			r, err := readRow(line)
			r.dialect, r.place = strings.TrimSuffix(file.Name(), path.Ext(file.Name())), fmt.Sprintf("%s:%d", file.Name(), i+1)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.place, err)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// readRow reads a line: kind, name, who runs it, what heldcall does and, for a case of a name
// that has several, by which members its sample differs.
func readRow(line string) (r row, err error) {
	line, r.change, _ = strings.Cut(line, "{")
	if r.change != "" {
		r.change = "{" + r.change
	}
	words := strings.Fields(line)
	if len(words) != 4 {
		return r, fmt.Errorf("want kind, name, who runs it and what heldcall does, got %q", line)
	}
	r.kind, r.name, r.runs, r.does = words[0], words[1], words[2], words[3]
	for _, column := range []struct {
		word    string
		allowed []string
	}{{r.kind, kinds}, {r.runs, runners}, {r.does, deeds}} {
		if !slices.Contains(column.allowed, column.word) {
			return r, fmt.Errorf("%q is none of %s", column.word, strings.Join(column.allowed, ", "))
		}
	}
	return r, nil
}
