package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/cases"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/internal/textview"
)

type policyCommand struct {
	Check   policyCheckCommand   `cmd:"" help:"Check a policy file, and show what its allow rules cover."`
	Explain policyExplainCommand `cmd:"" help:"Show how a policy judges one call or its result, and why."`
	Test    policyTestCommand    `cmd:"" help:"Judge files of cases; fail if a verdict is not the expected one."`
	Replay  policyReplayCommand  `cmd:"" help:"Judge recorded calls by a new policy and show what would have changed."`
	Learn   policyLearnCommand   `cmd:"" help:"Propose rules from the decisions of people, as a diff of a policy file."`
	Init    policyInitCommand    `cmd:"" help:"Write a policy to start from."`
	Show    policyShowCommand    `cmd:"" help:"Print the whole policy that is in force, with the rules that a file extends."`
	Diff    policyDiffCommand    `cmd:"" help:"Show what the newest starter changes, compared with a policy file."`
	Import  policyImportCommand  `cmd:"" help:"Print a policy with the permissions in the settings of an agent."`
}

// loadPolicy reads a policy file.
func loadPolicy(file string) (*policy.Policy, error) {
	rules, err := policy.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; name the file that holds it, or write one with `heldcall policy init`", err)
	}
	return rules, err
}

type policyCheckCommand struct {
	File string `arg:"" default:"policy.yaml" help:"The policy file (policy.yaml)."`
}

// Run checks a policy file, and prints what its allow patterns cover. Warnings go to standard error.
func (c *policyCheckCommand) Run(s *streams) error {
	rules, err := loadPolicy(c.File)
	if err != nil {
		return err
	}
	checks := rules.CheckPatterns()
	if err := textview.Patterns(s.out, checks); err != nil {
		return err
	}
	for _, warning := range rules.Warnings() {
		fmt.Fprintf(s.err, "warning: %s\n", sanitize.Line(warning))
	}
	if err := coveringNothing(checks); err != nil {
		return err
	}
	if extends := rules.Extends().Version.Name; extends != "" {
		fmt.Fprintf(s.out, "with the rules of %s: see heldcall policy show %s\n", extends, sanitize.Line(c.File))
	}
	_, err = fmt.Fprintf(s.out, "%s: ok\n", sanitize.Line(c.File))
	return err
}

// coveringNothing returns an error that names the patterns that cover nothing, or nil.
func coveringNothing(checks []policy.PatternCheck) error {
	var problems []error
	for _, check := range checks {
		if check.Nothing != "" {
			problems = append(problems, fmt.Errorf("%s: %s %s", check.Where, check.Pattern, check.Nothing))
		}
	}
	return errors.Join(problems...)
}

// agentPolicy has the flags for a policy file and for the folder of the agent whose calls it judges.
type agentPolicy struct {
	Policy  string `placeholder:"FILE" default:"policy.yaml" help:"The policy file (policy.yaml)."`
	Workdir string `placeholder:"DIR" help:"The agent's folder, from which relative paths of calls count, and whose files are looked at. Without it, they are uncertain."`
}

func (p *agentPolicy) load() (*policy.Policy, error) {
	rules, err := loadPolicy(p.Policy)
	if err != nil || p.Workdir == "" {
		return rules, err
	}
	folder, err := filepath.Abs(p.Workdir)
	if err != nil {
		return nil, fmt.Errorf("find the folder of --workdir: %w", err)
	}
	return rules.In(rules.Workspace().Of(workspace.Agent{Folder: folder, Seen: isFolder(folder)})), nil
}

// isFolder reports whether a folder is there, so that it can be looked at.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

type policyExplainCommand struct {
	agentPolicy
	Tool    string `required:"" help:"Name of the tool."`
	Args    string `placeholder:"JSON" xor:"arguments" help:"Arguments, as the model would write them."`
	Text    string `xor:"arguments" help:"The input of a tool that takes free text."`
	Tenant  string `help:"Tenant of the principal."`
	User    string `help:"User of the principal."`
	Agent   string `help:"Agent of the principal."`
	Session string `help:"Session of the call."`
	Model   string `help:"Model that made the call."`
	Tainted bool   `help:"The run is tainted: it has read a result of the policy's taint list."`

	Rules  bool    `help:"List all patterns, also those that do not apply, each with the reason."`
	Result *string `placeholder:"TEXT" help:"Judge this result of the call, and not the call."`
	outputFlag
}

// Run explains a verdict.
func (c *policyExplainCommand) Run(s *streams) error {
	rules, err := c.load()
	if err != nil {
		return err
	}
	call := policy.Call{
		Tool: c.Tool, Arguments: cmp.Or(c.Text, c.Args), FreeText: c.Text != "",
		Principal: approvals.Principal{Tenant: c.Tenant, User: c.User, Agent: c.Agent}, Session: c.Session, Tainted: c.Tainted, Model: c.Model,
	}
	var e policy.Explanation
	if c.Result != nil {
		e = rules.ExplainResult(policy.Result{Call: call, Known: true, Texts: []string{*c.Result}})
	} else {
		from := judge.Origin{Principal: call.Principal, Session: call.Session, Tainted: call.Tainted, Model: call.Model}
		e = judge.Explain(rules, from, intercept.Call{Name: call.Tool, Arguments: call.Arguments, FreeText: call.FreeText})
	}
	if c.json() {
		return textview.JSON(s.out, textview.ExplanationJSON(e))
	}
	_, err = io.WriteString(s.out, textview.Explanation(e, c.Rules))
	return err
}

type policyTestCommand struct {
	Policy  string   `placeholder:"FILE" help:"The policy file, in place of the one that the cases name."`
	Workdir string   `placeholder:"DIR" help:"The agent's folder of cases that name none. Its files are looked at."`
	Files   []string `arg:"" name:"cases" help:"Files of cases."`
}

// Run judges cases. It fails if a verdict is not the expected one.
func (c *policyTestCommand) Run(s *streams) error {
	failed, judged := 0, 0
	folder := ""
	if c.Workdir != "" {
		var err error
		if folder, err = filepath.Abs(c.Workdir); err != nil {
			return fmt.Errorf("find the folder of --workdir: %w", err)
		}
	}
	for _, file := range c.Files {
		all, err := cases.Load(file)
		if err != nil {
			return err
		}
		from := cmp.Or(c.Policy, all.Policy)
		if from == "" {
			return usagef("%s names no policy: set policy in it, or give --policy", file)
		}
		rules, err := loadPolicy(from)
		if err != nil {
			return err
		}
		for _, example := range all.Cases {
			judged++
			example.Folder = cmp.Or(example.Folder, folder)
			example.Seen = folder != "" && isFolder(example.Folder)
			if problem := example.Check(rules); problem != "" {
				failed++
				fmt.Fprintf(s.out, "%s: %s %s: %s\n", sanitize.Line(example.Where), sanitize.Line(example.Call.Tool), sanitize.Line(example.Call.Arguments), sanitize.Line(problem))
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cases failed", failed, judged)
	}
	_, err := fmt.Fprintf(s.out, "%s: ok\n", humanize.Count(judged, "case"))
	return err
}
