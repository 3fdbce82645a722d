package main

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/intercept"
)

// checked is a call of the corpus and its card.
type checked struct {
	labelled
	card     card
	findings []finding
}

// result of a card: wrong if it states one false thing, vague if it states less than the label.
func (c *checked) isWrong() bool {
	return slices.ContainsFunc(c.findings, func(f finding) bool { return slices.Contains(falseClasses, f.class) })
}

func (c *checked) isVague() bool { return len(c.findings) > 0 && !c.isWrong() }

// checkEffects makes the card of each call of a corpus, and compares it with the label.
func checkEffects(corpus []labelled) ([]checked, error) {
	rules, err := rulesOfCards()
	if err != nil {
		return nil, err
	}
	var list []checked
	for _, c := range corpus {
		made := cardOf(rules, c)
		list = append(list, checked{c, made, c.compare(made)})
	}
	return list, nil
}

// rulesOfCards ask about every call, and state nothing about a tool, so that all of a card comes from the
// effects of its call.
func rulesOfCards() (*judge.Rules, error) {
	p, err := policy.Parse("policy.yaml", []byte("workspace: ["+cardWorkspace+"]\ndefault: ask\nrules:\n  - ask: ['*']\n"))
	if err != nil {
		return nil, fmt.Errorf("policy of the cards: %w", err)
	}
	return judge.NewRules(p.In(p.Workspace().Of(workspace.Agent{Folder: cardWorkspace}))), nil
}

func cardOf(rules *judge.Rules, c labelled) card {
	call := intercept.Call{Name: c.Tool, Arguments: c.Arguments}
	if c.Run != "" {
		call = intercept.Call{Name: "Bash", Arguments: bashArguments(c.Run)}
	}
	from := judge.Origin{Principal: approvals.Principal{Tenant: "default", User: "maya", Agent: "agent"}, Session: "s", Run: "s"}
	v := rules.Verdict(from, call)
	return card{v.Effects, v.Risk}
}

// effectCounts are how many cards are right, vague and wrong.
type effectCounts struct{ calls, vague, wrong int }

func countEffects(list []checked, chosen func(*checked) bool) effectCounts {
	var n effectCounts
	for i := range list {
		c := &list[i]
		switch {
		case !chosen(c):
			continue
		case c.isWrong():
			n.wrong++
		case c.isVague():
			n.vague++
		}
		n.calls++
	}
	return n
}

// printEffects prints the counts by program, and each card that is vague or wrong if all are wanted.
func printEffects(w io.Writer, list []checked, each bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nEFFECTS ON CARDS\tCALLS\tRIGHT\tVAGUE\tWRONG")
	row := func(name string, n effectCounts) {
		fmt.Fprintf(table, "%s\t%d\t%d (%.0f %%)\t%d (%.0f %%)\t%d (%.0f %%)\n", name, n.calls, n.calls-n.vague-n.wrong, percent(n.calls-n.vague-n.wrong, n.calls),
			n.vague, percent(n.vague, n.calls), n.wrong, percent(n.wrong, n.calls))
	}
	row("all", countEffects(list, func(*checked) bool { return true }))
	row("shell commands", countEffects(list, func(c *checked) bool { return c.Run != "" }))
	row("other tools", countEffects(list, func(c *checked) bool { return c.Tool != "" }))
	var groups []string
	for _, c := range list {
		if !slices.Contains(groups, c.group) {
			groups = append(groups, c.group)
		}
	}
	for _, group := range groups {
		row("  "+group, countEffects(list, func(c *checked) bool { return c.group == group }))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !each {
		return nil
	}
	printFindings(w, list)
	return printClasses(w, list)
}

// printFindings lists each card that is wrong or vague.
func printFindings(w io.Writer, list []checked) {
	for _, what := range []struct {
		title string
		is    func(*checked) bool
	}{{"WRONG", (*checked).isWrong}, {"VAGUE", (*checked).isVague}} {
		fmt.Fprintln(w, "\n"+what.title+" CARDS")
		for i := range list {
			c := &list[i]
			if !what.is(c) {
				continue
			}
			fmt.Fprintf(w, "%s%s\n    card:  %s\n    label: %s\n", shorten(c.Run), strings.TrimSpace(c.Tool+" "+shorten(c.Arguments)), c.card.text(), c.Label)
			for _, f := range c.findings {
				fmt.Fprintf(w, "    - %s: %s\n", f.class, f.about)
			}
		}
	}
}

// printClasses counts the cards with each kind of mistake.
func printClasses(w io.Writer, list []checked) error {
	count := map[class]int{}
	for _, c := range list {
		classes := map[class]bool{}
		for _, f := range c.findings {
			classes[f.class] = true
		}
		for class := range classes {
			count[class]++
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nWHAT IS WRONG OR VAGUE\tCARDS")
	for _, classes := range [][]class{falseClasses, vagueClasses} {
		order := slices.SortedStableFunc(slices.Values(classes), func(a, b class) int { return cmp.Compare(count[b], count[a]) })
		for _, class := range order {
			fmt.Fprintf(table, "%s\t%d\n", class, count[class])
		}
	}
	return table.Flush()
}

// String returns the label as the files have it.
func (l cardLabel) String() string {
	list := func(s statements) string {
		var parts []string
		for _, kinds := range slices.Sorted(maps.Keys(s)) {
			parts = append(parts, strings.TrimSpace(kinds+" "+strings.Join(s[kinds], ", ")))
		}
		return strings.Join(parts, "; ")
	}
	return fmt.Sprintf("%s risk: %s (reversible: %s)", l.Risk, list(l.Does), cmp.Or(l.Reversible, "changes nothing"))
}

// ownEffects returns the corpus of this package.
func ownEffects() ([]labelled, error) {
	files, err := fs.Sub(effectFiles, "effects")
	if err != nil {
		return nil, err
	}
	return readEffects(files)
}
