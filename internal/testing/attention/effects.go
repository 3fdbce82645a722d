package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
)

// labelled is a call of the corpus in effects, with the statements of a careful person about it.
type labelled struct {
	Run       string    `yaml:"run"`       // a shell command, or
	Tool      string    `yaml:"tool"`      // a tool
	Arguments string    `yaml:"arguments"` // of the tool, in JSON
	Label     cardLabel `yaml:"label"`
	group     string    // the program, or a kind of tools
}

// cardLabel lists the true statements about a call: see effects/RUBRIC.md.
type cardLabel struct {
	Does       statements     `yaml:"does"` // what a card must state
	May        statements     `yaml:"may"`  // true as well
	Reversible string         `yaml:"reversible"`
	Risk       approvals.Risk `yaml:"risk"`
}

// statements are the targets of effects by their kinds. A key may list kinds, and a target names,
// with | between them: each is as true as the others.
type statements map[string]targets

// targets is one text in the file, or a list.
type targets []string

// UnmarshalYAML reads either form.
func (t *targets) UnmarshalYAML(node *yaml.Node) error {
	var text string
	if node.Kind == yaml.ScalarNode {
		if err := node.Decode(&text); err != nil {
			return fmt.Errorf("read a target: %w", err)
		}
		*t = targets{text}
		return nil
	}
	var list []string
	if err := node.Decode(&list); err != nil {
		return fmt.Errorf("read a list of targets: %w", err)
	}
	*t = list
	return nil
}

// effectKinds are the kinds that a label may have.
var effectKinds = []approvals.EffectKind{
	approvals.EffectNone, approvals.EffectRead, approvals.EffectWrite, approvals.EffectDestroy, approvals.EffectFetch, approvals.EffectSend,
	approvals.EffectInstall, approvals.EffectCheck, approvals.EffectRun, approvals.EffectPrivilege, approvals.EffectSecret,
}

// risks are from low to high, so that their distance can be counted.
var risks = []approvals.Risk{approvals.RiskLow, approvals.RiskMedium, approvals.RiskHigh, approvals.RiskCritical}

// The values of reversible. It is left out where a call changes nothing.
const (
	reversible    = "yes"
	irreversible  = "no"
	reversibility = "unknown"
)

// readEffects reads every .yaml file of a folder: a mapping of programs to calls.
func readEffects(files fs.FS) ([]labelled, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var corpus []labelled
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read the labels %s: %w", name, err)
		}
		calls, err := parseEffects(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		corpus = append(corpus, calls...)
	}
	if len(corpus) == 0 {
		return nil, errors.New("no labels: the folder has no .yaml file with calls")
	}
	return corpus, nil
}

// parseEffects reads one file. The order of programs in it is kept.
func parseEffects(text []byte) ([]labelled, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read the labels: %w", err)
	}
	if len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the file is no mapping of programs to calls")
	}
	var corpus []labelled
	pairs := root.Content[0].Content
	for i := 0; i < len(pairs); i += 2 {
		for _, node := range pairs[i+1].Content {
			call := labelled{group: pairs[i].Value}
			if err := decodeStrictly(node, &call); err != nil {
				return nil, fmt.Errorf("line %d: %w", node.Line, err)
			}
			if err := call.check(); err != nil {
				return nil, fmt.Errorf("line %d: %w", node.Line, err)
			}
			corpus = append(corpus, call)
		}
	}
	return corpus, nil
}

// decodeStrictly decodes a call, and refuses keys that it does not have.
func decodeStrictly(node *yaml.Node, call *labelled) error {
	text, err := yaml.Marshal(node)
	if err != nil {
		return fmt.Errorf("read a call: %w", err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(call); err != nil {
		return fmt.Errorf("read a call: %w", err)
	}
	return nil
}

// check refuses a label that states too little, or has words without a meaning.
func (c *labelled) check() error {
	switch {
	case (c.Run == "") == (c.Tool == ""):
		return errors.New("a call is either run or tool")
	case c.Tool != "" && !json.Valid([]byte(c.Arguments)):
		return errors.New("the arguments are not JSON")
	case len(c.Label.Does) == 0:
		return errors.New("the label does not state what the call does")
	case !slices.Contains(risks, c.Label.Risk):
		return fmt.Errorf("the risk %q is not low, medium, high or critical", c.Label.Risk)
	}
	changes := false
	for _, list := range []statements{c.Label.Does, c.Label.May} {
		for kinds := range list {
			for kind := range strings.SplitSeq(kinds, "|") {
				if !slices.Contains(effectKinds, approvals.EffectKind(kind)) {
					return fmt.Errorf("%q is no kind of effect", kind)
				}
			}
		}
	}
	for kinds := range c.Label.Does {
		changes = changes || changesSomething(strings.Split(kinds, "|"))
	}
	hasValue := slices.Contains([]string{reversible, irreversible, reversibility}, c.Label.Reversible)
	if !hasValue && (changes || c.Label.Reversible != "") {
		return fmt.Errorf("reversible is %q; it is yes, no or unknown, and only calls that change nothing can be without it", c.Label.Reversible)
	}
	return nil
}

// changesSomething reports whether all of some kinds change something.
func changesSomething(kinds []string) bool {
	return !slices.ContainsFunc(kinds, func(kind string) bool { return !slices.Contains(changing, approvals.EffectKind(kind)) })
}

var changing = []approvals.EffectKind{approvals.EffectWrite, approvals.EffectDestroy, approvals.EffectSend, approvals.EffectInstall}
