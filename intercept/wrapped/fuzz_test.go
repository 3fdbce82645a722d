package wrapped

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
)

// FuzzScript: the calls of a script have strict arguments, and there is one for each place where the
// script names a tool; with a statement after it that is not read, a script is not read.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{
		`await tools.exec_command({cmd: "ls"})`, "const r = await tools.exec_command({\"cmd\": 'a\\x41'}); text(`${r.output}`)",
		`const [a] = await Promise.all([tools.ping(), tools.apply_patch("x")])`, "/* tools */ await tools.ping({a: [1, -2.5, null]}) // tools.",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		calls, ok := scriptCalls(src)
		if !ok {
			return
		}
		if named := strings.Count(src, "tools"); len(calls) > named {
			t.Errorf("%q names %d tools and has the calls %+v", src, named, calls)
		}
		for _, c := range calls {
			if !c.FreeText && strictjson.Strict([]byte(c.Arguments)) != nil {
				t.Errorf("%q: the arguments %q are not strict", src, c.Arguments)
			}
		}
		for _, more := range []string{"\n;evil()", "\n;x = tools", "\n;await evil({})", "\n;tools.ping()", "\n;`${evil()}`", "\n;for(;;);"} {
			if again := Read(intercept.Call{Name: codeTool, Arguments: src + more, FreeText: true}, nil).Calls; again != nil {
				t.Errorf("%q is read, also with %q after it", src, more)
			}
		}
	})
}
