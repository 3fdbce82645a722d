// Package cases has the unit tests of policies for two users, the command heldcall policy test and the tests of the
// documents and examples: it reads files of calls with the verdicts that a policy is expected to return on them, and
// checks them.
package cases

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// File has the verdicts that a policy is expected to return on some calls. It looks like this:
//
//	policy: policy.yaml                    # beside this file
//	given: {tool: bash, field: command}    # of every case; field: where a text goes
//	cases:
//	  - {given: "ls -la", expect: allow}
//	  - {given: "ls; rm x", expect: deny, rule: "policy.yaml:12", why: a list is its commands}
//	  - given: {tool: transfer, args: {amount: 5000}, principal: {user: ann}}
//	    expect: ask
//	  - {given: {tool: read, args: {}, result: "ticket-7"}, expect: redact, reads: "[redacted]"}
//
// Given has tool, field, args (an object) or arguments (their exact text), free_text,
// principal, session, run, tainted, model, dialect, subagent and workdir (the agent's folder). With result, the text of the call's
// result is judged, and not the call.
type File struct {
	Policy string // file, as the cases' file names it, from that file's folder; "": none is named
	Cases  []Case
}

// Case is one call, or its result, and the expected verdict.
type Case struct {
	Where  string // file and line
	Call   policy.Call
	Result *string // of the call, if it is judged; else nil
	Folder string  // of the agent; "": not known
	Seen   bool    // heldcall looks at the files of the folder
	Expect policy.Action
	Reads  *string // what the model reads in place of a redacted result; nil: any
	Rule   string  // "": any
	Why    string
}

// Load reads a file of cases. It returns all mistakes as [strictyaml.Errors].
func Load(file string) (*File, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the cases: %w", err)
	}
	return parse(file, src)
}

func parse(file string, src []byte) (*File, error) {
	r := &caseReader{strictyaml.Reader{File: file}}
	all := &File{}
	root := r.Root(src)
	if root == nil && len(r.Errors) == 0 {
		r.Errors = append(r.Errors, &strictyaml.Error{File: file, Problem: "contains no cases"})
	}
	if root != nil {
		r.cases(root, all)
	}
	if len(r.Errors) > 0 {
		return nil, r.Errors
	}
	if all.Policy != "" && !filepath.IsAbs(all.Policy) {
		all.Policy = filepath.Join(filepath.Dir(file), all.Policy)
	}
	return all, nil
}

// Check returns how a policy's verdict differs from the expected one, or "".
func (c *Case) Check(p *policy.Policy) string {
	var action policy.Action
	var rule, reason string
	var reads []string
	call, p := c.Call, p.In(p.Workspace().Of(workspace.Agent{Folder: c.Folder, Seen: c.Seen}))
	call.Secrets = policy.SecretNames(call.Arguments, call.FreeText) // as if all were stored
	switch {
	case c.Result != nil:
		v := p.JudgeResult(policy.Result{Call: call, Known: true, Texts: []string{*c.Result}})
		action, rule, reason, reads = v.Said(), v.Rule, v.Reason, v.Redacted
	default:
		v := p.Explain(call).Verdict // that of a question too
		action, rule, reason = v.Action, v.Rule, v.Reason
	}
	switch {
	case action != c.Expect:
		return fmt.Sprintf("is %s by %s, want %s: %s", action, cmp.Or(rule, "no rule"), c.Expect, reason)
	case c.Rule != "" && rule != c.Rule:
		return fmt.Sprintf("is %s by %s, want %s", action, rule, c.Rule)
	case c.Reads != nil && !slices.Equal(reads, []string{*c.Reads}):
		return fmt.Sprintf("the model reads %q, want %q", strings.Join(reads, ""), *c.Reads)
	}
	return ""
}

type caseReader struct{ strictyaml.Reader }

// given is the call of a case as it is written.
type given struct {
	call   policy.Call
	field  string
	folder string
	result *string
}

func (r *caseReader) cases(root *yaml.Node, all *File) {
	var common given
	var list *yaml.Node
	r.Mapping(root, "", []strictyaml.Key{
		{Name: "policy", Read: r.SetText(&all.Policy)},
		{Name: "given", Read: func(n *yaml.Node, path string) { r.given(n, path, &common) }},
		{Name: "cases", Read: func(n *yaml.Node, _ string) { list = n }},
	})
	if list == nil {
		r.Fail(root, "cases", "is missing: write a list of cases")
		return
	}
	r.List(list, "cases", "cases", func(n *yaml.Node, path string) { all.Cases = append(all.Cases, r.oneCase(n, path, common)) })
}

func (r *caseReader) oneCase(n *yaml.Node, path string, one given) Case {
	c := Case{Where: r.Place(n.Line)}
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "given", Read: func(n *yaml.Node, path string) { r.given(n, path, &one) }},
		{Name: "expect", Read: call.SetOneOf(&r.Reader, &c.Expect, policy.Ask, policy.Allow, policy.Deny, policy.Redact)},
		{Name: "rule", Read: r.SetText(&c.Rule)},
		{Name: "reads", Read: r.setOptional(&c.Reads)},
		{Name: "why", Read: r.SetText(&c.Why)},
	})
	if n.Kind == yaml.MappingNode && c.Expect == "" && len(r.Errors) == 0 {
		r.Fail(n, path, "has no expect: write expect: allow, deny or ask")
	}
	c.Call, c.Result, c.Folder = one.call, one.result, one.folder
	if c.Result == nil && (c.Expect == policy.Redact || c.Reads != nil) {
		r.Fail(n, path, "expects something of a result, and given has none: write the text as result in given")
	}
	return c
}

// given reads a call: the text of its field, or all of it.
func (r *caseReader) given(n *yaml.Node, path string, one *given) {
	if n.Kind == yaml.ScalarNode {
		if n.ShortTag() != "!!str" {
			r.Fail(n, path, "must be a text or a mapping, and is %s: quote it", strictyaml.Describe(n))
		} else if one.field == "" {
			r.Fail(n, path, "is a text without a field: set field in given to the argument that it is")
		}
		one.call.Arguments = marshal(nested(strings.Split(one.field, "."), n.Value))
		return
	}
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "tool", Read: r.SetText(&one.call.Tool)},
		{Name: "field", Read: r.SetText(&one.field)},
		{Name: "args", Read: func(n *yaml.Node, path string) {
			var args map[string]any
			if err := n.Decode(&args); err != nil || n.Kind != yaml.MappingNode {
				r.Fail(n, path, "must be a mapping of arguments, and is %s", strictyaml.Describe(n))
			}
			one.call.Arguments = marshal(args)
		}},
		{Name: "arguments", Read: r.SetText(&one.call.Arguments)},
		{Name: "free_text", Read: r.SetBool(&one.call.FreeText)},
		{Name: "principal", Read: func(n *yaml.Node, path string) { one.call.Principal = r.principal(n, path) }},
		{Name: "session", Read: r.SetText(&one.call.Session)},
		{Name: "run", Read: r.SetText(&one.call.Run)},
		{Name: "tainted", Read: r.SetBool(&one.call.Tainted)},
		{Name: "workdir", Read: r.SetText(&one.folder)},
		{Name: "result", Read: r.setOptional(&one.result)},
		{Name: "model", Read: r.SetText(&one.call.Model)},
		{Name: "dialect", Read: r.SetText(&one.call.Dialect)},
		{Name: "subagent", Read: r.SetText(&one.call.Subagent)},
	})
}

// setOptional returns a function that reads a text, which may be empty.
func (r *caseReader) setOptional(to **string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
			r.Fail(n, path, "must be a text, and is %s: quote it", strictyaml.Describe(n))
		}
		*to = &n.Value
	}
}

func (r *caseReader) principal(n *yaml.Node, path string) (who approvals.Principal) {
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "tenant", Read: r.SetText(&who.Tenant)},
		{Name: "user", Read: r.SetText(&who.User)},
		{Name: "agent", Read: r.SetText(&who.Agent)},
	})
	return who
}

func nested(field []string, value any) any {
	for i := len(field) - 1; i >= 0; i-- {
		value = map[string]any{field[i]: value}
	}
	return value
}

func marshal(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
