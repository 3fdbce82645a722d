package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy/call"
	"github.com/heldcall/heldcall/approvals/policy/match"
)

// decoyPolicy is an example as docs have it, with a tool of the user's own.
const decoyPolicy = `default: ask
tools:
  bash:      {resource: command, as: shell, risk: high}
  read_file: {resource: path, as: path}
  mine:      {resource: run.script, as: shell, args: [note]}
  low:       {resource: path, as: path, risk: low}
  swapped:   {resource: target, as: path}
  write_file: {resource: target, as: path, replace: true}
rules:
  - deny: ["bash(rm -rf *)", "read_file(./secrets/**)", "mine(rm *)", "swapped(./secrets/**)"]
  - allow: ["bash(git status)", "read_file(./src/**)", "mine(ls *)", "swapped(./src/**)", "write_file(./src/**)"]
`

// TestDecoyNames is finding 7 for names of members, which the model writes too.
func TestDecoyNames(t *testing.T) {
	p := mustParse(t, decoyPolicy)
	for args, want := range map[string]Action{
		`{"path":"src/a","files":{"/etc/shadow":true}}`:     Ask,
		`{"path":"src/a","x":[{"y":{".env":1}}]}`:           Ask,
		`{"path":"src/a","x":{"secrets/a":null}}`:           Ask,
		`{"path":"src/a","/etc/shadow":1}`:                  Ask,
		`{"path":"src/a","options":{"max_lines":3,"a":{}}}`: Allow,
		`{"path":"src/a","dry-run":true}`:                   Allow,
	} {
		if v := p.Judge(Call{Tool: "read_file", Arguments: args}); v.Action != want {
			t.Errorf("%s: %s by %s (%s), want %s", args, v.Action, v.Rule, v.Reason, want)
		}
	}
}

// TestDecoyArguments is finding 7: an allow pattern with an argument covers no call
// that has a text in an argument which nothing is known of, and a deny pattern that
// matches such a text asks.
func TestDecoyArguments(t *testing.T) {
	p := mustParse(t, decoyPolicy)
	f := func(tool, args string, want Action, reason string) {
		t.Helper()
		v := p.Judge(Call{Tool: tool, Arguments: args})
		if v.Action != want || !strings.Contains(v.Reason, reason) {
			t.Errorf("%s %s: %s by %s (%s), want %s (%s)", tool, args, v.Action, v.Rule, v.Reason, want, reason)
		}
		e := p.Explain(Call{Tool: tool, Arguments: args})
		if e.Verdict.Action != v.Action || (want == Ask && e.Doubt == "" && v.Reason == reason) {
			t.Errorf("%s %s: explained as %s, %q", tool, args, e.Verdict.Action, e.Doubt)
		}
	}
	const unknown = "which is not known for this tool"
	f("read_file", `{"path":"src/a"}`, Allow, "")
	f("read_file", `{"path":"src/a","offset":5}`, Allow, "")
	f("read_file", `{"path":"src/a","explanation":"why"}`, Allow, "")
	f("read_file", `{"path":"src/a","file_path":"src/b"}`, Allow, "") // the entry adds to the profile
	f("read_file", `{"path":"src/a","file_path":"/etc/shadow"}`, Ask, "secrets")
	f("read_file", `{"path":"src/a","absolute_path":"/opt/x"}`, Ask, "")
	f("read_file", `{"path":"src/a","target_file":"./secrets/x"}`, Deny, "")
	f("read_file", `{"path":"src/a","file":"/opt/x"}`, Ask, unknown)
	f("read_file", `{"path":"src/a","deep":[{"n":1,"file":["/opt/x"]}]}`, Ask, unknown)
	f("bash", `{"command":"git status"}`, Allow, "")
	f("bash", `{"command":"git status","description":"rm -rf x"}`, Allow, "")
	f("bash", `{"command":"git status","cmd":"rm -rf /"}`, Deny, "")
	f("bash", `{"command":"git status","env":{"LD_PRELOAD":"/tmp/x.so"}}`, Ask, unknown)
	f("bash", `{"command":"git status","workdir":"/tmp/evil"}`, Ask, "another folder")
	f("bash", `{"command":"git status","workdir":"../evil"}`, Ask, "another folder")
	f("bash", `{"command":"git status","workdir":"."}`, Allow, "")
	f("mine", `{"run":{"script":"ls x"}}`, Allow, "")
	f("mine", `{"run":{"script":"ls x","n":1},"note":"rm x"}`, Allow, "")
	f("mine", `{"run":{"script":"ls x","also":"y"}}`, Ask, unknown)
	f("mine", `{"run":{"script":"ls x"},"n":1}`, Ask, unknown) // its arguments are listed
	f("swapped", `{"target":"src/a","n":1,"ok":true,"none":null}`, Allow, "")
	f("swapped", `{"target":"src/a","mode":"x"}`, Ask, unknown)
	f("write_file", `{"target":"src/a"}`, Allow, "")
	f("write_file", `{"target":"src/a","content":"x"}`, Ask, unknown) // replace: true
	f("write_file", `{"file_path":"src/a"}`, Ask, "")
	f("low", `{"path":"a"}`, Allow, "")
	f("low", `{"path":"a","file":"b"}`, Ask, "not all arguments")

	grant := approvals.Grant{ID: "g", Effect: approvals.GrantAllow, Scope: approvals.GrantUser, Patterns: []string{"read_file(lib/**)"}}
	c, err := CompileGrant(grant)
	if err != nil {
		t.Fatal(err)
	}
	p = p.With(NewGrants(c))
	f("read_file", `{"path":"lib/a"}`, Allow, "")
	f("read_file", `{"path":"lib/a","file":"/opt/x"}`, Ask, unknown)
}

// TestDeniedDecoys is finding 7: of a tool that is allowed by name, a text of an
// unknown argument that a deny pattern matches is asked about, not denied.
func TestDeniedDecoys(t *testing.T) {
	p := mustParse(t, `
tools: {mine: {resource: script, as: shell}, files: {resource: path, as: path}}
rules:
  - allow: [mine, files]
  - deny: ["mine(rm *)", "files(/etc/**)"]
`)
	f := func(tool, args string, want Action) {
		t.Helper()
		if v := p.Judge(Call{Tool: tool, Arguments: args}); v.Action != want {
			t.Errorf("%s %s: %s by %s (%s), want %s", tool, args, v.Action, v.Rule, v.Reason, want)
		}
	}
	f("mine", `{"script":"ls","note":"x"}`, Allow)
	f("mine", `{"script":"ls","note":["a",{"b":"sudo rm x"}]}`, Ask)
	f("mine", `{"script":"rm x","note":"x"}`, Deny)
	f("files", `{"path":"a","other":"/etc/x"}`, Ask)
	f("files", `{"path":"a","other":"/opt/x"}`, Allow)
	many := `{"path":"a","other":["b"` + strings.Repeat(`,"b"`, match.MaxReadings) + `]}`
	f("files", many, Ask)
}

// TestExponentNumbers is finding 4: a number that a program may read as another is
// covered by no rule and no grant, at any depth.
func TestExponentNumbers(t *testing.T) {
	p := mustParse(t, `
tools: {pay: {resource: to, args: [amount]}}
rules:
  - allow: ["transfer"]
    when: args.amount <= 10
  - allow: ["pay(ann)", "named"]
  - {allow: ["counted"], limit: {per_run: 5}}
`)
	f := func(tool, args string, want Action) {
		t.Helper()
		v := p.Judge(Call{Tool: tool, Arguments: args})
		if v.Action != want || (want == Ask && (!strings.Contains(v.Reason, "which programs read differently") || v.AllowRemember)) {
			t.Errorf("%s %s: %s by %s (%s) %q, want %s", tool, args, v.Action, v.Rule, v.Reason, v.Flags, want)
		}
		if e := p.Explain(Call{Tool: tool, Arguments: args}); e.Verdict.Action != want {
			t.Errorf("%s %s is explained as %s", tool, args, e.Verdict.Action)
		}
	}
	for _, number := range []string{"1", "0", "-0", "0.0", "10", "2.50", "0.1", "-7.25", "1.0", "0.30000000000000004"} {
		f("transfer", `{"amount":`+number+`}`, Allow)
		f("pay", `{"to":"ann","amount":[{"n":`+number+`}]}`, Allow)
	}
	f("pay", `{"to":"ann","amount":9007199254740992}`, Allow)
	for _, number := range []string{"9e-99", "1e05", "1000e-2", "1E2", "0e0", "1e400", "-1e-400", "9007199254740993", "0.10000000000000000555", "12345678901234567890", "0." + strings.Repeat("0", 400) + "1"} {
		f("transfer", `{"amount":`+number+`}`, Ask)
		f("pay", `{"to":"ann","amount":`+number+`}`, Ask)
		f("pay", `{"to":"ann","amount":[{"n":`+number+`}]}`, Ask)
		f("counted", `{"deep":{"n":[`+number+`]}}`, Ask)
		f("named", `{"deep":{"n":[`+number+`]}}`, Allow) // see allowsAny
	}
	if _, ok := p.allowsAny(&Call{Tool: "named"}); !ok {
		t.Error("the tool that is allowed by name is not")
	}
	if len(match.CheckArguments(`{"n":9e-99}`)) != 1 {
		t.Error("the arguments are not in doubt")
	}
}

// decoys are arguments that hostile calls add to harmless ones, with what agents'
// tools take them for.
var decoys = map[string]string{
	"file_path": "/opt/decoy", "absolute_path": "/opt/decoy", "target_file": "/opt/decoy", "filePath": "/opt/decoy", "file": "/opt/decoy",
	"cmd": "decoy --run", "script": "decoy --run", "command": "decoy --run", "workdir": "/tmp/decoy", "cwd": "/tmp/decoy", "env": "LD_PRELOAD=/tmp/decoy.so",
}

// decoyed are the arguments of a call with one more each, by its name, where the
// call does not have it.
func decoyed(args map[string]any) map[string]string {
	all := map[string]string{}
	for name, value := range decoys {
		if _, has := args[name]; has {
			continue
		}
		with := map[string]any{name: value}
		for k, v := range args {
			with[k] = v
		}
		text, err := json.Marshal(with)
		if err != nil {
			panic(err)
		}
		all[name] = string(text)
	}
	return all
}

// TestKnownToolsMindDecoys is finding 7: a rule with an argument for a built-in tool
// covers no call of it with a decoy.
func TestKnownToolsMindDecoys(t *testing.T) {
	judged := 0
	for _, known := range call.KnownProfiles().All() {
		if !known.Names.Literal() || len(known.Fields) == 0 || known.Patch {
			continue
		}
		argument, value := "src/ok", "src/ok"
		if known.Kind == call.URL {
			argument, value = "https://ok.example", "https://ok.example/x"
		}
		for _, entry := range []string{"", fmt.Sprintf("tools: {%s: {resource: %s, as: %s}}\n", known.Name, known.Fields[0][0], call.KindNames[known.Kind])} {
			p := mustParse(t, entry+fmt.Sprintf("rules: [{allow: ['%s(%s)']}]\n", known.Name, argument))
			args := map[string]any{known.Fields[0][0]: value}
			text, _ := json.Marshal(args)
			if v := p.Judge(Call{Tool: known.Name, Arguments: string(text)}); v.Action != Allow {
				t.Errorf("%s%s %s: %s (%s)", entry, known.Name, text, v.Action, v.Reason)
			}
			for name, decoy := range decoyed(args) {
				judged++
				if v := p.Judge(Call{Tool: known.Name, Arguments: decoy}); v.Action == Allow && !listsArgument(known, name) {
					t.Errorf("%s%s %s: allowed by %s", entry, known.Name, decoy, v.Rule)
				}
			}
		}
	}
	if judged < 500 {
		t.Errorf("only %d calls were judged", judged)
	}
}

// listsArgument reports whether a profile lists an argument as harmless.
func listsArgument(known *call.Tool, name string) bool {
	for _, arg := range known.Args {
		if arg == name {
			return true
		}
	}
	return false
}
