package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/tidwall/gjson"
)

// offering is a request that offers tools.
const offering = `{"model":"m","input":[{"role":"user","content":"hi"}],"tools":[%s]}`

// TestNamespaces looks at calls that name a namespace: Codex offers its own in an
// item of the input, and takes its calls with the namespace or without.
func TestNamespaces(t *testing.T) {
	call := strings.Replace(custom, `"name":"sql"`, `"name":"exec","namespace":"functions"`, 1)
	for _, offered := range []bool{true, false} {
		tools := ""
		if offered {
			tools = `{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]}`
		}
		p := newPlayer(t, asked(fmt.Sprintf(`{"model":"m","input":[{"type":"additional_tools","role":"developer","tools":[%s]},{"role":"user","content":"hi"}]}`, tools)), 99, intercept.Limits{})
		if err := p.Feed(stream("resp_1", call)); err != nil {
			t.Fatal(err)
		}
		c := p.Answer.Calls()[0]
		if want := map[bool]string{true: "functions.exec", false: "exec"}[offered]; c.Name != want || (len(c.Ambiguous) == 0) != offered {
			t.Errorf("offered %t: %+v", offered, c)
		}
	}
}

// TestNamesWithoutNamespace looks at calls of what only a namespace offers, under
// names that some clients find it by.
func TestNamesWithoutNamespace(t *testing.T) {
	const inside = `{"type":"namespace","name":"fs","tools":[{"type":"function","name":"delete"}]}`
	for _, tt := range []struct {
		tools, name, namespace string
		judged                 string
		doubt                  bool
	}{
		{inside, "delete", "", "delete", true},
		{inside, "fs__delete", "", "fs__delete", true},
		{inside, "fsdelete", "", "fsdelete", true},
		{inside, "fs.delete", "", "fs.delete", false}, // it is judged under that name
		{inside, "delete", "fs", "fs.delete", false},
		{inside, "delete", "other", "delete", true},
		{inside, "fs_undelete", "", "fs_undelete", false},
		{inside, "bash", "", "bash", false},
		{inside + `,{"type":"function","name":"delete"}`, "delete", "", "delete", false},
		{inside + `,{"type":"custom","name":"fs__delete"}`, "fs__delete", "", "fs__delete", false},
		{`{"type":"namespace","name":"a","tools":[` + inside + `]}`, "delete", "a.fs", "a.fs.delete", false},
		{`{"type":"namespace","name":"a","tools":[` + inside + `]}`, "delete", "fs", "delete", true},
	} {
		call := strings.Replace(function("a", tt.name, "{}"), `"type":`, `"namespace":"`+tt.namespace+`","type":`, 1)
		for _, answer := range []string{stream("resp_1", call), whole("resp_1", call)} {
			p := newPlayer(t, asked(fmt.Sprintf(offering, tt.tools)), 99, intercept.Limits{})
			if err := p.Feed(answer); err != nil {
				t.Fatal(err)
			}
			if c := p.Answer.Calls()[0]; c.Name != tt.judged || (len(c.Ambiguous) > 0) != tt.doubt {
				t.Errorf("%+v: %+v", tt, c)
			}
		}
	}
}

// TestNamespaceThatComesLate: the first of a call to name its namespace is its end.
func TestNamespaceThatComesLate(t *testing.T) {
	const tools = `{"type":"function","name":"delete"},{"type":"namespace","name":"fs","tools":[{"type":"function","name":"delete"}]}`
	for _, namespace := range []string{"fs", "other"} {
		for _, name := range []string{"delete", ""} {
			call := function("a", "delete", "{}")
			late := strings.ReplaceAll(stream("resp_1", strings.Replace(call, `"type":`, `"namespace":"`+namespace+`","type":`, 1)), "\r", "")
			at := strings.Index(late, "response.output_item.added")
			end := at + strings.Index(late[at:], "\n\n")
			began := strings.Replace(strings.Replace(late[at:end], `"namespace":"`+namespace+`",`, "", 1), `"name":"delete"`, `"name":"`+name+`"`, 1)
			p := newPlayer(t, asked(fmt.Sprintf(offering, tools)), 99, intercept.Limits{})
			if err := p.Feed(late[:at] + began + late[end:]); err != nil {
				t.Fatal(err)
			}
			if c := p.Answer.Calls()[0]; (len(c.Ambiguous) > 0) != (name != "" || namespace == "other") {
				t.Errorf("%q, %q: %+v", namespace, name, c)
			}
		}
	}
}

// TestWhatTheProviderRunsIsNotHeld reads items of types that agents run too.
func TestWhatTheProviderRunsIsNotHeld(t *testing.T) {
	contained := strings.Replace(shell, `"action"`, `"environment":{"type":"container_reference"},"action"`, 1)
	xsearch := strings.Replace(custom, `"sql"`, `"x_keyword_search"`, 1)
	for _, tt := range []struct {
		item, tools string
		calls       int
	}{
		{contained, `{"type":"shell","environment":{"type":"container_auto"}}`, 0},
		{contained, `{"type":"shell","environment":{"type":"container_auto"}},{"type":"shell"}`, 1},
		{contained, ``, 1},
		{strings.Replace(search, "client", "server", 1), `{"type":"tool_search"}`, 0},
		{strings.Replace(search, `"client"`, "null", 1), `{"type":"tool_search"}`, 1},
		{xsearch, `{"type":"x_search"}`, 0},
		{xsearch, `{"type":"x_search"},{"type":"custom","name":"x_keyword_search"}`, 1},
		{xsearch, ``, 1},
		{web, ``, 0},
	} {
		post := asked(fmt.Sprintf(offering, tt.tools))
		told := strings.Replace(stream("resp_1", tt.item), `"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]`, `"tools":[`+tt.tools+`]`, -1)
		for _, e := range []intercept.Envelope{post, got("resp_1", "stream=true")} {
			p := newPlayer(t, e, 99, intercept.Limits{})
			if err := p.Feed(told); err != nil {
				t.Fatal(err)
			}
			if calls := p.Answer.Calls(); len(calls) != tt.calls {
				t.Errorf("%s of %s: %d calls", e.Method, gjson.Get(tt.item, "type"), len(calls))
			}
		}
	}
}
