package sanitize

import (
	"strings"
	"testing"
)

func TestIndented(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1,"x\",\u202e"],"b":{}}`: "{\n  \"a\": [\n    1,\n    \"x\\\",\\u202e\"\n  ],\n  \"b\": {}\n}",
		"{\"a\":\"\u202e\"}":            "{\n  \"a\": \"\\u202e\"\n}",
		"not {\x1b":                     `not {\x1b`,
		"two\nlines \u202e":             "two\nlines \\u202e",
	} {
		if got := Indented([]byte(text)); got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
}

// Nothing that a model writes is many times as long where people read it.
func TestIndentedIsNotMuchLonger(t *testing.T) {
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	wide := strings.Repeat("[", 60) + strings.Repeat("1,", 90_000) + "1" + strings.Repeat("]", 60)
	strung := `["` + strings.Repeat(`[{,\"`, 60_000) + `"]`
	for _, text := range []string{deep, wide} {
		if got := Indented([]byte(text)); got != text {
			t.Errorf("%d bytes are shown in %d", len(text), len(got))
		}
	}
	if got := Indented([]byte(strung)); got != "[\n  "+strung[1:len(strung)-1]+"\n]" {
		t.Error("text within a string counts")
	}
}

// Finding 33: runs of spaces that push text out of view are marked, indents are not.
func TestFinding33_LongRunsOfSpacesAreMarked(t *testing.T) {
	for text, want := range map[string]string{
		"ls" + strings.Repeat(" ", 24) + "rm":    "ls⟨24 spaces⟩rm",
		"ls" + strings.Repeat(" ", 23) + "rm":    "ls" + strings.Repeat(" ", 23) + "rm",
		"a\n" + strings.Repeat(" ", 40) + "b":    "a\n" + strings.Repeat(" ", 40) + "b",
		"a\n" + strings.Repeat("\t", 160) + "b":  "a\n⟨160 spaces⟩b",
		"a" + strings.Repeat(" ", 5000):          "a⟨5000 spaces⟩",
		strings.Repeat(" ", 30) + "a\x1b \u202e": strings.Repeat(" ", 30) + `a\x1b \u202e`,
	} {
		if got := Lines(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value    string
		freeText bool
		want     string
	}{
		{`"a \"b\"\n\u001b[31mc"`, true, "a \"b\"\n\\x1b[31mc"},
		{`"a \"b\"\n"`, false, `"a \"b\"\n"`},
		{`{"a":"b\n"}`, true, "{\n  \"a\": \"b\\n\"\n}"},
		{`"no JSON`, true, `"no JSON`},
		{"", true, ""},
	} {
		if got := Arguments([]byte(tt.value), tt.freeText); got != tt.want {
			t.Errorf("%s is read as %q, want %q", tt.value, got, tt.want)
		}
	}
}
