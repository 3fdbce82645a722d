package rule

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
)

// Protection is the rule name of verdicts that protect files.
const Protection = "built-in protection of heldcall's files"

// Protect returns the set with rules for protected files: see Policy.Protect.
func (p *Set) Protect(folder string, files ...string) *Set {
	notLow, err := newCondition(`risk != "low"`)
	if err != nil {
		panic("internal error: the condition of protected files: " + err.Error())
	}
	writes := &Rule{Reason: "The file belongs to heldcall; agents may not write to it.", Kinds: []call.Kind{call.Path}, When: notLow}
	names := &Rule{Reason: "The command names a file that belongs to heldcall.", Kinds: []call.Kind{call.Shell}, Names: namesOf(files)}
	names.Risk = approvals.RiskCritical
	var deny []*Pattern
	for _, file := range files {
		for _, form := range pathForms(folder, file) {
			for _, argument := range []string{form, form + "/**"} {
				if one, err := NewPattern("*(" + argument + ")"); err == nil {
					one.Rule, one.Where = writes, Protection
					deny = append(deny, one)
				}
			}
		}
	}
	protected := *p
	protected.Deny = NewIndex(slices.Concat(p.Deny.All, deny))
	protected.Ask = NewIndex(append(slices.Clone(p.Ask.All), &Pattern{Text: "*", Where: Protection, Tool: match.NewGlob("*"), Any: true, Rule: names}))
	return &protected
}

// pathForms returns the ways to write the path of a file: absolute or relative to the folder, with
// and without symbolic links.
func pathForms(folder, file string) []string {
	forms := []string{file}
	for _, path := range []string{file, resolved(file)} {
		for _, from := range []string{folder, resolved(folder)} {
			forms = append(forms, path)
			if relative, err := filepath.Rel(from, path); err == nil {
				forms = append(forms, relative)
			}
		}
	}
	for i, form := range forms {
		forms[i] = filepath.ToSlash(form)
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// resolved is a path without symbolic links, as far as the file is there.
func resolved(path string) string {
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		return whole
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}

func namesOf(files []string) *regexp.Regexp {
	var names []string
	for _, file := range files {
		names = append(names, regexp.QuoteMeta(filepath.Base(file)))
	}
	return regexp.MustCompile(`(?i)(?:^|[^\w.-])(?:` + strings.Join(names, "|") + `)(?:$|[^\w.-])`)
}
