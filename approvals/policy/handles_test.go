package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const typedTools = `
tools:
  bash: {resource: command, as: shell}
  argv: {resource: command, as: shell}
  fetch: {resource: url, as: url}
  write: {resource: path, as: path}
  patch: {resource: patch, as: patch}
`

const oddSecret = `s3 $(x)'"\k` // what shells read in a special way

func TestInsertSecrets(t *testing.T) {
	p := mustParse(t, typedTools)
	values := map[string]string{"PLAIN": "ghp_0123456789abcdef", "ODD": oddSecret, "OPTION": "--upload-file", "PARENT": "../../../x", "AT": "user@evil.example"}
	for _, test := range []struct{ name, tool, in, want, refused string }{
		{"another tool", "login", `{ "password" :"secret://ODD","n":1.0}`, `{ "password" :"s3 $(x)'\"\\k","n":1.0}`, ""},
		{"inside a text", "login", `{"h":["Bearer secret://PLAIN."]}`, `{"h":["Bearer ghp_0123456789abcdef."]}`, ""},
		{"with JSON escapes", "login", `{"h":"secret:\/\/PLAIN"}`, `{"h":"ghp_0123456789abcdef"}`, ""},
		{"a name of a member stays", "login", `{"secret://PLAIN":"x"}`, `{"secret://PLAIN":"x"}`, ""},
		{"an unknown handle stays", "login", `{"a":"secret://OTHER secret://PLAINX"}`, `{"a":"secret://OTHER secret://PLAINX"}`, ""},
		{"arguments that two parsers read differently", "login", `{"a":"secret://PLAIN","a":"x"}`, "", "strict JSON"},

		{"a word", "bash", `{"command":"gh auth secret://ODD now"}`, `{"command":"gh auth s3\\ \\$\\(x\\)\\'\\\"\\\\k now"}`, ""},
		{"double quotes", "bash", `{"command":"curl -H \"T: secret://ODD\""}`, `{"command":"curl -H \"T: s3 \\$(x)'\\\"\\\\k\""}`, ""},
		{"single quotes", "bash", `{"command":"curl -H 'T: secret://ODD' x"}`, `{"command":"curl -H 'T: s3 $(x)'\\''\"\\k' x"}`, ""},
		{"a variable", "bash", `{"command":"T=secret://ODD gh"}`, `{"command":"T=s3\\ \\$\\(x\\)\\'\\\"\\\\k gh"}`, ""},
		{"an exported variable", "bash", `{"command":"export T=secret://PLAIN"}`, `{"command":"export T=ghp_0123456789abcdef"}`, ""},
		{"a user in a URL", "bash", `{"command":"git clone https://x:secret://PLAIN@example.org/r"}`, `{"command":"git clone https://x:ghp_0123456789abcdef@example.org/r"}`, ""},
		{"a substitution", "bash", `{"command":"x $(gh secret://ODD)"}`, `{"command":"x $(gh s3\\ \\$\\(x\\)\\'\\\"\\\\k)"}`, ""},
		{"a here-document", "bash", `{"command":"cat <<E\nsecret://PLAIN\nE"}`, `{"command":"cat <<E\nghp_0123456789abcdef\nE"}`, ""},
		{"two in one script", "bash", `{"command":"a secret://PLAIN 'secret://PLAIN'"}`, `{"command":"a ghp_0123456789abcdef 'ghp_0123456789abcdef'"}`, ""},
		{"a here-document that expands", "bash", `{"command":"cat <<E\nsecret://ODD\nE"}`, "", "here-document"},
		{"a program", "bash", `{"command":"secret://PLAIN x"}`, "", "no value"},
		{"a file that is written", "bash", `{"command":"echo > secret://PLAIN"}`, "", "no value"},
		{"a default of a variable", "bash", `{"command":"echo ${A:-secret://PLAIN}"}`, "", "no value"},
		{"a comment", "bash", `{"command":"ls # secret://PLAIN"}`, "", "no value"},
		{"an option", "bash", `{"command":"curl secret://OPTION"}`, "", "an option"},
		{"an inner script", "bash", `{"command":"bash -c 'gh secret://PLAIN'"}`, `{"command":"bash -c 'gh ghp_0123456789abcdef'"}`, ""},
		{"an inner script that it would change", "bash", `{"command":"bash -c 'gh secret://ODD'"}`, "", "commands"},
		{"no script", "bash", `{"command":"echo 'secret://PLAIN"}`, "", "parsed"},

		{"words", "argv", `{"command":["gh","-t","secret://PLAIN"]}`, `{"command":["gh","-t","ghp_0123456789abcdef"]}`, ""},
		{"words of a shell", "argv", `{"command":["bash","-lc","gh 'secret://ODD'"]}`, `{"command":["bash","-lc","gh 's3 $(x)'\\''\"\\k'"]}`, ""},
		{"words whose program it is", "argv", `{"command":["secret://PLAIN"]}`, "", "program"},
		{"words and an option", "argv", `{"command":["curl","secret://OPTION"]}`, "", "commands"},

		{"a query", "fetch", `{"url":"https://example.org/a?t=secret://ODD"}`, `{"url":"https://example.org/a?t=s3%20%24%28x%29%27%22%5Ck"}`, ""},
		{"a path of a URL", "fetch", `{"url":"https://example.org/botsecret://PLAIN/x"}`, `{"url":"https://example.org/botghp_0123456789abcdef/x"}`, ""},
		{"folders of a URL", "fetch", `{"url":"https://example.org/a/secret://PARENT/x"}`, "", "host or the path"},
		{"a host", "fetch", `{"url":"https://secret://PLAIN.example.org/"}`, "", "host or the path"},
		{"another host", "fetch", `{"url":"https://example.org:secret://AT/"}`, "", "host or the path"},

		{"a path", "write", `{"path":"/tmp/secret://PLAIN","content":"x"}`, "", "path of a file"},
		{"a content", "write", `{"path":"/tmp/x","content":"k=secret://ODD"}`, `{"path":"/tmp/x","content":"k=s3 $(x)'\"\\k"}`, ""},
		{"a patch", "patch", `{"patch":"*** Begin Patch\n*** Add File: a\n+secret://PLAIN\n*** End Patch"}`, `{"patch":"*** Begin Patch\n*** Add File: a\n+ghp_0123456789abcdef\n*** End Patch"}`, ""},
		{"a path of a patch", "patch", `{"patch":"*** Begin Patch\n*** Add File: secret://PLAIN\n+x\n*** End Patch"}`, "", "path of a file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := p.InsertSecrets(Call{Tool: test.tool, Arguments: test.in}, values)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Fatalf("InsertSecrets = %s, %v; want an error with %q", got, err, test.refused)
				}
				for _, secret := range values {
					if strings.Contains(err.Error(), secret) {
						t.Fatalf("the error has a value: %v", err)
					}
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Fatalf("error %v, arguments (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestInsertSecretsInFreeText(t *testing.T) {
	values := map[string]string{"ODD": oddSecret}
	got, err := mustParse(t, typedTools).InsertSecrets(Call{Tool: "exec", Arguments: `run("secret://ODD")`, FreeText: true}, values)
	if want := `run("` + oddSecret + `")`; got != want || err != nil {
		t.Fatalf("InsertSecrets = %s, %v; want %s", got, err, want)
	}
}

// TestInsertSecretsUnderOtherNames: the form of a value is that of each tool that agents may run for a name.
func TestInsertSecretsUnderOtherNames(t *testing.T) {
	p := mustParse(t, "tools:\n  send: {resource: to, as: shell}\n  Send: {resource: to, as: url}\n  probe: {resource: url, as: url}\n  login: {resource: name}\n")
	values := map[string]string{"PLAIN": "ghp_0123456789abcdef", "ODD": "a b&c"}
	for _, test := range []struct{ tool, in, want string }{
		{"send", `{"to":"x secret://ODD"}`, `{"to":"x a\\ b\\&c"}`},
		{"Probe", `{"url":"https://example.org/?q=secret://ODD"}`, `{"url":"https://example.org/?q=a%20b%26c"}`},
		{"probe_tool", `{"url":"https://secret://PLAIN.example.org/"}`, ""},
		{"Login", `{"name":"secret://ODD"}`, `{"name":"a b&c"}`},
		{"SEND", `{"to":"https://example.org/?q=1 secret://PLAIN"}`, `{"to":"https://example.org/?q=1 ghp_0123456789abcdef"}`},
		{"SEND", `{"to":"https://example.org/?q=1 secret://ODD"}`, ""}, // a shell and a browser want different forms
	} {
		got, err := p.InsertSecrets(Call{Tool: test.tool, Arguments: test.in}, values)
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%s %s: InsertSecrets = %s, %v; want %s", test.tool, test.in, got, err, test.want)
		}
	}
}

func TestSecretNames(t *testing.T) {
	for _, test := range []struct {
		in   string
		free bool
		want []string
	}{
		{`{"a":"secret://A secret://B","b":["secret:\/\/A"],"secret://C":1}`, false, []string{"A", "B"}},
		{`no JSON secret://A`, false, []string{"A"}},
		{`"secret://A`, true, []string{"A"}},
		{`{"a":"x"}`, false, nil},
	} {
		if diff := cmp.Diff(test.want, SecretNames(test.in, test.free)); diff != "" {
			t.Errorf("SecretNames(%s) (-want +got):\n%s", test.in, diff)
		}
	}
}
