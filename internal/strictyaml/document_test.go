package strictyaml

import (
	"errors"
	"testing"
)

func TestDocumentErrors(t *testing.T) {
	for content, want := range map[string]string{
		"a: [b\n":            "2: not valid YAML: did not find expected ',' or ']'",
		"a:\n\tb: c\n":       "2: not valid YAML: found character that cannot start any token; indent with spaces, not with tabs, and put quotes around such texts",
		"a: *x\n":            "not valid YAML: unknown anchor 'x' referenced",
		"a: b\n---\na: b\n":  "2: a second YAML document starts here; keep one",
		"a: b\n---\na: [b\n": "3: not valid YAML: did not find expected ',' or ']'",
	} {
		root, problem := Document([]byte(content))
		if root != nil || problem == nil {
			t.Errorf("%q was accepted", content)
			continue
		}
		got := Errors{problem}.In("file").Error()
		if got != "file:"+want && got != "file: "+want {
			t.Errorf("%q: %s; want %s", content, got, want)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "---\n", "null\n"} {
		if root, problem := Document([]byte(empty)); root != nil || problem != nil {
			t.Errorf("%q: %v, %v", empty, root, problem)
		}
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	all := Errors{
		{File: "f", Line: 3, Key: "a.b", Problem: "is empty"},
		{File: "f", Key: "a", Problem: "is missing"},
		{Line: 3, Key: "a", Problem: "is empty"},
		{File: "f", Problem: "not valid YAML"},
	}
	const want = "f:3: a.b: is empty\nf: a: is missing\na: is empty\nf: not valid YAML"
	if got := all.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var one *Error
	if !errors.As(error(all), &one) || one.Line != 3 {
		t.Errorf("the mistakes cannot be reached: %v", one)
	}
}
