package hooks

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// inputs are events as the clients write them, and the call in them.
var inputs = []struct {
	client, input string
	want          intercept.Call
	session       string
}{
	{"claude-code", `{"session_id":"s","transcript_path":"/t","cwd":"/w","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_1"}`, intercept.Call{ID: "toolu_1", Name: "Bash", Arguments: `{"command":"ls"}`}, "s"},
	{"codex", `{"session_id":"s","turn_id":"t","transcript_path":null,"cwd":"/w","hook_event_name":"PreToolUse","model":"m","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"call_1"}`, intercept.Call{ID: "call_1", Name: "Bash", Arguments: `{"command":"ls"}`}, "s"},
	{"codex", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n"},"tool_use_id":"call_1"}`, intercept.Call{ID: "call_1", Name: "apply_patch", Arguments: "*** Begin Patch\n", FreeText: true}, "s"},
	{"copilot", `{"sessionId":"s","timestamp":1,"cwd":"/w","toolName":"bash","toolArgs":{"command":"ls"}}`, intercept.Call{Name: "bash", Arguments: `{"command":"ls"}`}, "s"},
	{"copilot", `{"sessionId":"s","timestamp":1,"cwd":"/w","toolName":"bash","toolArgs":"{\"command\":\"ls\"}"}`, intercept.Call{Name: "bash", Arguments: `{"command":"ls"}`}, "s"},
	{"copilot", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}`, intercept.Call{Name: "Bash", Arguments: `{"command":"ls"}`}, "s"},
	{"cursor", `{"conversation_id":"s","generation_id":"g","hook_event_name":"preToolUse","workspace_roots":["/w"],"tool_name":"Shell","tool_input":{"command":"ls"},"tool_use_id":"t1"}`, intercept.Call{ID: "t1", Name: "Shell", Arguments: `{"command":"ls"}`}, "s"},
	{"gemini", `{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"BeforeTool","timestamp":"t","tool_name":"run_shell_command","tool_input":{"command":"ls"}}`, intercept.Call{Name: "run_shell_command", Arguments: `{"command":"ls"}`}, "s"},
}

func TestRead(t *testing.T) {
	for _, test := range inputs {
		e, err := Of(test.client).Read([]byte(test.input))
		if err != nil {
			t.Errorf("%s: %v", test.client, err)
			continue
		}
		if c := e.Call; e.Session != test.session || c.ID != test.want.ID || c.Name != test.want.Name || c.Arguments != test.want.Arguments || c.FreeText != test.want.FreeText {
			t.Errorf("%s: session %q, %+v, want %+v", test.client, e.Session, c, test.want)
		}
	}
}

// Inputs that two readers could read differently, and those of other events, are not read.
func TestReadRefuses(t *testing.T) {
	for _, test := range inputs {
		f := Of(test.client)
		for name, input := range map[string]string{
			"nothing":         "",
			"null":            "null",
			"more":            test.input + "{}",
			"cut":             test.input[:len(test.input)-1],
			"two sessions":    strings.Replace(test.input, "{", `{"session_id":"a","session_id":"b",`, 1),
			"invalid UTF-8":   strings.Replace(test.input, `"s"`, "\"\xff\"", 1),
			"no session":      strings.Replace(test.input, `"s"`, `""`, 1),
			"a control":       strings.Replace(test.input, `"s"`, `"\u001b"`, 1),
			"a long session":  strings.Replace(test.input, `"s"`, `"`+strings.Repeat("s", 600)+`"`, 1),
			"another event":   strings.Replace(strings.Replace(test.input, f.Event, "Stop", 1), "toolName", "promptName", 1),
			"a list of args":  strings.Replace(strings.Replace(test.input, `{"command`, `[{"command`, 1), `"}`, `"}]`, 1),
			"a nested double": strings.Replace(test.input, `"command":`, `"command":"x","command":`, 1),
		} {
			if strings.Contains(test.input, `"{\"`) && (name == "a list of args" || name == "a nested double") {
				continue // the arguments are a text
			}
			if e, err := f.Read([]byte(input)); err == nil {
				t.Errorf("%s reads %s: %+v", test.client, name, e)
			} else if len(err.Error()) > 1000 {
				t.Errorf("%s: the error about %s has %d bytes", test.client, name, len(err.Error()))
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		client                   string
		answer                   Answer
		stdout, stderr, exit, as string // as: the body of HTTP, "" for that of stdout
	}{
		{"claude-code", Answer{Allow: true}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`, "", "0", ""},
		{"claude-code", Answer{Reason: "no"}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`, "", "0", ""},
		{"claude-code", Answer{Allow: true, Arguments: `{"a":1}`}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"a":1}}}`, "", "0", ""},
		{"codex", Answer{Allow: true}, ``, "", "0", ""},
		{"codex", Answer{Reason: "no"}, ``, "no", "2", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`},
		{"codex", Answer{Allow: true, Arguments: `{"a":1}`}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"a":1}}}`, "", "0", ""},
		{"copilot", Answer{Allow: true}, `{"permissionDecision":"allow"}`, "", "0", ""},
		{"copilot", Answer{}, `{"permissionDecision":"deny","permissionDecisionReason":"` + noReason + `"}`, "", "0", ""},
		{"copilot", Answer{Allow: true, Arguments: `{"a":1}`}, `{"modifiedArgs":{"a":1},"permissionDecision":"allow"}`, "", "0", ""},
		{"cursor", Answer{Allow: true}, `{"permission":"allow"}`, "", "0", ""},
		{"cursor", Answer{Reason: "no"}, `{"agent_message":"no","permission":"deny","user_message":"no"}`, "", "0", ""},
		{"cursor", Answer{Allow: true, Arguments: `{"a":1}`}, `{"permission":"allow","updated_input":{"a":1}}`, "", "0", ""},
		{"gemini", Answer{Allow: true}, `{"decision":"allow"}`, "", "0", ""},
		{"gemini", Answer{Reason: "no"}, `{"decision":"deny","reason":"no"}`, "", "0", ""},
		{"gemini", Answer{Allow: true, Arguments: `{"command":"b"}`}, `{"decision":"allow","hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"b"}}}`, "", "0", ""},
		{"gemini", Answer{Allow: true, Arguments: `{"other":"b"}`}, `{"decision":"deny","reason":"The arguments of this call of run_shell_command were changed, and gemini cannot take the change from a hook. It has not run. Call it again with exactly these arguments: {\"other\":\"b\"}"}`, "", "0", ""},
	} {
		f := Of(test.client)
		e, err := f.Read([]byte(inputOf(test.client)))
		if err != nil {
			t.Fatal(err)
		}
		o := f.Output(e, test.answer)
		if got := strings.TrimSpace(string(o.Stdout)); got != test.stdout {
			t.Errorf("%s %+v prints\n%s, want\n%s", test.client, test.answer, got, test.stdout)
		}
		if got := strings.TrimSpace(string(o.Stderr)); got != test.stderr || (o.Exit == 2) != (test.exit == "2") {
			t.Errorf("%s %+v: %q, exit %d", test.client, test.answer, got, o.Exit)
		}
		want := test.as
		if want == "" {
			want = test.stdout
		}
		if got := strings.TrimSpace(string(f.Body(e, test.answer))); got != want {
			t.Errorf("%s %+v answers\n%s, want\n%s", test.client, test.answer, got, want)
		}
	}
}

func inputOf(client string) string {
	for _, test := range inputs {
		if test.client == client {
			return test.input
		}
	}
	return ""
}

// An edited patch has the form of the hook's input.
func TestPatch(t *testing.T) {
	e, err := Of("codex").Read([]byte(inputs[2].input))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(Of("codex").Body(e, Answer{Allow: true, Arguments: "*** End"})); !strings.Contains(got, `"updatedInput":{"command":"*** End"}`) {
		t.Error(got)
	}
}

// The command takes an answer only as heldcall has written it, to its own question.
func TestDecode(t *testing.T) {
	key, other := []byte("digest of a key"), []byte("another")
	answer := Answer{Allow: true, Arguments: `{"a":1}`}
	body := answer.Encode("nonce", key)
	if got, err := Decode(body, "nonce", key); err != nil || got != answer {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Decode(Answer{Reason: "no"}.Encode("nonce", nil), "nonce", key); err != nil || got.Allow || got.Reason != "no" {
		t.Errorf("a denial without proof: %+v, %v", got, err)
	}
	for name, bad := range map[string][]byte{
		"of another heldcall": answer.Encode("nonce", other),
		"unproved":            answer.Encode("nonce", nil),
		"another question":    answer.Encode("other", key),
		"changed":             []byte(strings.Replace(string(body), `{\"a\":1}`, `{\"a\":2}`, 1)),
		"empty":               nil,
		"empty object":        []byte("{}"),
		"of a client":         []byte(`{"permissionDecision":"allow"}`),
		"cut":                 body[:len(body)-4],
		"more":                append(append([]byte{}, body...), "{}"...),
	} {
		if got, err := Decode(bad, "nonce", key); err == nil {
			t.Errorf("an answer %s is taken: %+v", name, got)
		}
	}
}

func TestAsShown(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"cmd":"ls","workdir":"/w"}`: `{"command":"ls"}`,
		`{"cmd":["bash","-lc","ls"]}`: `{"command":"ls"}`,
		`{"cmd":["ls","-l"]}`:         "",
		`{"cmd":7}`:                   "",
		`x`:                           "",
	} {
		c, ok := AsShown(intercept.Call{Name: "exec_command", Arguments: arguments})
		if c.Arguments != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", arguments, c.Arguments, want)
		}
	}
	if _, ok := AsShown(intercept.Call{Name: "Bash", Arguments: `{"command":"ls"}`}); ok {
		t.Error("Bash is shown as it is")
	}
}

// FuzzRead: an event that was read has a name, a session and arguments that are an object; and whatever was read, a denial has a
// reason and no allowed form.
func FuzzRead(f *testing.F) {
	for _, test := range inputs {
		f.Add(test.client, []byte(test.input))
	}
	f.Fuzz(func(t *testing.T, client string, input []byte) {
		form := Of(client)
		if form == nil {
			return
		}
		e, err := form.Read(input)
		if err != nil {
			e = nil
		} else if e.Session == "" || e.Call.Name == "" || (!e.Call.FreeText && e.Call.Arguments[0] != '{' && strings.TrimSpace(e.Call.Arguments)[0] != '{') {
			t.Errorf("%+v", e)
		}
		body := string(form.Body(e, Answer{Reason: "because"}))
		o := form.Output(e, Answer{Reason: "because"})
		if !strings.Contains(body, `"deny"`) || !strings.Contains(body, "because") || strings.Contains(body, `"allow"`) {
			t.Errorf("a denial: %s", body)
		}
		if shown := string(o.Stdout) + string(o.Stderr); !strings.Contains(shown, "because") || (o.Exit != 2 && !strings.Contains(shown, `"deny"`)) {
			t.Errorf("a denial: %+v", o)
		}
	})
}
