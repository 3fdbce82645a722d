package wrapped

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/intercept"
)

func TestParallelCalls(t *testing.T) {
	const one = `{"tool_uses":[{"recipient_name":"functions.bash","parameters":{"command":"ls"}}]}`
	bash := []string{`bash({"command":"ls"})`}
	use := func(use string) string { return `{"tool_uses":[` + use + `]}` }
	for _, tt := range []struct {
		name, tool, args string
		calls            []string
		wrapper          bool
	}{
		// As models write it.
		{"its name", "multi_tool_use.parallel", one, bash, true},
		{"several", "multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"functions.read","parameters":{}},{"parameters":{"a":[1, "x"]},"recipient_name":"write-file_2"}]}`, []string{"read({})", `write-file_2({"a":[1, "x"]})`}, true},
		{"without the namespace", "multi_tool_use.parallel", use(`{"recipient_name":"bash","parameters":{"command":"ls"}}`), bash, true},
		// As servers and models spell it that know of no dot.
		{"underscore", "multi_tool_use_parallel", one, bash, true},
		{"dash", "multi-tool-use-parallel", one, bash, true},
		{"slash and colons", "multi_tool_use/parallel::0", one, bash, true},
		{"numbered", "multi_tool_use.parallel:2", one, bash, true},
		{"in the namespace", "functions.multi_tool_use.parallel", one, bash, true},
		{"letter case", "Multi_Tool_Use.Parallel", one, bash, true},
		{"only the namespace", "multi_tool_use", one, bash, true},
		{"only the name", "parallel", one, bash, true},
		{"the field for the name", "tool_uses", one, bash, true},
		{"of the API's option", "parallel_tool_calls", one, bash, true},
		// Other tools.
		{"another tool", "bash", `{"command":"ls"}`, nil, false},
		{"a tool that is called parallel", "parallel", `{"jobs":["a"]}`, nil, false},
		{"a tool that is called parallel, nothing", "parallel", `{}`, nil, false},
		{"another tool that talks of it", "bash", `{"command":"grep tool_uses x"}`, nil, false},
		{"another tool, not JSON, that talks of it", "patch", `tool_uses: []`, nil, false},
		{"nothing", "", ``, nil, false},
		// Readers differ, or cannot read it.
		{"the shape under another name", "run", one, nil, true},
		{"parallel while it streams", "parallel", ``, nil, true},
		{"cut off", "multi_tool_use.parallel", one[:40], nil, true},
		{"nothing to run", "multi_tool_use.parallel", `{"tool_uses":[]}`, nil, true},
		{"no list", "multi_tool_use.parallel", `{}`, nil, true},
		{"list of another name", "multi_tool_use.parallel", `{"calls":[]}`, nil, true},
		{"list is an object", "multi_tool_use.parallel", `{"tool_uses":{"recipient_name":"bash","parameters":{}}}`, nil, true},
		{"list is text", "multi_tool_use.parallel", `{"tool_uses":"[]"}`, nil, true},
		{"arguments are the list", "multi_tool_use.parallel", `[{"recipient_name":"bash","parameters":{}}]`, nil, true},
		{"list in another letter case", "multi_tool_use.parallel", strings.Replace(one, "tool_uses", "Tool_Uses", 1), nil, true},
		{"list in camel case, of parallel", "parallel", strings.Replace(one, "tool_uses", "toolUses", 1), nil, true},
		{"list twice", "multi_tool_use.parallel", `{"tool_uses":[],"tool_uses":[]}`, nil, true},
		{"list in two letter cases", "multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"read","parameters":{}}],"TOOL_USES":[{"recipient_name":"rm","parameters":{}}]}`, nil, true},
		{"a field beside the list", "multi_tool_use.parallel", `{"recipient_name":"rm","parameters":{},"tool_uses":[{"recipient_name":"read","parameters":{}}]}`, nil, true},
		{"the same field, escaped", "multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"read","parameters":{}}],"tool\u005fuses":[]}`, nil, true},
		{"a use is text", "multi_tool_use.parallel", use(`"bash"`), nil, true},
		{"a use is null", "multi_tool_use.parallel", use(`null`), nil, true},
		{"no recipient", "multi_tool_use.parallel", use(`{"parameters":{}}`), nil, true},
		{"recipient is empty", "multi_tool_use.parallel", use(`{"recipient_name":"functions.","parameters":{}}`), nil, true},
		{"recipient is a number", "multi_tool_use.parallel", use(`{"recipient_name":1,"parameters":{}}`), nil, true},
		{"no parameters", "multi_tool_use.parallel", use(`{"recipient_name":"bash"}`), nil, true},
		{"parameters are text", "multi_tool_use.parallel", use(`{"recipient_name":"bash","parameters":"{}"}`), nil, true},
		{"another form of a call inside", "multi_tool_use.parallel", use(`{"name":"bash","arguments":{}}`), nil, true},
		{"two forms of a call inside", "multi_tool_use.parallel", use(`{"recipient_name":"read","parameters":{},"name":"rm","arguments":"{}"}`), nil, true},
		{"recipient in two letter cases", "multi_tool_use.parallel", use(`{"recipient_name":"read","Recipient_Name":"rm","parameters":{}}`), nil, true},
		{"recipient in two namespaces", "multi_tool_use.parallel", use(`{"recipient_name":"functions.read.rm","parameters":{}}`), nil, true},
		{"recipient in the namespace twice", "multi_tool_use.parallel", use(`{"recipient_name":"functions.functions.rm","parameters":{}}`), nil, true},
		{"recipient in another namespace", "multi_tool_use.parallel", use(`{"recipient_name":"browser.open","parameters":{}}`), nil, true},
		{"recipient with a blank", "multi_tool_use.parallel", use(`{"recipient_name":"functions. rm","parameters":{}}`), nil, true},
		{"recipient in other letters", "multi_tool_use.parallel", use(`{"recipient_name":"bаsh","parameters":{}}`), nil, true},
		{"a wrapper in the wrapper", "multi_tool_use.parallel", use(`{"recipient_name":"multi_tool_use.parallel","parameters":` + one + `}`), nil, true},
		{"a wrapper in the wrapper, respelt", "multi_tool_use.parallel", use(`{"recipient_name":"functions.multi_tool_use_parallel","parameters":` + one + `}`), nil, true},
		{"one of two is unreadable", "multi_tool_use.parallel", use(`{"recipient_name":"read","parameters":{}},{}`), nil, true},
	} {
		calls, wrapper := parallelCalls(intercept.Call{Name: tt.tool, Arguments: tt.args, Ambiguous: []string{"why"}})
		var got []string
		for _, c := range calls {
			got = append(got, c.Name+"("+c.Arguments+")")
			if len(c.Ambiguous) != 1 || c.FreeText || c.ID != "" {
				t.Errorf("%s: %+v is not in the doubt that the wrapper is in", tt.name, c)
			}
		}
		if d := cmp.Diff(tt.calls, got); d != "" || wrapper != tt.wrapper {
			t.Errorf("%s: wrapper %t, want %t, calls (-want +got):\n%s", tt.name, wrapper, tt.wrapper, d)
		}
	}
}
