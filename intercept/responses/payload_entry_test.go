package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// acceptedEntry reads an item that is not refused.
func acceptedEntry(t *testing.T, raw string) *entry {
	t.Helper()
	var d intercept.Reading
	e := readEntry(&d, gjson.Parse(raw))
	if err := d.Err(); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return e
}

func TestFormOfAnItem(t *testing.T) {
	for _, tt := range []struct {
		item    string
		form    string // type of the form, "" for none
		unknown bool
	}{
		{`{"type":"function_call","call_id":"c"}`, "function_call", false},
		{`{"type":"mcp_approval_request","id":"q"}`, approvalRequest, false},
		{`{"type":"message","role":"assistant"}`, "", false},
		{`{"type":"web_search_call","action":{"query":"q"}}`, "", false},
		{`{"type":"brand_new"}`, "", true},
		{`{"type":"brand_new","id":"x","status":"done","text":"words"}`, "", true},
		{`{"type":"brand_new","summary":[{"type":"summary_text","text":"words"}]}`, "", true},
		{`{"type":"brand_new","run":"ls"}`, "brand_new", true},
		{`{"type":"brand_new","run":[]}`, "", true},
		{`{"type":"brand_new","call_id":"c"}`, "brand_new", true},
		{`{"type":"brand_new","content":[{"type":"text","run":"ls"}]}`, "brand_new", true},
		{`{"type":"brand_new_call"}`, "brand_new_call", true},
		{`{"type":"Shell_Call"}`, "Shell_Call", true},
	} {
		e := acceptedEntry(t, tt.item)
		got := ""
		if f := e.form(); f != nil {
			got = f.typ
			if f.unknown != tt.unknown || f.fixed != (tt.unknown || got == approvalRequest) {
				t.Errorf("%s: form %+v", tt.item, f)
			}
		}
		if got != tt.form || e.isUnknown() != tt.unknown {
			t.Errorf("%s: form %q, unknown %t", tt.item, got, e.isUnknown())
		}
	}
}

func TestRefusedItems(t *testing.T) {
	for item, refused := range map[string]string{
		`"x"`: "not an object",
		`{}`:  "no type",
		`{"type":"function_call","Arguments":"{}"}`:                                                       "letter case",
		`{"type":"function_call","name":7}`:                                                               "not a string",
		`{"type":"message","content":[{"type":"function_call"}]}`:                                         "of a call",
		`{"type":"reasoning","x":{"call_id":"c","input":"i"}}`:                                            "of a call",
		`{"type":"mcp_list_tools","x":[{"type":"Function_Call"}]}`:                                        "has one in it",
		`{"type":"mcp_call","x":{"Call_ID":"c","action":{}}}`:                                             "has one in it",
		`{"type":"mcp_call","x":` + strings.Repeat("[", 70) + `"call_id"` + strings.Repeat("]", 70) + `}`: "has one in it",
	} {
		var d intercept.Reading
		readEntry(&d, gjson.Parse(item))
		if err := d.Err(); err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("%.70s: error %v, want %q", item, err, refused)
		}
	}
}

func TestFieldsBesideTheInput(t *testing.T) {
	for item, want := range map[string]string{
		`{"type":"function_call","arguments":"{}","status":"completed"}`:            "",
		`{"type":"function_call","arguments":"{}","input":"x"}`:                     "input",
		`{"type":"function_call","arguments":"{}","input":""}`:                      "",
		`{"type":"custom_tool_call","input":"x","arguments":"{}","params":{"a":1}}`: "arguments params",
		`{"type":"shell_call","action":{},"environment":{"type":"local"}}`:          "",
	} {
		if got := strings.Join(acceptedEntry(t, item).beside, " "); got != want {
			t.Errorf("%s: %q, want %q", item, got, want)
		}
	}
}

func TestRenamed(t *testing.T) {
	for _, tt := range []struct {
		began, done string
		want        bool
	}{
		{`"name":"a"`, `"name":"a"`, false},
		{`"name":"a"`, `"name":"b"`, true},
		{`"name":""`, `"name":"b","namespace":"n"`, false},
		{`"name":"a"`, `"name":"a","namespace":"n"`, true},
		{`"server_label":"a"`, `"server_label":"b"`, true},
		{`"server_label":""`, `"server_label":"b"`, false},
	} {
		began, done := acceptedEntry(t, `{"type":"function_call",`+tt.began+`}`), acceptedEntry(t, `{"type":"function_call",`+tt.done+`}`)
		if got := began.renamed(done); got != tt.want {
			t.Errorf("%s, then %s: renamed is %t", tt.began, tt.done, got)
		}
	}
}
