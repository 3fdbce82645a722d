package wrapped

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/intercept"
)

// shown are calls as texts, those with free text in quotes.
func shown(calls []intercept.Call) (texts []string) {
	for _, c := range calls {
		if c.FreeText {
			texts = append(texts, c.Name+" '"+c.Arguments+"'")
		} else {
			texts = append(texts, c.Name+" "+c.Arguments)
		}
	}
	return texts
}

func TestDispatchers(t *testing.T) {
	for _, tt := range []struct {
		name, tool, args string
		want             []string
		kind             Kind
	}{
		{"name and arguments", "tool_call", `{"name":"bash","arguments":{"command":"ls"}}`, []string{`bash {"command":"ls"}`}, Carrier},
		{"arguments as text", "call_tool", `{"tool_name":"bash","args":"{\"command\":\"ls\"}"}`, []string{`bash {"command":"ls"}`}, Carrier},
		{"of a server", "use_mcp_tool", `{"server_name":"fs","tool_name":"read_file","arguments":{"path":"a"}}`, []string{`mcp__fs__read_file {"path":"a"}`}, Carrier},
		{"several", "batch", `{"tool_calls":[{"tool":"read","parameters":{"filePath":"a"}},{"tool":"bash","parameters":{"command":"ls"}}]}`, []string{`read {"filePath":"a"}`, `bash {"command":"ls"}`}, Carrier},
		{"another tool", "run", `{"name":"bash","arguments":{}}`, nil, None},
		{"no arguments", "tool_call", `{"name":"bash"}`, nil, Carrier},
		{"no object", "tool_call", `{"name":"bash","arguments":"ls"}`, nil, Carrier},
		{"a list", "tool_call", `{"name":"bash","arguments":["ls"]}`, nil, Carrier},
		{"two names", "tool_call", `{"name":"read","tool":"bash","arguments":{}}`, nil, Carrier},
		{"two arguments", "tool_call", `{"name":"bash","arguments":{},"args":{"command":"rm"}}`, nil, Carrier},
		{"a field more", "tool_call", `{"name":"bash","arguments":{},"cwd":"/"}`, nil, Carrier},
		{"another letter case", "tool_call", `{"Name":"bash","arguments":{}}`, nil, Carrier},
		{"a name in a namespace", "tool_call", `{"name":"fs.delete","arguments":{}}`, nil, Carrier},
		{"not strict", "tool_call", `{"name":"read","name":"bash","arguments":{}}`, nil, Carrier},
		{"arguments that are not strict", "tool_call", `{"name":"read","arguments":"{\"a\":1,\"a\":2}"}`, nil, Carrier},
		{"a dispatcher", "tool_call", `{"name":"call_tool","arguments":{"name":"bash","arguments":{}}}`, nil, Carrier},
		{"a script", "tool_call", `{"name":"exec","arguments":{}}`, nil, Carrier},
		{"no server", "use_mcp_tool", `{"tool_name":"read_file","arguments":{}}`, nil, Carrier},
		{"none of several", "batch", `{"tool_calls":[]}`, nil, Carrier},
		{"one of several is unknown", "batch", `{"tool_calls":[{"tool":"read","parameters":{}},{}]}`, nil, Carrier},
		{"a field beside the list", "batch", `{"tool_calls":[{"tool":"read","parameters":{}}],"then":"rm"}`, nil, Carrier},
		{"while it streams", "batch", ``, nil, Carrier},
	} {
		reading := Read(intercept.Call{Name: tt.tool, Arguments: tt.args}, nil)
		calls, kind := reading.Calls, reading.Kind
		if d := cmp.Diff(tt.want, shown(calls)); d != "" || kind != tt.kind {
			t.Errorf("%s: kind %d, calls (-want +got):\n%s", tt.name, kind, d)
		}
	}
}

func TestScripts(t *testing.T) {
	one := []string{`exec_command {"cmd":"ls"}`}
	for _, tt := range []struct {
		name, script string
		want         []string
	}{
		{"a call", `await tools.exec_command({cmd: "ls"});`, one},
		{"its result is shown", "const r = await tools.exec_command({cmd: 'ls'});\ntext(r.output);", one},
		{"the usual beginning", "// @exec: {\"yield_time_ms\": 1000}\nconst r = await tools.exec_command({ \"cmd\": `ls`, });\ntext(`out: ${r.output}` + JSON.stringify(r.items[0]))\n", one},
		{
			"two calls", "const a = await tools.exec_command({cmd:\"ls\",yield_time_ms:10,tty:false})\nawait tools.update_plan({plan:[{step:\"x\",status:'pending'}],n:-1.5,m:null})",
			[]string{`exec_command {"cmd":"ls","yield_time_ms":10,"tty":false}`, `update_plan {"plan":[{"step":"x","status":"pending"}],"n":-1.5,"m":null}`},
		},
		{"at once", `const [a, b] = await Promise.all([tools.exec_command({cmd: "ls"}), tools.exec_command({cmd: "pwd"}),]); text(a.output + b.output)`, []string{`exec_command {"cmd":"ls"}`, `exec_command {"cmd":"pwd"}`}},
		{"free text", "await tools.apply_patch(\"*** Begin Patch\\n*** End Patch\")", []string{"apply_patch '*** Begin Patch\n*** End Patch'"}},
		{"escapes", `await tools.exec_command({cmd: "a\x41\u0042\"\'\d\t\
b"})`, []string{`exec_command {"cmd":"aAB\"'d\tb"}`}},
		{"no argument", `await tools.ping()`, []string{`ping {}`}},
		{"comments", "/* a */ await /* b\n */ tools.exec_command( // c\n {cmd: 'ls'})", one},
		// These are not read.
		{"nothing", ``, nil},
		{"only text", `text("a")`, nil},
		{"not awaited", `tools.exec_command({cmd: "ls"})`, nil},
		{"a variable", `const c = "ls"; await tools.exec_command({cmd: c})`, nil},
		{"a shorthand", `await tools.exec_command({cmd})`, nil},
		{"joined", `await tools.exec_command({cmd: "l" + "s"})`, nil},
		{"a template with a name", "const r = await tools.ping(); await tools.exec_command({cmd: `rm ${r.x}`})", nil},
		{"a spread", `await tools.exec_command({...x, cmd: "ls"})`, nil},
		{"a key twice", `await tools.exec_command({cmd: "ls", cmd: "rm"})`, nil},
		{"a prototype", `await tools.exec_command({__proto__: {cmd: "rm"}})`, nil},
		{"a computed key", `await tools.exec_command({["cmd"]: "rm"})`, nil},
		{"a computed name", `await tools["exec_command"]({cmd: "ls"})`, nil},
		{"another object", `await globalThis.tools.exec_command({cmd: "ls"})`, nil},
		{"another name", `const t = tools; await t.exec_command({cmd: "ls"})`, nil},
		{"two arguments", `await tools.exec_command({cmd: "ls"}, {cmd: "rm"})`, nil},
		{"a name that may stand for another", `await tools.mcp__fs__read_file({path: "a"})`, nil},
		{"a call after it", `await tools.exec_command({cmd: "ls"}).then(f)`, nil},
		{"a condition", `if (true) await tools.exec_command({cmd: "ls"})`, nil},
		{"a loop", `for (;;) await tools.exec_command({cmd: "ls"})`, nil},
		{"a function", `async function f() { await tools.exec_command({cmd: "ls"}) }`, nil},
		{"a call in what is shown", `text(await tools.exec_command({cmd: "ls"}))`, nil},
		{"a method of a result", `const r = await tools.exec_command({cmd: "ls"}); text(r.output.trim())`, nil},
		{"a call in a template", "const r = await tools.exec_command({cmd: 'ls'}); text(`${tools.ping()}`)", nil},
		{"tools declared again", `const tools = await tools.exec_command({cmd: "ls"})`, nil},
		{"a name declared twice", `const r = await tools.ping(); const r = await tools.ping()`, nil},
		{"on one line", `await tools.exec_command({cmd: "ls"}) text("a")`, nil},
		{"a name in escapes", `await \u0074ools.exec_command({cmd: "ls"})`, nil},
		{"a string over lines", "await tools.exec_command({cmd: \"ls\n\"})", nil},
		{"a half of a pair", `await tools.exec_command({cmd: "\ud800"})`, nil},
		{"an old octal", `await tools.exec_command({n: 010})`, nil},
		{"an old octal escape", `await tools.exec_command({cmd: "\101"})`, nil},
		{"an exponent", `await tools.exec_command({n: 1e9})`, nil},
		{"a line that ends in another character", "await tools.exec_command({cmd: 'ls'}) // a\u2028; evil()", nil},
		{"a comment of HTML", "await tools.exec_command({cmd: 'ls'})\n--> evil", nil},
		{"a comment without an end", "await tools.exec_command({cmd: 'ls'}) /* a", nil},
		{"a wrapper", `await tools.exec({code: "x"})`, nil},
		{"not UTF-8", "await tools.exec_command({cmd: '\xff'})", nil},
	} {
		reading := Read(intercept.Call{Name: "exec", Arguments: tt.script, FreeText: true}, nil)
		calls, kind := reading.Calls, reading.Kind
		if d := cmp.Diff(tt.want, shown(calls)); d != "" || kind != Carrier {
			t.Errorf("%s: kind %d, calls (-want +got):\n%s", tt.name, kind, d)
		}
	}
	if reading := Read(intercept.Call{Name: "exec", Arguments: `{"command":"ls"}`}, nil); reading.Kind != None {
		t.Error("a tool exec with arguments in JSON is taken for one of scripts")
	}
}
