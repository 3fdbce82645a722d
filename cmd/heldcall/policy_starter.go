package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/rule"
	"github.com/heldcall/heldcall/approvals/policy/starter"
	"github.com/heldcall/heldcall/internal/sanitize"
)

type policyInitCommand struct {
	File      string   `arg:"" default:"policy.yaml" help:"File to write (policy.yaml). It must not exist; - writes to the output."`
	Workspace []string `placeholder:"DIR" help:"Folder in which agents may read, edit and run the project's checks unasked."`
	For       []string `placeholder:"AGENT" help:"Agents whose tools are known, such as claude-code,codex. All if omitted."`
	Tools     string   `enum:",business" default:"" placeholder:"business" help:"Let tools named get_*, list_*, search_* and find_* pass."`
	Checks    string   `enum:"allow,ask" default:"allow" placeholder:"allow|ask" help:"Whether the project's own checks pass, or people are asked about them. Default: allow."`
}

// Run writes a policy, and what it trusts.
func (c *policyInitCommand) Run(s *streams) error {
	o := starter.Options{Command: "heldcall policy init", File: c.File, Workspace: c.Workspace, Agents: c.For, Business: c.Tools != "", AskChecks: c.Checks == "ask"}
	if c.File == "-" {
		o.File = ""
	}
	text, err := starter.Policy(o)
	if err != nil {
		return err
	}
	if _, err := policy.Parse(cmp.Or(o.File, "policy.yaml"), text); err != nil { // an agent without a profile
		return err
	}
	if c.File == "-" {
		_, err = s.out.Write(text)
		return err
	}
	if err := create(c.File, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s: written\n%s", sanitize.Line(c.File), sanitize.Lines(starter.Trust(o)))
	return err
}

// create writes a policy to a file that must not be there.
func create(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: name another file, or print the policy to start from with `heldcall policy init -`", file)
	}
	if err != nil {
		return fmt.Errorf("write a policy to start from: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// readPolicy returns the text of a policy file and its rules.
func readPolicy(file string) ([]byte, *policy.Policy, error) {
	rules, err := loadPolicy(file)
	if err != nil {
		return nil, nil, err
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read the policy: %w", err)
	}
	return src, rules, nil
}

type policyShowCommand struct {
	File string `arg:"" default:"policy.yaml" help:"The policy file (policy.yaml), or a version of the starter, such as starter/1."`
}

// Run prints the whole policy.
func (c *policyShowCommand) Run(s *streams) error {
	if version, err := starter.Find(c.File); err == nil {
		_, err = s.out.Write(version.Text)
		return err
	}
	src, _, err := readPolicy(c.File)
	if err != nil {
		return err
	}
	text, err := rule.Show(c.File, src)
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.out, sanitize.Lines(string(text)))
	return err
}

type policyDiffCommand struct {
	File string `arg:"" default:"policy.yaml" help:"The policy file (policy.yaml)."`
}

// Run shows the rules that only the newest starter has, and those that it does not have.
func (c *policyDiffCommand) Run(s *streams) error {
	src, rules, err := readPolicy(c.File)
	if err != nil {
		return err
	}
	file, extends := sanitize.Line(c.File), rules.Extends()
	newest, err := starter.Find(starter.Newest())
	if err != nil {
		return err
	}
	version := extends.Version
	heading := fmt.Sprintf("%s extends no starter. Compared with %s, which is the newest:\n", file, newest.Name)
	switch version.Name {
	case newest.Name:
		_, err := fmt.Fprintf(s.out, "%s extends %s, which is the newest.\n", file, newest.Name)
		return err
	case "":
	default:
		src = version.For(extends.Parts)
		heading = fmt.Sprintf("%s extends %s. To change to %s, write extends: %s. It changes:\n", file, version.Name, newest.Name, newest.Name)
	}
	changes, err := rule.Changes(src, newest.For(extends.Parts))
	if err != nil {
		return err
	}
	if _, err := io.WriteString(s.out, heading); err != nil {
		return err
	}
	for _, change := range changes {
		if _, err := fmt.Fprintln(s.out, sanitize.Line(change)); err != nil {
			return err
		}
	}
	return nil
}
