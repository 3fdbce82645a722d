package policy

import (
	"strings"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
)

// sql marks tools whose resource is SQL.
const sql approvals.EffectKind = "sql"

// exceptions are the built-in tools whose effect differs from that of others with the same kind of
// resource and the same risk: see kindOf.
var exceptions = map[string]approvals.EffectKind{
	"delete_file":       approvals.EffectDestroy,
	"file_delete":       approvals.EffectDestroy,
	"requests_delete":   approvals.EffectDestroy,
	"SlashCommand":      approvals.EffectRun, // a prompt of the project, which may run commands
	"write_stdin":       approvals.EffectRun, // input of a program that runs
	"python":            approvals.EffectRun,
	"Python_REPL":       approvals.EffectRun,
	"python_repl":       approvals.EffectRun,
	"python_repl_ast":   approvals.EffectRun,
	"execute_code":      approvals.EffectRun,
	"sql_db_query":      sql,
	"WebSearch":         approvals.EffectFetch,
	"google_web_search": approvals.EffectFetch,
}

// edits are the built-in writers whose calls have the text before the change.
var edits = map[string]bool{
	"Edit": true, "MultiEdit": true, "edit": true, "multiedit": true, "replace": true, "replace_in_file": true, "apply_diff": true,
	"apply_patch": true, "patch": true, "edit_file": true, "mcp__filesystem__edit_file": true,
}

// views are the built-in editors that only read a file if the argument command is view.
var views = map[string]bool{"str_replace_editor": true, "str_replace_based_edit_tool": true}

// kindOf returns the kind of effect of a tool that is no shell, and whether the call has the text
// before its change. An entry of the policy has only the effects of the built-in tool that it extends.
func (f *effectFinder) kindOf() (kind approvals.EffectKind, reversible bool) {
	name := f.c.Call.Tool
	profile := f.c.Known.Profiles.Find(name)
	if profile == nil || !profile.Names.Literal() || f.c.Tool.Replace || f.c.Tool.Kind != profile.Kind {
		if f.c.Kind == call.URL {
			return approvals.EffectSend, false
		}
		return approvals.EffectUnknown, false
	}
	if effect, ok := exceptions[name]; ok {
		return effect, false
	}
	low := profile.Risk == approvals.RiskLow
	switch profile.Kind {
	case call.Path:
		if low || (views[name] && f.c.Args()["command"] == "view") {
			return approvals.EffectRead, true
		}
		return approvals.EffectWrite, edits[name]
	case call.URL:
		if profile.Risk == approvals.RiskMedium {
			return approvals.EffectFetch, true
		}
		return approvals.EffectSend, false
	case call.Plain:
		if low { // notes, plans, questions, output of a command that was judged
			return approvals.EffectNone, true
		}
	}
	return approvals.EffectUnknown, false
}

// tool adds the effects of a call of a tool that is no shell.
func (f *effectFinder) tool() {
	kind, reversible := f.kindOf()
	if kind == sql {
		f.sql(f.c.Text)
		return
	}
	for i := range f.c.Resources() {
		r := &f.c.Candidates[i]
		switch f.c.Kind {
		case call.Path:
			f.changes(kind, r.Text, f.c.Places.Of(r.Text), reversible)
			if r.Secret != "" {
				f.add(approvals.EffectSecret, r.Text, "", true)
			}
		case call.URL:
			f.add(kind, strings.TrimSpace(r.URL.Host+" "+r.Problem), "", reversible)
		default:
			f.plain(kind, reversible)
		}
	}
}

// plain adds the effect of a call whose resource is a text.
func (f *effectFinder) plain(kind approvals.EffectKind, reversible bool) {
	switch kind {
	case approvals.EffectNone:
		f.add(kind, "", "", reversible)
	case approvals.EffectFetch:
		f.add(kind, "the web", "", true)
	default:
		f.add(kind, f.c.Call.Tool, "", reversible)
	}
}
