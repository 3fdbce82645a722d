package starter_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/starter"
)

// sums are the SHA-256 of the texts of all versions. A sum here never changes: policies extend the texts.
var sums = map[string]string{
	"starter/1": "24826db3c627c4dfd4c1ba4fa1d43b706ed1d2924b4c07c437f5d37b958c8182",
}

// TestVersionsNeverChange: the text of each version is the one that was frozen.
func TestVersionsNeverChange(t *testing.T) {
	for _, version := range starter.Versions() {
		sum := sha256.Sum256(version.Text)
		if got := hex.EncodeToString(sum[:]); got != sums[version.Name] {
			t.Errorf("the text of %s has the SHA-256 %s, want %q: policies extend this version, so write changes into a new one", version.Name, got, sums[version.Name])
		}
	}
	if got := len(starter.Versions()); got != len(sums) {
		t.Errorf("%d versions, want %d", got, len(sums))
	}
}

// TestNewestVersion: the newest version is what the template and the profiles of agents give today. A change of
// either is a new version, which -update writes.
func TestNewestVersion(t *testing.T) {
	versions := starter.Versions()
	newest := versions[len(versions)-1]
	difference := cmp.Diff(string(newest.Text), generate(t, newest.Name))
	switch next := len(versions) + 1; {
	case difference == "":
	case *update:
		file := fmt.Sprintf("versions/%d.yaml", next)
		if err := os.WriteFile(file, []byte(generate(t, fmt.Sprintf("starter/%d", next))), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s is written: add its sum to sums", file)
	default:
		t.Errorf("%s is not what testdata/newest.yaml.tmpl and the profiles give; `go test ./approvals/policy/starter -run NewestVersion -update` writes starter/%d (-version +template):\n%s", newest.Name, next, difference)
	}
}

// generate returns the text of a version by the template and the profiles of today.
func generate(t *testing.T, name string) string {
	t.Helper()
	page, err := template.New("newest.yaml.tmpl").Funcs(template.FuncMap{"list": list}).ParseFiles("testdata/newest.yaml.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := page.Execute(&text, map[string]any{
		"Name": name, "Taint": fetchers(), "Care": careful(), "Helpers": helpers(), "Cluster": cluster(),
		"Writers": writers("(./**)"), "ScratchWriters": writers("(/**)"),
	}); err != nil {
		t.Fatal(err)
	}
	return text.String()
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

// helpers returns a pattern for each tool that loads a skill, or sends a message to another agent of the same program.
func helpers() []string {
	return patterns("(*)", func(t *call.Tool) bool {
		return slices.Contains(skills, t.Name) || t.Name == "SendMessage" || t.Name == "send_input"
	})
}

// careful returns patterns of what acts elsewhere or with other rights, also of skills whose names tell so.
func careful() []string {
	found := []string{"shell(git push:*)", "shell(npm publish:*)", "shell(ssh *)", "shell(sudo *)"}
	for _, word := range strings.Fields("deploy release publish push send migrat") {
		found = append(found, patterns("(*"+word+"*)", func(t *call.Tool) bool { return slices.Contains(skills, t.Name) })...)
	}
	return found
}

// movers are the writers that also remove a file or replace another one.
var movers = []string{"delete", "move", "copy"}

// writers returns a pattern with an argument for each tool that edits files.
func writers(argument string) []string {
	return patterns(argument, func(t *call.Tool) bool {
		return t.Kind == call.Path && t.Risk != approvals.RiskLow &&
			!slices.ContainsFunc(movers, func(name string) bool { return strings.Contains(t.Name, name) })
	})
}

// fetchers returns a pattern for each tool that reads the web, and for others that read texts of strangers.
func fetchers() []string {
	found := patterns("", func(t *call.Tool) bool {
		return !strings.HasPrefix(t.Name, "mcp__") && (t.Kind == call.URL || (t.Kind == call.Plain && strings.Contains(strings.ToLower(t.Name), "web")))
	})
	return append(found, "shell(curl:*)", "shell(wget:*)", "shell(gh:*)", "mcp__*")
}

func patterns(argument string, like func(*call.Tool) bool) []string {
	var found []string
	for _, t := range call.KnownProfiles().All() {
		if like(t) {
			found = append(found, t.Name+argument)
		}
	}
	slices.Sort(found)
	return found
}

// list returns texts as a YAML list, in lines that people can read. JSON strings are YAML strings.
func list(texts []string) (string, error) {
	const width = 140
	text, column := "[", 0
	for i, one := range texts {
		quoted, err := json.Marshal(one)
		if err != nil {
			return "", fmt.Errorf("write %q: %w", one, err)
		}
		if column+len(quoted) > width {
			text, column = text+"\n          ", 0
		}
		text, column = text+string(quoted), column+len(quoted)+2
		if i < len(texts)-1 {
			text += ", "
		}
	}
	return strings.ReplaceAll(text, ", \n", ",\n") + "]", nil
}
