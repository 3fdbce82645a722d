package strictyaml

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestReaderNotesEveryMistake(t *testing.T) {
	root, problem := Document([]byte("a: 1\na: 2\n7: x\nlist: []\ntext: ''\none: z\nwait: 30\nsoon: 1ms\ncount: -1\nflag: 'no'\nalias: &x y\nlast: *x\n"))
	if problem != nil {
		t.Fatal(problem)
	}
	r := &Reader{File: "f"}
	r.Members(root, "", func(name, value *yaml.Node, path string) {
		switch name.Value {
		case "a":
			r.Number(value, path, 1)
		case "list":
			r.List(value, path, "things", func(*yaml.Node, string) { t.Error("an item of an empty list") })
		case "one":
			r.OneOf(value, path, []string{"x", "y"})
		case "wait", "soon":
			r.Duration(value, path)
		case "count":
			r.Number(value, path, 0)
		case "flag":
			r.Bool(value, path)
		default:
			r.Text(value, path)
		}
	})
	r.Members(root.Content[1], "in", func(_, _ *yaml.Node, _ string) { t.Error("a member of a number") })
	const want = `f:2: a: is given twice, first in line 1; remove one
f:3: has "7" (int) as a key: write a text
f:4: list: is empty: name things or remove the key
f:5: text: is empty
f:6: one: is "z": write x, y
f:7: wait: has no unit: write 30s for seconds, or m or h
f:8: soon: must be at least 1s
f:9: count: must be a whole number from 0 up, and is "-1" (int)
f:10: flag: must be true or false, and is "no" (str)
f:12: last: must be a text, and is an alias (*x), which is not read: quote a text that begins with *
f:1: in: must be a mapping of keys to values, and is "1" (int)`
	if got := r.Errors.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMappingRefusesOtherKeys(t *testing.T) {
	r := &Reader{File: "dir/f.yaml"}
	var flag bool
	var text string
	keys := []Key{{"flag", r.SetBool(&flag)}, {"text", r.SetText(&text)}}
	r.Mapping(r.Root([]byte("flag: true\ntext: x\nsoon: 1\nother: 2\n")), "in", keys, "soon")
	const want = "dir/f.yaml:3: in.soon: is not supported yet by this version\ndir/f.yaml:4: in.other: unknown key; the keys here are flag, text"
	if got := r.Errors.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !flag || text != "x" {
		t.Errorf("read %v, %q", flag, text)
	}
	if got := r.Place(3); got != "f.yaml:3" {
		t.Errorf("the place is %s", got)
	}
}

func TestRootNotesSyntaxErrors(t *testing.T) {
	r := &Reader{File: "f"}
	if root := r.Root([]byte("a: [")); root != nil || len(r.Errors) != 1 || r.Errors[0].File != "f" {
		t.Errorf("%v, %v", root, r.Errors)
	}
}
