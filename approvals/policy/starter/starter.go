// Package starter writes policies to start from.
package starter

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// Options are what a policy trusts.
type Options struct {
	Command   string   // that makes it, for its first lines
	File      string   // where it is written, "": unknown
	Workspace []string // folders; none: edits and checks are asked about
	Agents    []string // that have a profile; none: all
	Business  bool     // look-ups by tools of one's own pass
	AskChecks bool     // the project's own checks are asked about
}

//go:embed starter.yaml.tmpl
var text string

var page = template.Must(template.New("starter").Funcs(template.FuncMap{"list": list}).Parse(text))

// Policy returns the text of a policy. It returns an error for a folder that can be no workspace and
// for an agent without a profile.
func Policy(o Options) ([]byte, error) {
	profiles := call.KnownProfiles()
	for _, agent := range o.Agents {
		if !slices.Contains(profiles.Agents(), agent) {
			return nil, fmt.Errorf("%q is not an agent with a profile: write %s", agent, strings.Join(profiles.Agents(), ", "))
		}
	}
	if len(o.Agents) > 0 {
		profiles = profiles.Of(o.Agents)
	}
	folders, err := o.folders()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{
		"Command": o.Command, "Workspace": folders, "Agents": o.Agents, "Business": o.Business, "Checks": !o.AskChecks,
		"Writers": writers(profiles, "(./**)"), "ScratchWriters": writers(profiles, "(/**)"), "Taint": fetchers(profiles), "Cluster": cluster(), "Helpers": helpers(profiles, "(*)"), "CareSkills": careSkills(profiles),
		"Codex": len(folders) > 0 && profiles.Find("exec_command") != nil,
	})
	return b.Bytes(), err
}

// folders returns the folders of the workspace, relative to the file where they are below its
// folder.
func (o *Options) folders() ([]string, error) {
	var found []string
	base, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the workspace: %w", err)
	}
	for _, text := range o.Workspace {
		folder, err := workspace.NewFolder(text, base)
		if err != nil {
			return nil, fmt.Errorf("the workspace: %w", err)
		}
		whole := folder.Path()
		if file, err := filepath.Abs(o.File); o.File != "" && err == nil {
			if relative, err := filepath.Rel(filepath.Dir(file), whole); err == nil && filepath.IsLocal(relative) {
				whole = relative
			}
		}
		found = append(found, filepath.ToSlash(whole))
	}
	return found, nil
}

// clusterKinds are kinds of objects in a cluster that hold neither settings nor secrets, in the
// names that people use. The form of the output is part of the pattern: as YAML they show the
// environment of programs.
var clusterKinds = []string{"pods", "pod", "po", "deployments", "deployment", "deploy", "services", "service", "svc", "nodes", "events", "ingress", "jobs", "cronjobs", "statefulsets", "daemonsets", "replicasets", "namespaces", "ns", "hpa", "pvc"}

// cluster returns the patterns of commands that show what a cluster runs.
func cluster() []string {
	var found []string
	for _, kind := range clusterKinds {
		found = append(found, "shell(kubectl get "+kind+")", "shell(kubectl get "+kind+" -o wide)")
	}
	return append(found, "shell(kubectl logs *)", "shell(kubectl top *)", "shell(kubectl rollout status *)", "shell(kubectl version)", "shell(kubectl api-resources)")
}

// skills are tools that load a text of the user or of the project, which may have commands that run while it is loaded.
var skills = []string{"Skill", "skill", "activate_skill"}

// helpers returns a pattern with an argument for each tool of some profiles that loads a skill, or sends a message to another
// agent of the same program.
func helpers(p *call.Profiles, argument string) []string {
	return patterns(p, argument, func(t *call.Tool) bool {
		return slices.Contains(skills, t.Name) || t.Name == "SendMessage" || t.Name == "send_input"
	})
}

// careSkills returns quoted patterns of skills whose names tell that they act elsewhere.
func careSkills(p *call.Profiles) []string {
	var found []string
	for _, word := range strings.Fields("deploy release publish push send migrat") {
		for _, pattern := range patterns(p, "(*"+word+"*)", func(t *call.Tool) bool { return slices.Contains(skills, t.Name) }) {
			found = append(found, `"`+pattern+`"`)
		}
	}
	return found
}

// movers are the writers that also remove a file or replace another one.
var movers = []string{"delete", "move", "copy"}

// writers returns a pattern with an argument for each tool of some profiles that edits files.
func writers(p *call.Profiles, argument string) []string {
	return patterns(p, argument, func(t *call.Tool) bool {
		return t.Kind == call.Path && t.Risk != approvals.RiskLow &&
			!slices.ContainsFunc(movers, func(name string) bool { return strings.Contains(t.Name, name) })
	})
}

// fetchers returns a pattern for each tool of some profiles that reads the web, and for others that
// read texts of strangers.
func fetchers(p *call.Profiles) []string {
	found := patterns(p, "", func(t *call.Tool) bool {
		return !strings.HasPrefix(t.Name, "mcp__") && (t.Kind == call.URL || (t.Kind == call.Plain && strings.Contains(strings.ToLower(t.Name), "web")))
	})
	return append(found, "shell(curl:*)", "shell(wget:*)", "shell(gh:*)", "mcp__*")
}

func patterns(p *call.Profiles, argument string, like func(*call.Tool) bool) []string {
	var found []string
	for _, t := range p.All() {
		if like(t) {
			found = append(found, t.Name+argument)
		}
	}
	slices.Sort(found)
	return found
}

// list returns texts as the items of a YAML list. JSON strings are YAML strings.
func list(texts []string) (string, error) {
	var quoted []string
	for _, text := range texts {
		one, err := json.Marshal(text)
		if err != nil {
			return "", fmt.Errorf("write %q: %w", text, err)
		}
		quoted = append(quoted, string(one))
	}
	return strings.Join(quoted, ", "), nil
}
