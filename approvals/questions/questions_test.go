package questions

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/toolschema"
)

const options = `"options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]`

// Each mistake of a model is named by the argument.
func TestRead(t *testing.T) {
	for _, tt := range []struct{ tool, args, want string }{
		{"request_clarification", `{"question":"q"}`, ""},
		{"request_clarification", `{"question":"q","type":"scope","options":null,"default":null,"allow_free_text":null}`, ""},
		{"request_clarification", `{"question":"q","default":"anything"}`, ""},
		{"request_clarification", `{"question":" "}`, "question: it is missing"},
		{"request_clarification", `{"question":"q","type":"branch"}`, "type: it must be one of"},
		{"request_clarification", `{"question":"q","max_selections":1}`, "max_selections: a question of the kind clarification"},
		{"request_clarification", `{"question":"q","fields":[]}`, "fields: a question"},
		{"request_clarification", `{"question":"q","allow_free_text":false}`, "options: it has 0"},
		{"request_clarification", `{"question":"` + strings.Repeat("x", maxText+1) + `"}`, "a text is longer"},
		{"request_decision", `{"question":"q",` + options + `}`, ""},
		{"request_decision", `{"question":"q","type":"confirmation"}`, ""},
		{"request_decision", `{"question":"q",` + options + `,"max_selections":2,"default":"b"}`, ""},
		{"request_decision", `{"question":"q",` + options + `,"max_selections":3}`, "max_selections: it must be 1 to 2"},
		{"request_decision", `{"question":"q",` + options + `,"default":"c"}`, "default: it must be the id"},
		{"request_decision", `{"question":"q","options":[{"id":"a","label":"A"},{"id":"a","label":"B"}]}`, "options/1/id: another has the same id"},
		{"request_decision", `{"question":"q","options":[{"id":"a","label":"A"},{"id":"b","label":""}]}`, "options/1/label: it is missing"},
		{"request_decision", `{"question":"q","options":[{"id":"a","label":"A","risk_level":"huge"},{"id":"b","label":"B"}]}`, "options/0/risk_level: it must be one of"},
		{"request_decision", `{"question":"q",` + options + `,"more":"` + strings.Repeat("x", maxText+1) + `"}`, "more: it is longer"},
		{"request_decision", `{"question":"q",` + options + `,"` + strings.Repeat("n", maxName+1) + `":1}`, "a name is longer"},
		{"request_decision", `{"question":"q",` + options + `,` + strings.Join(numberedMembers(maxOther+1), ",") + `}`, "arguments are not known"},
		{"request_decision", `{"question":"q",` + options + `,"Question":"r"}`, "an argument is there twice"},
		{"request_decision", `{"question":"q",` + options + `,"allowFreeText":1}`, "allowFreeText: it has the wrong type"},
		{"request_decision", `{"question":"q",` + options + `,"more":1,"more":2}`, "an argument is there twice"},
		{"request_decision", `{"question":1}`, "question: it has the wrong type"},
		{"request_decision", `{"question":"q","question":"r"}`, "an argument is there twice"},
		{"request_decision", `{"question":"q"`, "not strict JSON"},
		{"request_decision", `null`, "not a JSON object"},
		{"request_decision", `{"id":"x","question":"q",` + options + `}`, "id and kind"},
		{"request_env_var", `{"fields":[{"name":"HOST","secret":false,"pattern":"[a-z]+","default":"abc"}],"message":"m","tool":"gh"}`, ""},
		{"request_env_var", `{"fields":[{"name":"TOKEN"}]}`, ""},
		{"request_env_var", `{"fields":[{"name":"TOKEN","default":"abcdefgh1"}]}`, "fields/0/default: a secret has none"},
		{"request_env_var", `{"fields":[{"name":"` + strings.Repeat("A", 65) + `"}]}`, "fields/0/name: it must be"},
		{"request_env_var", `{"fields":[{"name":"TOKEN","secret":false,"input_type":"api_key"}]}`, "fields/0/secret: a value of the type api_key"},
		{"request_env_var", `{"fields":[{"name":"a b","secret":false}]}`, "fields/0/name: it must be"},
		{"request_env_var", `{"fields":[{"name":"A","secret":false},{"name":"A","secret":false}]}`, "fields/1/name: another"},
		{"request_env_var", `{"fields":[{"name":"A","secret":false,"pattern":"("}]}`, "fields/0/pattern: it is not"},
		{"request_env_var", `{"fields":[{"name":"A","secret":false,"pattern":"a)|(b"}]}`, "fields/0/pattern: it is not"},
		{"request_env_var", `{"fields":[{"name":"A","secret":false,"input_type":"url","default":"x"}]}`, "fields/0/default: it is not a URL"},
		{"request_env_var", `{"fields":[]}`, "fields: it has 0"},
		{"request_input", `{"questions":[{"id":"x","kind":"decision","question":"q",` + options + `},{"id":"y","kind":"env_var","fields":[{"name":"A","secret":false}]}]}`, ""},
		{"request_input", `{"questions":[{"id":"x","kind":"combined","question":"q"}]}`, "questions/0/kind: it must be"},
		{"request_input", `{"questions":[{"kind":"clarification","question":"q"}]}`, "questions/0/id: it is missing"},
		{"request_input", `{"questions":[{"id":"x","kind":"clarification","question":""}]}`, "questions/0/question: it is missing"},
		{"request_input", `{"questions":[]}`, "questions: it has 0"},
	} {
		_, list, err := Read(tt.tool, tt.args)
		switch {
		case tt.want == "" && (err != nil || len(list) == 0):
			t.Errorf("%s %.200s: %v", tt.tool, tt.args, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s %.200s: %v, want %s", tt.tool, tt.args, err, tt.want)
		}
	}
}

// numberedMembers are members of an object that have no meaning.
func numberedMembers(n int) (members []string) {
	for i := range n {
		members = append(members, fmt.Sprintf(`"x%d":1`, i))
	}
	return members
}

// What has no meaning is kept for people, and changes nothing.
func TestReadOtherArguments(t *testing.T) {
	for _, tt := range []struct{ tool, args, want string }{
		{"request_clarification", `{"question":"q","urgency":"high","n":1.50,"none":null,"deep":{"a":[1]}}`, `deep={"a":[1]} n=1.50 urgency=high`},
		{"request_decision", `{"question":"q","options":[{"id":"a","label":"A","owner":"<b>"},{"id":"b","label":"B"}]}`, `options/0/owner=<b>`},
		{"request_env_var", `{"fields":[{"name":"TOKEN","where":"vault"}],"why":"\u0041"}`, `why=A fields/0/where=vault`},
		{"request_input", `{"questions":[{"id":"x","kind":"clarification","question":"q","a":true},{"id":"y","kind":"clarification","question":"r","b":1}],"c":2}`, `a=true c=2 / b=1`},
		{"AskUserQuestion", `{"questions":[{"question":"q","header":"H","multiSelect":true,"options":[{"label":"A","value":"a","preview":"p"}]}],"metadata":{"s":1}}`, `header=H options/0/value=a options/0/preview=p metadata={"s":1}`},
		{"ask", `{"text":"q","mode":"m","follow_up":["a"]}`, `mode=m`},
	} {
		_, list, err := Read(tt.tool, tt.args)
		if err != nil {
			t.Errorf("%s %s: %v", tt.tool, tt.args, err)
			continue
		}
		var got []string
		for i, q := range list {
			if i > 0 {
				got = append(got, "/")
			}
			for _, other := range q.Other {
				got = append(got, other.Name+"="+other.Value)
				if !strings.Contains(q.Describe(), other.Name+": "+other.Value) {
					t.Errorf("the text has no %s:\n%s", other.Name, q.Describe())
				}
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.tool, tt.args, strings.Join(got, " "), tt.want)
		}
	}
	if _, list, err := Read("request_decision", `{"question":"q",`+options+`,"allowFreeText":true,"Default":"b"}`); err != nil || !list[0].AllowFreeText || list[0].Default != "b" || len(list[0].Other) > 0 {
		t.Errorf("names in another spelling: %+v, %v", list, err)
	}
}

// The schema that the model gets and the one that is read take the same valid arguments.
func TestSchemas(t *testing.T) {
	for _, tool := range Tools() {
		for _, schema := range []string{tool.Parameters, tool.Strict} {
			if !json.Valid([]byte(schema)) || len(toolschema.Check([]byte(schema), []byte(`{"no_such":1}`)).Error()) == 0 {
				t.Errorf("%s: %s", tool.Name, schema)
			}
		}
	}
	valid := map[string]string{
		"request_clarification": `{"question":"q"}`, "request_decision": `{"question":"q",` + options + `}`,
		"request_env_var": `{"fields":[{"name":"A","secret":false}]}`, "request_input": `{"questions":[{"id":"x","kind":"clarification","question":"q"}]}`,
	}
	for name, args := range valid {
		if err := toolschema.Check([]byte(find(name).Parameters), []byte(args)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := Read(name, args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	strict := `{"question":"q","type":null,"options":null,"allow_free_text":null,"default":null}`
	if err := toolschema.Check([]byte(find("request_clarification").Strict), []byte(strict)); err != nil {
		t.Error(err)
	}
}

func TestRecommendedOptionsAreFirst(t *testing.T) {
	q := approvals.Question{Options: []approvals.Option{{ID: "a"}, {ID: "b", Recommended: true}, {ID: "c"}}}
	var ids []string
	for _, o := range q.Ranked() {
		ids = append(ids, o.ID)
	}
	if !reflect.DeepEqual(ids, []string{"b", "a", "c"}) {
		t.Errorf("the options are %s", ids)
	}
}

func TestCheckForOtherActions(t *testing.T) {
	asks := &approvals.Request{Kind: approvals.KindClarification, Details: approvals.Details{Questions: []approvals.Question{{Kind: approvals.KindClarification, AllowFreeText: true}}}}
	for _, tt := range []struct {
		r     *approvals.Request
		d     approvals.Decision
		field string
	}{
		{asks, approvals.Decision{Action: approvals.ActionDeny}, ""},
		{asks, approvals.Decision{Action: approvals.ActionAbortRun}, ""},
		{asks, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "x"}}, ""},
		{asks, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: " "}}, "answer"},
		{asks, approvals.Decision{Action: approvals.ActionDeny, Response: approvals.Response{Selected: []string{"a"}}}, "selected"},
		{&approvals.Request{}, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"a"}}}, "answer"},
	} {
		err := CheckFor(tt.r, &tt.d)
		var invalid *approvals.InvalidError
		if errors.As(err, &invalid); (err == nil) != (tt.field == "") || (invalid != nil && invalid.Field != tt.field && tt.field != "answer") {
			t.Errorf("%+v: %v, want %q", tt.d, err, tt.field)
		}
	}
}

// A question that was read has options and fields within the limits, its defaults are
// answers that the check accepts, and its result is JSON.
func FuzzRead(f *testing.F) {
	for _, args := range []string{
		`{"question":"q",` + options + `,"default":"a"}`, `{"fields":[{"name":"A","secret":false,"required":true,"default":"x"}]}`,
		`{"questions":[{"id":"x","kind":"decision","question":"q",` + options + `,"default":"b","more":1}],"why":"w"}`, `{"question":"q","default":"d"}`, `{"questions":[{"question":"q","options":["a"]}]}`,
	} {
		for i := range tools {
			f.Add(uint8(i), args)
		}
		f.Add(uint8(len(tools)), args)
	}
	f.Fuzz(func(t *testing.T, which uint8, args string) {
		name := "AskUserQuestion"
		if int(which) < len(tools) {
			name = tools[which].Name
		}
		kind, list, err := Read(name, args)
		if err != nil {
			return
		}
		r := &approvals.Request{Kind: kind, ToolName: name, Status: approvals.StatusExpired, Details: approvals.Details{Questions: list}}
		d := approvals.Decision{Action: approvals.ActionAnswer}
		for i := range list {
			q := &list[i]
			if len(q.Options) > maxOptions || len(q.Fields) > maxFields || q.MaxSelections > len(q.Options) || len(list) > maxQuestions || len(q.Other) > maxOther {
				t.Fatalf("beyond the limits: %+v", q)
			}
			for _, field := range q.Fields {
				if field.Secret && field.Default != "" {
					t.Fatal("a secret has a default")
				}
			}
			if kind != approvals.KindCombined {
				d.Response = defaultOf(q)
				continue
			}
			if d.Responses == nil {
				d.Responses = map[string]approvals.Response{}
			}
			d.Responses[q.ID] = defaultOf(q)
		}
		if !r.HasDefaults() || strings.TrimSpace(list[0].Default) == "" && kind != approvals.KindEnvVar {
			return
		}
		if kind == approvals.KindCombined {
			for i := range list {
				if list[i].Kind != approvals.KindEnvVar && strings.TrimSpace(list[i].Default) == "" {
					return
				}
			}
		}
		if err := Check(r, &d); err != nil {
			t.Fatalf("the default is no answer: %v", err)
		}
		if find(name) != nil && !json.Valid([]byte(result(r, &d, byPerson))) {
			t.Fatalf("not JSON: %s", result(r, &d, byPerson))
		}
	})
}
