package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/heldcall/heldcall/internal/testing/cost"
)

func TestInput(t *testing.T) {
	for _, tt := range []struct {
		typ, fields string
		input       string
		plain       bool
	}{
		{"function_call", `"arguments":"{\"a\":1}"`, `{"a":1}`, true},
		{"function_call", `"arguments":{"a":1}`, `{"a":1}`, false},
		{"function_call", `"arguments":7`, `7`, false},
		{"function_call", `"arguments":null`, ``, true},
		{"custom_tool_call", `"input":"SELECT"`, `SELECT`, true},
		{"shell_call", `"action":{"commands":["ls"]}`, `{"commands":["ls"]}`, true},
		{"shell_call", `"action":"ls"`, `ls`, false},
		{"computer_call", `"action":{"type":"wait"}`, `{"type":"wait"}`, true},
		{"computer_call", `"actions":[{"type":"wait"}]`, `{"actions":[{"type":"wait"}]}`, true},
		{"computer_call", `"action":{"type":"wait"},"pending_safety_checks":[{"id":"s"}]`, `{"type":"wait","pending_safety_checks":[{"id":"s"}]}`, true},
		{"computer_call", `"action":"wait"`, `{"type":"computer_call","action":"wait"}`, false},
		{"computer_call", `"action":{},"actions":{"a":1}`, `{"type":"computer_call","action":{},"actions":{"a":1}}`, false},
	} {
		e := acceptedEntry(t, fmt.Sprintf(`{"type":%q,%s}`, tt.typ, tt.fields))
		if input, plain := e.input(callForms[tt.typ]); input != tt.input || plain != tt.plain {
			t.Errorf("%s: %s, plain %t", e.raw, input, plain)
		}
	}
}

// An input that is written into an item is the input that is read from it.
func TestWithInput(t *testing.T) {
	for _, tt := range []struct{ typ, fields, input string }{
		{"function_call", `"arguments":"{}"`, `{"a":1}`},
		{"function_call", `"arguments":"{}","params":{"b":2}`, `{"a":1}`},
		{"function_call", `"arguments":{"b":2}`, `{"a":1}`},
		{"custom_tool_call", `"input":"x"`, "not JSON"},
		{"shell_call", `"action":{"commands":["ls"]}`, `{"commands":["pwd"]}`},
		{"apply_patch_call", `"operation":{}`, `{"type":"delete_file"}`},
		{"computer_call", `"action":{"type":"wait"}`, `{"type":"click"}`},
		{"computer_call", `"action":"wait"`, `{"type":"click"}`},
		{"computer_call", `"actions":[{"type":"wait"}]`, `{"actions":[{"type":"click"}]}`},
	} {
		e, f := acceptedEntry(t, fmt.Sprintf(`{"type":%q,%s}`, tt.typ, tt.fields)), callForms[tt.typ]
		if !f.takes(tt.input) {
			t.Errorf("a %s takes no %s", tt.typ, tt.input)
		}
		edited := acceptedEntry(t, e.withInput(f, tt.input))
		input, _ := edited.input(f)
		if gjson.Get(input, "@this|@ugly").Raw != gjson.Get(tt.input, "@this|@ugly").Raw || len(edited.beside) > 0 {
			t.Errorf("%s with %s: %s", e.raw, tt.input, edited.raw)
		}
	}
	for typ, input := range map[string]string{"shell_call": "ls", "computer_call": "[]", approvalRequest: "{}", "apply_patch_call": `{"a":1,"a":2}`} {
		if callForms[typ].takes(input) {
			t.Errorf("a %s takes %s", typ, input)
		}
	}
}

// An item may have any number of fields beside its input: each is removed once.
func TestInputWithoutManyFields(t *testing.T) {
	var fields strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&fields, `,"input%d":"x"`, i)
	}
	e := acceptedEntry(t, `{"type":"function_call", "name":"x","arguments":"{}"`+fields.String()+`,"in\u0070ut":"x","status":"completed"}`)
	got := ""
	if n := cost.Allocated(func() { got = e.withInput(callForms["function_call"], `{"a":1}`) }); n > 100*uint64(fields.Len()) {
		t.Errorf("%d bytes of fields allocate %d", fields.Len(), n)
	}
	if want := `{"type":"function_call","name":"x","arguments":"{\"a\":1}","status":"completed"}`; got != want {
		t.Errorf("got %.200s, want %s", got, want)
	}
}

func TestGrows(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{`null`, `7`, true},
		{`7`, `7`, true},
		{`7`, `77`, false},
		{`"a"`, `"ab"`, true},
		{`"b"`, `"ab"`, false},
		{`[1]`, `[1,2]`, true},
		{`[1,2]`, `[1]`, false},
		{`[1]`, `{"0":1}`, false},
		{`{"a":"x"}`, `{"a":"xy","b":1}`, true},
		{`{"a":"x"}`, `{"b":"x"}`, false},
		{`{}`, `[]`, false},
	} {
		if got := grows(gjson.Parse(tt.from), gjson.Parse(tt.to), 0); got != tt.want {
			t.Errorf("%s to %s: %t", tt.from, tt.to, got)
		}
	}
}

// The depth of a comparison is bounded: each level reads all levels below it again.
func TestGrowingIsBounded(t *testing.T) {
	nested := func(depth int) gjson.Result {
		return gjson.Parse(strings.Repeat(`[`, depth) + `"a"` + strings.Repeat(`]`, depth))
	}
	longer := func(depth int) gjson.Result { return gjson.Parse(strings.Replace(nested(depth).Raw, "a", "ab", 1)) }
	if !grows(nested(8), longer(8), 0) || grows(nested(5000), longer(5000), 0) {
		t.Error("the comparison is not bounded, or no nested value grows")
	}
}

// The opening of a call has none of the texts that its events bring.
func TestOpening(t *testing.T) {
	for typ, fields := range map[string]string{
		"function_call":    `"arguments":"{\"a\":1}"`,
		"custom_tool_call": `"input":"x"`,
		"shell_call":       `"action":{"commands":["ls","pwd"]}`,
		"apply_patch_call": `"operation":{"type":"create_file","diff":"+a"}`,
		"local_shell_call": `"action":{"command":["ls"]}`,
	} {
		f, done := callForms[typ], acceptedEntry(t, fmt.Sprintf(`{"type":%q,%s,"status":"completed"}`, typ, fields))
		input, _ := done.input(f)
		texts := f.texts(input)
		if (len(texts) == 0) != (f.events == "") {
			t.Errorf("%s has the texts %v", typ, texts)
		}
		opening := acceptedEntry(t, f.opening(done.raw))
		began, _ := opening.input(f)
		for _, text := range f.texts(began) {
			if text.text != "" {
				t.Errorf("%s begins as %s", typ, opening.raw)
			}
		}
		if opening.status != "in_progress" {
			t.Errorf("%s begins with status %s", typ, opening.status)
		}
	}
}
