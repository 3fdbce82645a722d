package call

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/heldcall/heldcall/approvals/policy/match"
	"github.com/heldcall/heldcall/internal/strictyaml"
)

// LaterFiles is a class of files that programs run or obey later by themselves, without a call that
// shows it: see runs_later.yaml.
type LaterFiles struct {
	Name    string   // in rules: path(@NAME)
	Is      string   // one of them, for people: "a hook of version control"
	Files   []string // path patterns; suggestions go by the first
	Folders []string // path patterns of folders that a move replaces whole
	Source  string   // where the names are from

	globs []*match.PathGlob
}

//go:embed runs_later.yaml
var laterFile []byte

// RunLater are the classes of files that run later. They never change.
var RunLater = sync.OnceValue(func() []*LaterFiles {
	var classes []*LaterFiles
	r := &strictyaml.Reader{File: "runs_later.yaml"}
	r.Mapping(r.Root(laterFile), "", []strictyaml.Key{
		{Name: "classes", Read: func(n *yaml.Node, path string) {
			r.Members(n, path, func(name, value *yaml.Node, path string) {
				class := &LaterFiles{Name: name.Value}
				class.read(r, value, path)
				classes = append(classes, class)
			})
		}},
	})
	if len(r.Errors) > 0 {
		panic("internal error: the files that run later are not well formed: " + r.Errors.Error())
	}
	return classes
})

func (f *LaterFiles) read(r *strictyaml.Reader, n *yaml.Node, path string) {
	r.Mapping(n, path, []strictyaml.Key{
		{Name: "is", Read: r.SetText(&f.Is)},
		{Name: "source", Read: r.SetText(&f.Source)},
		{Name: "folders", Read: func(n *yaml.Node, path string) {
			r.List(n, path, "path patterns", func(n *yaml.Node, _ string) { f.Folders = append(f.Folders, n.Value) })
		}},
		{Name: "files", Read: func(n *yaml.Node, path string) {
			readPathGlobs(r, &f.globs)(n, path)
			r.List(n, path, "path patterns", func(n *yaml.Node, _ string) { f.Files = append(f.Files, n.Value) })
		}},
	})
}

// ClassOfLater returns the class of a file that runs later, or nil for another file.
func ClassOfLater(l match.Location) *LaterFiles {
	classes := RunLater()
	if i := slices.IndexFunc(classes, func(f *LaterFiles) bool { return match.Lists(f.globs, l) }); i >= 0 {
		return classes[i]
	}
	return nil
}

// Patterns are the patterns of a rule for the class.
func (f *LaterFiles) Patterns() []string {
	var patterns []string
	for _, path := range slices.Concat(f.Files, f.Folders) {
		patterns = append(patterns, "path("+path+")")
	}
	return patterns
}

// Example is the path of a file of the class.
func (f *LaterFiles) Example() string {
	return strings.NewReplacer("**/", "", "**", "x", "*", "").Replace(f.Files[0])
}
