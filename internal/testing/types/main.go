// Command types compares the names that the newest openai and anthropic packages for Python, Node
// and Go have with the tables beside it: every item, event, content block, tool type and
// request field. Each row of a table states who runs the thing and what heldcall does with it;
// a test of this package holds heldcall to that.
//
// It installs the packages from their registries, needs Python, Node and Go, and fails for a
// name that the tables lack. With -samples it replaces samples.jsonl: each name with all
// fields that the packages know, which the test plays.
//
//	go run ./internal/testing/types            compare
//	go run ./internal/testing/types -samples   and write the samples, into this folder
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folder is where the tables are, from the root of the repository.
const folder = "internal/testing/types"

func main() {
	samples := flag.Bool("samples", false, "write samples.jsonl")
	flag.Parse()
	if err := run(os.Stdout, *samples); err != nil {
		fmt.Fprintln(os.Stderr, "types:", err)
		os.Exit(1)
	}
}

// run compares the names of the newest packages with the tables.
func run(w io.Writer, writeSamples bool) error {
	rows, err := readTables()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "heldcall-types-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	found := make(map[key][]string) // who has the name
	for _, source := range []struct {
		name string
		list func(dir string) ([]byte, error)
	}{{"Python", pythonNames}, {"Node", nodeNames}, {"Go", goNames}} {
		list, err := source.list(dir)
		if err != nil {
			return fmt.Errorf("names of the packages for %s: %w", source.name, err)
		}
		names, err := readSamples(bytes.NewReader(list))
		if err != nil {
			return fmt.Errorf("names of the packages for %s: %w", source.name, err)
		}
		for k := range names {
			found[k] = append(found[k], source.name)
		}
		fmt.Fprintf(w, "%-7s %d names\n", source.name, len(names))
		if source.name == "Python" && writeSamples {
			if err := os.WriteFile(filepath.Join(folder, "samples.jsonl"), list, 0o644); err != nil {
				return err
			}
		}
	}
	return compare(w, rows, found)
}

// headers are names that packages have among the fields of a request, and send as headers.
var headers = []string{"betas", "openai-beta"}

// compare fails for the names that no row has.
func compare(w io.Writer, rows []row, found map[key][]string) error {
	known := make(map[key]bool)
	for _, r := range rows {
		known[r.key] = true
	}
	lacking := 0
	for _, k := range slices.SortedFunc(maps.Keys(found), key.compare) {
		if !known[k] && !slices.Contains(headers, k.name) {
			lacking++
			fmt.Fprintf(w, "%s.txt lacks %-6s %-40s (%s)\n", k.dialect, k.kind, k.name, strings.Join(found[k], ", "))
		}
	}
	if lacking > 0 {
		return fmt.Errorf("%d names are in no table. For each: find out who runs it and what heldcall has to do with it, "+
			"add its row to the table in %s, run `make types ARGS=-samples`, and then `go test ./%s`, which shows whether heldcall does it; "+
			"if not, change the dialect: what is not understood is not released", lacking, folder, folder)
	}
	fmt.Fprintf(w, "the tables have all %d names\n", len(found))
	return nil
}

// key identifies a name.
type key struct{ dialect, kind, name string }

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.dialect, other.dialect), cmp.Compare(k.kind, other.kind), cmp.Compare(k.name, other.name))
}

// readSamples reads lines with a name each, and its sample where it has one.
func readSamples(r io.Reader) (map[key]json.RawMessage, error) {
	samples := make(map[key]json.RawMessage)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Dialect, Kind, Name string
			Sample              json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("read %q: %w", lines.Text(), err)
		}
		samples[key{line.Dialect, line.Kind, line.Name}] = line.Sample
	}
	return samples, lines.Err()
}
