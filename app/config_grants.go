package app

import (
	"cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// validateTemplates checks what reviewers are given to apply.
func (r *configValidator) validateTemplates(templates []GrantTemplate) {
	seen := map[string]int{}
	for i := range templates {
		t := &templates[i]
		key := strictyaml.Index("grants.templates", i)
		switch first, twice := seen[t.Name]; {
		case t.Name == "":
			r.Problem(key+".name", "is missing; reviewers apply the template by its name")
		case twice:
			r.Problem(key+".name", "%q is also the name of grants.templates[%d]; each template needs its own", t.Name, first)
		default:
			seen[t.Name] = i
		}
		t.Title = cmp.Or(t.Title, t.Name)
		t.Scope = cmp.Or(t.Scope, string(approvals.GrantScopes()[0]))
		if t.Action == "" {
			r.Problem(key+".action", "is missing; write allow or deny")
		}
		if len(t.Patterns) == 0 {
			r.Problem(key+".patterns", "is missing; write a list such as [\"bash(npm run *)\"]")
		}
		if t.Expires < 0 {
			r.Problem(key+".expires", "%s is less than nothing; write for example 8h", t.Expires)
		}
		if _, err := policy.CompileGrant(approvals.Grant{Effect: approvals.GrantEffect(t.Action), Patterns: t.Patterns}); err != nil {
			r.Problem(key+".patterns", "%s", err)
		}
	}
}

// templates are the templates as the domain has them.
func (c GrantsConfig) templates() []approvals.GrantTemplate {
	all := make([]approvals.GrantTemplate, 0, len(c.Templates))
	for _, t := range c.Templates {
		one := approvals.GrantTemplate{
			Name: t.Name, Title: t.Title, Effect: approvals.GrantEffect(t.Action), Patterns: t.Patterns,
			Scope: approvals.GrantScope(t.Scope), Lasts: t.Expires,
		}
		if t.Expires > 0 {
			one.Expires = t.Expires.String()
		}
		all = append(all, one)
	}
	return all
}
