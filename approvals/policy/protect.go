package policy

import (
	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/approvals/policy/shell"

	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/heldcall/heldcall/approvals"
)

// protection is what a verdict names as the rule that protects files.
const protection = "built-in protection of heldcall's files"

// Protect is the policy with rules for files and folders that calls must not write to:
// a call of a tool for paths or patches that names one, or something in it, is denied
// unless the risk of the tool is low; a shell command that names one is asked about,
// and no grant lifts that. Relative paths of calls count from folder; it and the files
// are absolute. What writes to a file without its name is not found.
func (p *Policy) Protect(folder string, files ...string) *Policy {
	if len(files) == 0 {
		return p
	}
	notLow, err := newCondition(`risk != "low"`)
	if err != nil {
		panic("internal error: the condition of protected files: " + err.Error())
	}
	writes := &rule{reason: "The file is heldcall's own, and agents do not write to it.", kinds: []kind{asPath}, when: notLow}
	names := &rule{reason: "The command names a file of heldcall.", kinds: []kind{asShell}, names: namesOf(files)}
	names.risk = approvals.RiskCritical
	var deny []*pattern
	for _, file := range files {
		for _, form := range pathForms(folder, file) {
			for _, argument := range []string{form, form + "/**"} {
				if one, err := newPattern("*(" + argument + ")"); err == nil {
					one.rule, one.where = writes, protection
					deny = append(deny, one)
				}
			}
		}
	}
	protected := *p
	protected.deny = newIndex(slices.Concat(p.deny.all, deny))
	protected.ask = newIndex(append(slices.Clone(p.ask.all), &pattern{text: "*", where: protection, tool: match.NewGlob("*"), any: true, rule: names}))
	return &protected
}

// pathForms are the ways in which a call may write the path of a file: absolute,
// relative to the folder, and both where links lead.
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

// namesOf finds the names of files, without their folders, in a text.
func namesOf(files []string) *regexp.Regexp {
	var names []string
	for _, file := range files {
		names = append(names, regexp.QuoteMeta(filepath.Base(file)))
	}
	return regexp.MustCompile(`(?i)(?:^|[^\w.-])(?:` + strings.Join(names, "|") + `)(?:$|[^\w.-])`)
}

// concerns reports whether the rule is about tools with a resource of a kind.
func (r *rule) concerns(k kind) bool {
	return r == nil || len(r.kinds) == 0 || slices.Contains(r.kinds, k)
}

// namesAny reports whether the call names one of the files that the rule is about, as it
// is written or in a command with its quotes removed.
func (s *subject) namesAny(names *regexp.Regexp) match.Result {
	for i := range s.readings {
		if names.MatchString(s.readings[i].text) {
			return match.Yes
		}
	}
	for _, script := range s.scripts() {
		if slices.ContainsFunc(script.All, func(c *shell.Command) bool { return slices.ContainsFunc(c.Words, names.MatchString) }) {
			return match.Yes
		}
	}
	if s.unclear != "" {
		return match.Maybe
	}
	return match.No
}
