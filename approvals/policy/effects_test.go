package policy

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/shell"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

type noRules struct{}

func (noRules) Compares(string, call.Kind) bool { return false }
func (noRules) AllowsAny(*call.Call) bool       { return false }
func (noRules) Patterns() int                   { return 0 }

// of returns the effects of a call in the workspace /app, which is also the agent's folder.
func of(t *testing.T, call call.Call) []approvals.Effect {
	t.Helper()
	return effectsOf(parsed(t, call))
}

func parsed(t *testing.T, c call.Call) *call.Reading {
	t.Helper()
	app, err := workspace.NewFolder("/app", "/")
	if err != nil {
		t.Fatal(err)
	}
	known := &call.Known{
		Profiles: call.KnownProfiles(), Programs: shell.KnownPrograms(),
		Workspace: workspace.New([]workspace.Folder{app}).Of(workspace.Agent{Folder: "/app"}),
	}
	return call.Read(c, known, noRules{})
}

func TestEffectsOfTools(t *testing.T) {
	for _, tt := range []struct{ tool, arguments, want string }{
		{"Read", `{"file_path":"/app/a.go"}`, "low: reads /app/a.go in the workspace"},
		{"Read", `{"file_path":"/etc/hosts"}`, "medium: reads /etc/hosts outside the workspace"},
		{"Read", `{"file_path":"/app/.env"}`, "high: may use secrets: /app/.env, reads /app/.env in the workspace"},
		{"Read", `{"file_path":"/app/a.go","mode":"x"}`, "medium: unknown effects: Read, reads /app/a.go in the workspace"},
		{"Read", `{"file_path":"/app/a\\b"}`, "low: reads /app/a\\b, /app/a/b in the workspace"},
		{"Edit", `{"file_path":"/app/a.go","old_string":"a","new_string":"b"}`, "medium: writes /app/a.go in the workspace"},
		{"Write", `{"file_path":"/app/a.go","content":""}`, "medium: writes /app/a.go in the workspace"},
		{"Write", `{"file_path":"/srv/a.go","content":""}`, "high: writes /srv/a.go outside the workspace"},
		{"Write", `{"file_path":"/app/.git/hooks/pre-commit","content":""}`, "high: runs other code: /app/.git/hooks/pre-commit, writes /app/.git/hooks/pre-commit in the workspace"},
		{"Write", `{"file_path":"/app/.GitHub/workflows/ci.yml","content":""}`, "high: runs other code: /app/.GitHub/workflows/ci.yml, writes /app/.GitHub/workflows/ci.yml in the workspace"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n@@\n-a\n+b\n*** Add File: ../b.go\n+x\n*** End Patch"}`, "high: writes ../b.go outside the workspace, writes a.go in the workspace"},
		{"delete_file", `{"path":"/app/a.go"}`, "high: destroys: /app/a.go in the workspace (cannot be undone)"},
		{"delete_file", `{"path":"/etc/hosts"}`, "critical: destroys: /etc/hosts outside the workspace (cannot be undone)"},
		{"str_replace_editor", `{"command":"view","path":"/app/a.go"}`, "low: reads /app/a.go in the workspace"},
		{"str_replace_editor", `{"command":"create","path":"/app/a.go","file_text":""}`, "medium: writes /app/a.go in the workspace"},
		{"Grep", `{"pattern":"x","path":"/app/src"}`, "low: reads /app/src in the workspace"},
		{"Grep", `{"pattern":"x","path":"/app/src","glob":"../**"}`, "medium: unknown effects: Grep, reads /app/src in the workspace"},
		{"WebFetch", `{"url":"https://example.com/a?b","prompt":"p"}`, "medium: fetches: example.com"},
		{"requests_post", `{"url":"https://example.com/a","data":{}}`, "high: sends: example.com (cannot be undone)"},
		{"WebSearch", `{"query":"go"}`, "medium: fetches: the web"},
		{"TodoWrite", `{"todos":[]}`, "low: changes nothing"},
		{"python", `{"code":"1"}`, "high: runs other code: python"},
		{"transfer", `{"amount":1}`, "medium: unknown effects: transfer"},
		{"mcp__bank__pay", `{"amount":1}`, "medium: unknown effects: mcp__bank__pay"},
		{"Read", `{"file_path":"/app/a","file_path":"/etc/shadow"}`, "medium: unknown effects: Read"},
		{"Read", `not JSON`, "medium: unknown effects: Read"},
	} {
		found := of(t, call.Call{Tool: tt.tool, Arguments: tt.arguments})
		if got := string(riskOfEffects(found, "")) + ": " + approvals.EffectsText(found); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.arguments, got, tt.want)
		}
	}
}

func TestEffectsWithoutAWorkspace(t *testing.T) {
	known := &call.Known{Profiles: call.KnownProfiles(), Programs: shell.KnownPrograms()}
	found := effectsOf(call.Read(call.Call{Tool: "Write", Arguments: `{"file_path":"a.go","content":""}`}, known, noRules{}))
	if got := approvals.EffectsText(found); got != "writes a.go" || contained(found) {
		t.Errorf("effects %q, contained %v; without a workspace no place is known", got, contained(found))
	}
}

func TestEffectsOfSecrets(t *testing.T) {
	found := of(t, call.Call{Tool: "Write", Arguments: `{"file_path":"/app/a","content":"secret://TOKEN"}`, Secrets: []string{"TOKEN"}})
	if got := approvals.EffectsText(found); got != "may use secrets: TOKEN, writes /app/a in the workspace" || contained(found) {
		t.Errorf("effects %q, contained %v", got, contained(found))
	}
}

func TestEffectsOfSQL(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT a, count(*) FROM t WHERE b = 'x; drop table y' GROUP BY a": "reads the database",
		"with x as (select 1) select * from x;":                            "reads the database",
		"select 1; DROP TABLE t":                                           "destroys: the database (cannot be undone), reads the database",
		"insert into t values (1)":                                         "writes the database",
		"update t set a = 1":                                               "destroys: the database (cannot be undone)",
		"grant all on t to bob":                                            "uses other rights: the database",
		"select pg_read_file('/etc/passwd')":                               "unknown effects: the database",
		`select "pg_read_file"('/etc/passwd')`:                             "unknown effects: the database",
		"select pg_catalog.lo_import ('/etc/passwd')":                      "unknown effects: the database",
		"select * into outfile '/x' from t":                                "unknown effects: the database",
		"with x as (delete from t returning *) select * from x":            "unknown effects: the database",
		"select 1 -- x":                                                    "unknown effects: sql_db_query",
		"select /*! sleep(1) */ 1":                                         "unknown effects: sql_db_query",
		`select '\'; drop table t; '`:                                      "unknown effects: sql_db_query",
		"call f()":                                                         "unknown effects: the database",
		"select é(1)":                                                      "unknown effects: the database",
		"":                                                                 "unknown effects",
		"select 'unterminated":                                             "unknown effects: sql_db_query",
	} {
		arguments, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		if got := approvals.EffectsText(of(t, call.Call{Tool: "sql_db_query", Arguments: string(arguments)})); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}

// A call with more effects than are kept is not known whole.
func TestEffectsAreBounded(t *testing.T) {
	arguments := `{"paths":["/app/0"` + strings.Repeat(`,"/app/`+strings.Repeat("x", 500)+`"`, 1)
	for i := range 100 {
		arguments += `,"/app/` + strings.Repeat("y", i+1) + `"`
	}
	found := of(t, call.Call{Tool: "read_multiple_files", Arguments: arguments + "]}"})
	if len(found) > 40 || contained(found) {
		t.Errorf("%d effects, contained %v", len(found), contained(found))
	}
	for _, e := range found {
		if len(e.Target) > 300 {
			t.Errorf("a target of %d bytes", len(e.Target))
		}
	}
}

// Only reads and writes in the workspace are contained.
func TestContained(t *testing.T) {
	in := approvals.Effect{Kind: approvals.EffectWrite, Place: approvals.PlaceWorkspace}
	if contained(nil) || !contained([]approvals.Effect{in, {Kind: approvals.EffectRead, Place: approvals.PlaceWorkspace}, {Kind: approvals.EffectNone}}) {
		t.Error("no effects are contained, or reads and writes in the workspace are not")
	}
	for _, kind := range []approvals.EffectKind{approvals.EffectDestroy, approvals.EffectFetch, approvals.EffectSend, approvals.EffectInstall, approvals.EffectCheck, approvals.EffectRun, approvals.EffectPrivilege, approvals.EffectSecret, approvals.EffectUnknown, "new", ""} {
		if contained([]approvals.Effect{in, {Kind: kind, Place: approvals.PlaceWorkspace}}) {
			t.Errorf("%q is contained", kind)
		}
	}
	for _, place := range []approvals.Place{approvals.PlaceOutside, ""} {
		if contained([]approvals.Effect{in, {Kind: approvals.EffectRead, Place: place}}) {
			t.Errorf("a read at %q is contained", place)
		}
	}
}
