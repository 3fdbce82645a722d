package edits_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals/edits"
)

const text = "package a\n\nfunc f() {\n\tone()\n}\n\nfunc g() {\n\tone()\n\ttwo()\n}\n"

// args returns arguments as JSON.
func args(t *testing.T, pairs ...any) string {
	t.Helper()
	members := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		members[pairs[i].(string)] = pairs[i+1]
	}
	data, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestLines: an edit has the line at which its text begins in the file. A text that is at two places, or at none, has no line.
func TestLines(t *testing.T) {
	pair := func(before string) map[string]any { return map[string]any{"old_string": before, "new_string": "x"} }
	patch := func(lines ...string) string {
		return "*** Begin Patch\n*** Update File: a.go\n" + strings.Join(lines, "\n") + "\n*** End Patch"
	}
	for name, test := range map[string]struct {
		arguments string
		want      []int
	}{
		"an edit":                    {args(t, "file_path", "a.go", "old_string", "\ttwo()", "new_string", ""), []int{9}},
		"in the middle of a line":    {args(t, "path", "a.go", "old_str", "g()", "new_str", "h()"), []int{7}},
		"at two places":              {args(t, "file_path", "a.go", "old_string", "one()", "new_string", ""), nil},
		"at all places":              {args(t, "file_path", "a.go", "old_string", "one()", "new_string", "", "replace_all", true), []int{4}},
		"not there":                  {args(t, "file_path", "a.go", "old_string", "three()", "new_string", ""), nil},
		"nothing":                    {args(t, "file_path", "a.go", "old_string", "", "new_string", "x"), nil},
		"several":                    {args(t, "file_path", "a.go", "edits", []any{pair("two"), pair("three"), pair("package")}), []int{9, 0, 1}},
		"a patch":                    {args(t, "input", patch("@@ func g() {", "-\tone()", "+\tthree()")), []int{8}},
		"a patch without a place":    {args(t, "input", patch("@@", " func f() {", "-\tone()", "@@", "-\tone()", " \ttwo()")), []int{3, 8}},
		"a patch that does not fit":  {args(t, "input", patch("@@ func h() {", "-\tone()")), nil},
		"a patch that only adds":     {args(t, "input", patch("@@ func g() {", "+\tone()")), nil},
		"a patch with an empty line": {args(t, "input", patch("@@", " package a", "", "-func f() {")), []int{1}},
		"a file that is moved":       {args(t, "input", patch("*** Move to: b.go", "@@ func g() {", "-\tone()", "*** End of File")), []int{8}},
		"free text":                  {patch("@@", "-\ttwo()"), []int{9}},
	} {
		t.Run(name, func(t *testing.T) {
			files := edits.Of(test.arguments)
			if len(files) != 1 || files[0].Path != "a.go" || files[0].Whole {
				t.Fatalf("files: %+v", files)
			}
			if diff := cmp.Diff(test.want, files[0].Lines(text, 1)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := edits.Of(args(t, "file_path", "a.go", "old_string", "two", "new_string", ""))[0].Lines(text, 101); !cmp.Equal(got, []int{109}) {
		t.Errorf("in a text that begins with line 101: %d", got)
	}
}

// TestOf: which files a call writes, and whether as a whole.
func TestOf(t *testing.T) {
	many := "*** Begin Patch\n"
	for i := range 100 {
		many += fmt.Sprintf("*** Add File: f%d\n+x\n", i)
	}
	for name, test := range map[string]struct {
		arguments string
		want      []string
	}{
		"whole":          {args(t, "file_path", "a.go", "content", ""), []string{"a.go whole"}},
		"a patch":        {args(t, "patch", "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-x\n*** Delete File: d\n*** End Patch"), []string{"a whole", "b"}},
		"no path":        {args(t, "content", "x"), nil},
		"no change":      {args(t, "file_path", "a.go"), nil},
		"half":           {args(t, "file_path", "a.go", "old_string", "x"), nil},
		"numbers":        {args(t, "file_path", 1, "content", 2), nil},
		"odd edits":      {args(t, "file_path", "a.go", "edits", []any{1, nil, map[string]any{}}), nil},
		"no JSON":        {`{"file_path": "a"`, nil},
		"a long path":    {args(t, "file_path", strings.Repeat("a", 5000), "content", "x"), nil},
		"a list":         {`["a"]`, nil},
		"a unified diff": {args(t, "file_path", "a.go", "diff", "--- a\n+++ b\n"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range edits.Of(test.arguments) {
				what := f.Path
				if f.Whole {
					what += " whole"
				}
				got = append(got, what)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if n := len(edits.Of(many)); n != 32 {
		t.Errorf("%d files of a patch of 100", n)
	}
}
