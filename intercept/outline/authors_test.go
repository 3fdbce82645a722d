package outline

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// schemas are one in which all messages of the role user are the user's, and one in which
// results of calls have that role too.
var schemas = []Schema{
	{Beginning: []string{"system", "developer"}},
	{Beginning: []string{"system"}, ResultPart: "tool_result", Reminder: "<system-reminder>"},
}

// FuzzAuthors holds the authors that the strict reading of a request finds against a plain reading of its
// history.
func FuzzAuthors(f *testing.F) {
	for _, messages := range []string{
		``, `1,"x",null,[]`, `{"role":"user"}`, `{"role":"us\u0065r","content":"a"}`, `{"role":"system","content":"s"},{"role":"developer"}`,
		`{"content":[{"type":"tool_result","content":"r"}],"role":"user"},{"role":"assistant"},{"role":"user","content":"a"}`,
		`{"role":"user","content":[{"type":"tool_result"},{"type":"text","text":"<system-reminder>x"}]}`,
		`{"role":"user","content":[{"type":"tool_\u0072esult"},{"text":"\u003csystem-reminder>x"},{"text":""},{"text":null}]}`,
		`{"role":"user","content":[{"type":"tool_result"},{"text":"<system"}]}`, `{"role":"user","content":[{"type":"tool_result"},{"text":5}]}`,
		`{"role":"user","other":[{"type":"tool_result"}],"content":"a","more":[{"type":"tool_result"}]}`, `{"role":"user","content":{"type":"tool_result"}}`,
		`{"role":"user","content":"b","\u0061":1}`,
	} {
		f.Add([]byte(`{"messages":[` + messages + `]}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, schema := range schemas {
			got := NewAuthors(&schema)
			fields, err := strictjson.ScanFields(body, []string{"messages"}, nil, strictjson.List{Field: "messages", Items: &got})
			if history := fields.Raw("messages"); err != nil || len(history) == 0 || history[0] != '[' {
				return
			}
			want := plainAuthors(&schema, fields.Raw("messages"))
			if got.Users != want.Users || got.Others != want.Others || !sameContent(got.First, want.First) || !sameContent(got.Last, want.Last) {
				t.Fatalf("%q:\n got %d %t %q %q\nwant %d %t %q %q", body, got.Users, got.Others, got.First, got.Last, want.Users, want.Others, want.First, want.Last)
			}
		}
	})
}

func sameContent(a, b []byte) bool { return string(a) == string(b) && (a == nil) == (b == nil) }

func plainAuthors(schema *Schema, history []byte) (a Authors) {
	gjson.ParseBytes(history).ForEach(func(_, m gjson.Result) bool {
		role := m.Get("role").Str
		if !m.IsObject() {
			role = ""
		}
		if role != "user" {
			a.Others = a.Others || (role != "system" && (role != "developer" || len(schema.Beginning) < 2))
			return true
		}
		content := []byte(m.Get("content").Raw)
		if a.First == nil {
			a.First = content
		}
		if schema.ResultPart == "" || writtenByUser(m.Get("content")) {
			a.Users, a.Last = a.Users+1, content
		}
		return true
	})
	return a
}

func writtenByUser(content gjson.Result) bool {
	if !content.IsArray() {
		return true
	}
	results, text := false, false
	for _, part := range content.Array() {
		if !part.IsObject() {
			continue
		}
		results = results || part.Get("type").Str == "tool_result"
		words := part.Get("text").String()
		text = text || (words != "" && !strings.HasPrefix(words, "<system-reminder>"))
	}
	return !results || text
}
