package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
)

// TestTables plays each row of the tables through its dialect: the sample of the name, with all fields that the packages
// know, as upstream or the agent would send it.
func TestTables(t *testing.T) {
	rows, samples := readAll(t)
	offers := offered(t, rows, samples)
	for _, r := range rows {
		t.Run(r.dialect+"/"+r.kind+"/"+r.name, func(t *testing.T) {
			sample := r.sample(t, samples)
			stage := newStage(r.dialect, offers[r.dialect])
			for form, act := range stage.acts(stage, r, sample) {
				if got, problem := act.play(t); got != r.does || (problem != "" && got != "refused") {
					t.Errorf("%s: %s, %s, is %s; want %s %s\n%s", r.place, r.name, form, got, r.does, problem, sample)
				}
			}
		})
	}
}

// TestSamplesHaveRows: each sample has a row, also after new samples were written.
func TestSamplesHaveRows(t *testing.T) {
	rows, samples := readAll(t)
	for k := range samples {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.key == k }) && !slices.Contains(headers, k.name) {
			t.Errorf("%s.txt has no row for %s %s", k.dialect, k.kind, k.name)
		}
	}
}

// TestCompare: a name that no row has fails, and is named with the packages that have it.
func TestCompare(t *testing.T) {
	rows := []row{{key: key{"responses", "item", "message"}}}
	for name, tt := range map[string]struct {
		found map[key][]string
		want  []string
	}{
		"all are known": {map[key][]string{{"responses", "item", "message"}: {"Go"}}, nil},
		"headers":       {map[key][]string{{"responses", "field", "betas"}: {"Node"}}, nil},
		"a new one": {
			map[key][]string{{"responses", "item", "robot_call"}: {"Python", "Go"}, {"responses", "item", "message"}: {"Go"}},
			[]string{"responses.txt lacks item", "robot_call", "(Python, Go)", "1 names are in no table", "what is not understood is not released"},
		},
		"of another kind": {map[key][]string{{"responses", "block", "message"}: {"Go"}}, []string{"block", "message"}},
	} {
		var out strings.Builder
		err := compare(&out, rows, tt.found)
		if (err != nil) != (tt.want != nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range tt.want {
			if text := fmt.Sprint(out.String(), err); !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %q", name, want, text)
			}
		}
	}
}

// TestGoNames: the names in the source of a module.
func TestGoNames(t *testing.T) {
	dir := t.TempDir()
	const source = `package sdk
type Item struct { Type string ` + "`json:\"type\"`" + ` }
func (u Item) AsAny() any { return nil }
func (u Item) AsMessage() (v Message) { return }
func (u Item) AsSearch() (v Search) { return }
func (u Item) AsNested() (v Nested) { return }
func (u Nested) AsCall() (v Call) { return }
type Nested struct{}
type Message struct { Type constant.Message ` + "`json:\"type\" default:\"message\"`" + ` }
type Search struct { Type SearchType ` + "`json:\"type,omitzero\"`" + ` }
type SearchType string
const ( SearchTypeA SearchType = "search"; SearchTypeB SearchType = "search_2" )
type Call struct { Type constant.Call ` + "`json:\"type\" default:\"call\"`" + ` }
type Tool struct { OfCall *Call ` + "`json:\",omitzero,inline\"`" + `; OfRole *Role ` + "`json:\",omitzero,inline\"`" + `; paramUnion }
type Role struct { Role constant.User ` + "`json:\"role\" default:\"user\"`" + ` }
type Params struct { Input string ` + "`json:\"input,omitzero\"`" + `; Header string ` + "`json:\"-\"`" + `; paramObj }
`
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	sdk := newGoSource()
	if err := sdk.read(dir); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ kind, typ, want string }{
		{"item", "Item", "message search search_2 call"}, {"tool", "Tool", "call user"}, {"field", "Params", "input"}, {"item", "Gone", ""},
	} {
		if got := strings.Join(sdk.names(tt.kind, tt.typ), " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.typ, got, tt.want)
		}
	}
	if err := sdk.read(t.TempDir()); err == nil {
		t.Error("a folder without source is read")
	}
}

func readAll(t *testing.T) ([]row, map[key]json.RawMessage) {
	t.Helper()
	rows, err := readTables()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("samples.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	samples, err := readSamples(file)
	if err != nil {
		t.Fatal(err)
	}
	return rows, samples
}

// sample is the value that a row plays: that of its name, with the members of the row's change. A name that no
// package for Python has is its own sample.
func (r *row) sample(t *testing.T, samples map[key]json.RawMessage) string {
	t.Helper()
	value := samples[r.key]
	if value == nil {
		value = json.RawMessage(`{` + quote(r.name) + `:"some"}`)
	}
	if r.change == "" {
		return string(value)
	}
	var sample, change map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(value, &sample), json.Unmarshal([]byte(r.change), &change)); err != nil {
		t.Fatalf("%s: %v", r.place, err)
	}
	for name, member := range change {
		if sample[name] = member; string(member) == "null" {
			delete(sample, name)
		}
	}
	changed, err := json.Marshal(sample)
	if err != nil {
		t.Fatal(err)
	}
	return string(changed)
}

// offered are the agent's own tools of each dialect, which the requests of the test offer.
func offered(t *testing.T, rows []row, samples map[key]json.RawMessage) map[string]string {
	tools := make(map[string]string)
	for _, r := range rows {
		if r.kind == "tool" && r.runs == "agent" {
			tools[r.dialect] = strings.TrimPrefix(tools[r.dialect]+","+r.sample(t, samples), ",")
		}
	}
	return tools
}

// stage is how the things of a dialect are played.
type stage struct {
	dialect intercept.Dialect
	path    string
	tools   string
	begin   string                                              // a request without its end
	history string                                              // a field of the history
	acts    func(s *stage, r row, sample string) map[string]act // by the form of the answer
}

// act is a request, and upstream's answer to it, if it has one: the beginning, the thing and the rest
// after it.
type act struct {
	stage                 *stage
	request               string
	before, thing, ending string
	item                  string // of a held call: what the agent has to get
}

// play returns what heldcall does with the thing of an act, and what else is wrong.
func (a *act) play(t *testing.T) (deed, problem string) {
	t.Helper()
	r, err := a.stage.dialect.Request(intercept.Envelope{Method: "POST", Path: a.stage.path, Body: []byte(a.request)})
	switch {
	case err != nil:
		return "refused", err.Error()
	case a.thing == "" && len(r.Hosted()) > 0:
		return "judged", ""
	case a.thing == "" && len(r.ResultContents()) > 0:
		return "result", ""
	case a.thing == "" && string(r.Envelope().Body) != a.request:
		return "passed", "changed: " + string(r.Envelope().Body)
	case a.thing == "":
		return "passed", ""
	}
	answer := intercept.NewAnswer(r, intercept.Limits{MaxBytes: 1 << 20, TurnID: "t"})
	answer.Begin()
	var out bytes.Buffer
	write := func(part string) error {
		b, err := answer.Write([]byte(part))
		out.Write(b)
		return err
	}
	if err := write(a.before); err != nil {
		return "refused", "before it: " + err.Error()
	}
	if err := write(a.thing); err != nil {
		return "refused", err.Error()
	}
	err = write(a.ending)
	if err == nil {
		var b []byte
		b, err = answer.End(true)
		out.Write(b)
	}
	if err == nil && len(answer.Calls()) == 0 {
		var resolution intercept.Resolution
		resolution, err = answer.Resolve(nil)
		out.Write(resolution.Bytes)
	}
	passed := strings.Contains(out.String(), a.thing)
	switch {
	case passed && err != nil:
		return "passed", "and then: " + err.Error()
	case passed:
		return "passed", ""
	case err != nil:
		return "refused", err.Error()
	case len(answer.Calls()) == 0:
		return "changed", out.String()
	}
	return "held", a.release(answer, out.String())
}

// release lets a held call go, and returns what is wrong about it. A part of a call is only held.
func (a *act) release(answer *intercept.Answer, out string) string {
	calls := answer.Calls()
	switch {
	case a.item == "":
		return ""
	case len(calls) != 1:
		return fmt.Sprintf("and there are %d calls", len(calls))
	case len(calls[0].Ambiguous) > 0:
		return "as ambiguous: " + strings.Join(calls[0].Ambiguous, " ")
	}
	released, err := answer.Resolve([]intercept.Ruling{{Action: intercept.Release}})
	switch {
	case err != nil:
		return "and not released: " + err.Error()
	case calls[0].Hosted != "":
		return ""
	}
	if missing := lost(a.item, out+string(released.Bytes)); missing != "" {
		return "and loses " + missing
	}
	return ""
}
