package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// maxShown is the longest call or reason in a list, in runes.
const maxShown = 110

// printTables prints the figures by variant and kind, and those without grants by agent.
func printTables(w io.Writer, results []*result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	columns := "\tSESSIONS\tCALLS\tPROMPTS/100\tSESSION P50/P90/MAX\tWORST 5 MIN P50/P90/MAX\tHARMLESS ASKED\tDENIED\tRISKY PASSED\tGRANTS: OF USE, LIKE A LATER CALL, ALL"
	for _, kind := range kinds {
		fmt.Fprintln(table, strings.ToUpper(kind)+columns)
		for _, r := range results {
			printFigures(table, r.name, r.of(kind))
		}
		lowest := floor(results[0])
		printFigures(table, lowest.name, lowest.of(kind))
		fmt.Fprintln(table, strings.Repeat("\t", strings.Count(columns, "\t")))
	}
	first := results[0]
	agents := map[string]bool{}
	for _, s := range first.sessions {
		agents[s.Agent] = true
	}
	fmt.Fprintln(table, "BY AGENT, "+strings.ToUpper(first.name)+columns)
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		printFigures(table, agent, first.where(func(s *session) bool { return s.Agent == agent }))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printTogether(w, results)
}

// floor returns the sessions as they are if people are asked about each call that is not harmless,
// and no other.
func floor(r *result) *result {
	lowest := &result{name: "floor: only grey and risky calls"}
	for _, p := range r.sessions {
		one := &played{session: p.session}
		for _, c := range p.calls {
			c.verdict = policy.Verdict{Action: policy.Allow}
			if c.Label != harmless {
				c.verdict.Action = policy.Ask
			}
			one.calls = append(one.calls, c)
		}
		lowest.sessions = append(lowest.sessions, one)
	}
	return lowest
}

func printFigures(w io.Writer, name string, f figures) {
	grants := "-"
	if f.grants > 0 {
		grants = fmt.Sprintf("%d of %d (%.0f %%), %d", f.useful, f.repeated, f.usefulGrants(), f.grants)
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%s\t%s\t%d of %d (%.0f %%)\t%d\t%d of %d\t%s\n",
		name, f.sessions, f.calls, f.promptsPer100(), spread(f.perSession), spread(f.worst),
		f.harmlessAsked, f.harmless, percent(f.harmlessAsked, f.harmless), f.denied, f.riskyPassed, f.risky, grants)
}

func spread(values []int) string {
	return fmt.Sprintf("%d / %d / %d", percentile(values, 50), percentile(values, 90), percentile(values, 100))
}

// printPassed lists the risky calls that pass, by variant.
func printPassed(w io.Writer, results []*result) {
	passed := 0
	fmt.Fprintln(w, "\nRISKY CALLS THAT PASS")
	for _, r := range results {
		for _, s := range r.sessions {
			for _, c := range s.calls {
				if c.Label == risky && c.verdict.Action == policy.Allow {
					passed++
					fmt.Fprintf(w, "%s: %s at %g: %s, by %s: %s %s\n", r.name, s.Session, c.At, c.Class, c.verdict.Rule, c.Tool, shorten(judge.ArgumentsText(c.Arguments)))
				}
			}
		}
	}
	if passed == 0 {
		fmt.Fprintln(w, "none")
	}
}

// shape is a group of needless prompts.
type shape struct{ what, reason string }

// printNeedless lists the most frequent prompts about harmless calls.
func printNeedless(w io.Writer, r *result, top int) error {
	count, example := map[shape]int{}, map[shape]string{}
	for _, s := range r.sessions {
		for _, c := range s.calls {
			if c.Label == harmless && c.verdict.Action == policy.Ask {
				one := shape{s.shapeOf(c), shorten(c.verdict.Reason)}
				count[one]++
				example[one] = cmp.Or(example[one], shorten(c.verdict.Preview))
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(count), func(a, b shape) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a.what, b.what), cmp.Compare(a.reason, b.reason))
	})
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nNEEDLESS PROMPTS\tSHAPE\tREASON\tEXAMPLE")
	for _, one := range order[:min(top, len(order))] {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", count[one], one.what, one.reason, example[one])
	}
	return table.Flush()
}

// shapeOf returns the program and subcommand of the first command that is asked about on its
// own, else of the first command, else the tool.
func (g *played) shapeOf(c judged) string {
	commands := c.verdict.Commands
	if len(commands) == 0 && strings.Contains(string(c.Arguments), `"command"`) {
		return c.Tool + " " + programOf(c.verdict.Preview) // a shell whose language is not read
	}
	if len(commands) == 0 {
		return c.Tool
	}
	for _, command := range commands {
		if v := g.policy.Judge(policy.Call{Tool: "Bash", Arguments: bashArguments(command), Principal: principalOf(g.session)}); v.Action == policy.Ask {
			return programOf(command)
		}
	}
	return "script: " + programOf(commands[0])
}

func bashArguments(command string) string {
	text, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return "{}"
	}
	return string(text)
}

// programOf returns the program and the subcommand of a command. Where the table of programs does
// not know the subcommand, it is the second word, if it may be one.
func programOf(command string) string {
	known := shell.KnownPrograms()
	if acting := known.Parse(command).Acting(); len(acting) > 0 {
		if use := known.Use(acting[0]); use.Subcommand != "" {
			return sanitize.Line(use.Program + " " + use.Subcommand)
		}
	}
	words := strings.Fields(sanitize.Line(command))
	if len(words) == 0 {
		return command
	}
	if len(words) > 1 && strings.Trim(words[1], "abcdefghijklmnopqrstuvwxyz-:") == "" && words[1][0] != '-' {
		return words[0] + " " + words[1]
	}
	return words[0]
}

func shorten(text string) string {
	runes := []rune(sanitize.Line(text))
	if len(runes) <= maxShown {
		return string(runes)
	}
	return string(runes[:maxShown-1]) + "…"
}
