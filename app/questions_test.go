package app_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/questions"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// Questions of models to people, through the front door: in each API, streamed and whole.

const offersAll = "questions: {offer: [clarification, decision, env_var, input]}\n"

// asking is an answer with calls, the arguments of each after its tool.
func asking(calls ...string) fakemodel.Answer {
	a := fakemodel.Answer{Text: "Let me see."}
	for i := 0; i+1 < len(calls); i += 2 {
		a.Calls = append(a.Calls, fakemodel.Call{ID: fmt.Sprintf("call_sesame%dXk9", i/2), Name: calls[i], Arguments: calls[i+1]})
	}
	return a
}

const (
	whichSesame = `{"question":"Which sesame?","type":"single_choice","options":[{"id":"black","label":"Black sesame"},{"id":"white","label":"White sesame","description":"hulled","recommended":true,"risk_level":"low","estimated_time":"1 h","estimated_cost":"2 EUR","risks":["none"]}]}`
	howSesame   = `{"question":"How much sesame?"}`
)

// withTools gives the agent tools by their names.
func (k *talk) withTools(names ...string) *talk {
	var tools []any
	for _, name := range names {
		schema := map[string]any{"type": "object"}
		switch {
		case strings.HasSuffix(k.path, "/completions"):
			tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": schema}})
		case strings.HasSuffix(k.path, "/messages"):
			tools = append(tools, map[string]any{"name": name, "input_schema": schema})
		default:
			tools = append(tools, map[string]any{"type": "function", "name": name, "parameters": schema, "strict": false})
		}
	}
	k.fields = map[string]any{"tools": tools}
	return k
}

// begin sends a message of the user beside the test.
func (k *talk) begin(text string) chan read {
	answer := make(chan read, 1)
	go func() { answer <- k.say(text) }()
	return answer
}

// leakOfQuestions returns what of a question, or of the tools for questions, an agent has
// got.
func leakOfQuestions(answer string) string {
	parts := []string{"sesame", "call_sesame", "Sesame"}
	for _, t := range questions.Tools() {
		parts = append(parts, t.Name, t.Description[:20])
	}
	for _, part := range parts {
		if strings.Contains(answer, part) {
			return part
		}
	}
	return ""
}

// toolsOf are the bytes of the tools in the nth request to upstream.
func (w *world) toolsOf(n int) string {
	return gjson.GetBytes(w.upstream.Requests()[n].Body, "tools").Raw
}

// A question is held, never shown to the agent, and its answer continues the answer. The
// tools are the same bytes in each request, and so is the hidden turn.
func TestQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		w := build(t, offersAll+allowAll, inOrder(asking("request_decision", whichSesame), fakemodel.Answer{Text: "I take it."}, fakemodel.Answer{Text: "Yes."}), comments)
		k := talkTo(w).withTools("bash")
		answer := k.begin("do it")
		r := w.pending(1)[0]
		if r.Kind != approvals.KindDecision || r.ToolName != "request_decision" || len(r.Details.Questions) != 1 || len(r.Details.Questions[0].Options) != 2 || r.AllowRemember || r.Title != "The agent asks for a decision" || r.ArgsPreview != "Which sesame?" {
			t.Errorf("the request is %+v", r)
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{"white"}}})
		got := <-answer
		if leak := leakOfQuestions(k.raw); leak != "" || len(got.calls) > 0 || !strings.Contains(got.text, "Let me see.") || !strings.Contains(got.text, "I take it.") {
			t.Fatalf("%q is in the answer %s", leak, k.raw)
		}
		if ended := w.status(r.ID, approvals.StatusAnswered); ended.Details.EndedAt == nil {
			t.Errorf("it ended as %+v", ended)
		}
		second := string(w.upstream.Requests()[1].Body)
		if !strings.Contains(second, `{\"answer\":\"White sesame\",\"selected\":[\"white\"],\"answered_by\":\"person\"}`) {
			t.Errorf("the model gets %s", second)
		}
		k.say("really?")
		third := string(w.upstream.Requests()[2].Body)
		if !strings.Contains(third, "answered_by") || strings.Count(third, "Which sesame?") != 1 {
			t.Errorf("the hidden turn is not in the next request: %s", third)
		}
		if w.toolsOf(0) != w.toolsOf(1) || w.toolsOf(0) != w.toolsOf(2) || gjson.Get(w.toolsOf(0), "#").Int() != 5 || !strings.Contains(gjson.Get(w.toolsOf(0), "0").Raw, "bash") {
			t.Errorf("the tools are\n%s\n%s", w.toolsOf(0), w.toolsOf(2))
		}
		if types := w.audited(); !slices.Contains(types, "question_answered") || slices.Contains(types, "call_denied") || slices.Contains(types, "call_released") {
			t.Errorf("the audit log has %s", types)
		}
	})
}

// Beside the agent's own calls: the agent gets these, the answers go to the model with the
// agent's next request. Several questions at once are several requests.
func TestQuestionsBesideCalls(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		w := build(t, offersAll+allowAll, inOrder(asking("request_decision", whichSesame, "bash", `{"command":"ls"}`, "request_clarification", howSesame), fakemodel.Answer{Text: "Done."}))
		k := talkTo(w).withTools("bash")
		answer := k.begin("do it")
		for _, r := range w.pending(2) {
			d := approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "Two spoons."}}
			if r.Kind == approvals.KindDecision {
				d.Response = approvals.Response{Selected: []string{"black"}}
			}
			w.decide(r.ID, d)
		}
		got := <-answer
		if leak := leakOfQuestions(strings.ReplaceAll(k.raw, "call_sesame1Xk9", "")); leak != "" || len(got.calls) != 1 || got.calls[0].Name != "bash" {
			t.Fatalf("%q is in the answer %s", leak, k.raw)
		}
		if n := len(w.upstream.Requests()); n != 1 {
			t.Fatalf("upstream was asked %d times", n)
		}
		k.result(got.calls[0].ID, "files")
		if last := k.send(); last.text != "Done." {
			t.Errorf("it ends with %+v", last)
		}
		body := string(w.upstream.Requests()[1].Body)
		for _, part := range []string{`\"selected\":[\"black\"]`, "Two spoons.", "files"} {
			if strings.Count(body, part) != 1 {
				t.Errorf("%s is not once in %s", part, body)
			}
		}
	})
}

// A question waits a day where its call may be parked, 300 s elsewhere, and as long as the policy states or the configuration
// permits. What it has beyond the known arguments is shown, not refused.
func TestQuestionTimes(t *testing.T) {
	t.Parallel()
	const blocked = "rules: [{ask: [\"bash(*)\"], hold: block}]\n"
	for name, tt := range map[string]struct {
		policy string
		setup  func(*app.Config)
		calls  []string
		want   time.Duration
	}{
		"held":               {setup: func(*app.Config) {}, want: 300 * time.Second},
		"parked":             {setup: parks, want: 24 * time.Hour},
		"parked and limited": {setup: func(c *app.Config) { parks(c); c.Hold.MaxWait = time.Hour }, want: time.Hour},
		"by the policy":      {policy: strings.Replace(offersAll, "{", "{timeout: 2h, ", 1), setup: func(*app.Config) {}, want: 2 * time.Hour},
		"parked by policy":   {policy: strings.Replace(offersAll, "{", "{timeout: 2h, ", 1), setup: parks, want: 2 * time.Hour},
		"beside a block":     {policy: offersAll + blocked, setup: parks, calls: []string{"bash", `{"command":"ls /sesame"}`}, want: 300 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, cmp.Or(tt.policy, offersAll+allowAll), inOrder(asking(append([]string{"request_clarification", `{"question":"How much?","urgency":"high"}`}, tt.calls...)...), fakemodel.Answer{Text: "Done."}), tt.setup)
			answer := newTalk(w, fakemodel.Chat, true).withTools("bash").begin("do it")
			all := w.pending(1 + len(tt.calls)/2)
			r := all[slices.IndexFunc(all, func(r approvals.Request) bool { return r.Asks() })]
			if got := r.ExpiresAt.Sub(r.CreatedAt).Round(time.Second); got != tt.want {
				t.Errorf("people have %s, want %s", got, tt.want)
			}
			if other := r.Details.Questions[0].Other; len(other) != 1 || other[0] != (approvals.OtherArgument{Name: "urgency", Value: "high"}) {
				t.Errorf("the other arguments are %+v", other)
			}
			if len(r.Details.Flags) > 0 {
				t.Errorf("warnings: %s", r.Details.Flags)
			}
			for _, r := range all {
				d := approvals.Decision{Action: approvals.ActionApprove}
				if r.Asks() {
					d = approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "Two spoons."}}
				}
				w.decide(r.ID, d)
			}
			<-answer
		})
	}
}

// What ends a question otherwise is distinct to the model, and not shown to the agent.
func TestQuestionsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call    []string
		decide  *approvals.Decision // nil: nobody answers in time
		nobody  bool                // is asked
		told    string
		outcome string
	}{
		"declined":    {call: []string{"request_decision", whichSesame}, decide: &approvals.Decision{Action: approvals.ActionDeny, Note: "Choose yourself"}, told: "does not want to answer it. Their note: Choose yourself. Do not ask", outcome: "denied_by_person"},
		"expired":     {call: []string{"request_decision", whichSesame}, told: "Nobody answered this question in time", outcome: "expired"},
		"by default":  {call: []string{"request_clarification", `{"question":"How much sesame?","default":"two spoons"}`}, told: `Nobody answered in time. These are the defaults that you gave: {\"answer\":\"two spoons\",\"selected\":[],\"answered_by\":\"default\"}`, outcome: "answered_by_default"},
		"not valid":   {call: []string{"request_decision", `{"question":"Which sesame?"}`}, nobody: true, told: "is not valid, so nobody was asked: options: it has 0", outcome: "invalid_question"},
		"not JSON":    {call: []string{"request_decision", `{"question":"Which sesame?"`}, nobody: true, told: "not strict JSON", outcome: "invalid_question"},
		"of a secret": {call: []string{"request_env_var", `{"fields":[{"name":"SESAME_KEY","required":true}]}`}, told: "Nobody answered this question in time", outcome: "expired"},
	} {
		for path, body := range dialectRequests {
			if name == "not JSON" && path == "/v1/messages" {
				continue // the test's upstream cannot write it
			}
			t.Run(name+" "+path, func(t *testing.T) {
				t.Parallel()
				w := build(t, offersAll+denyAll, inOrder(asking(tt.call...), fakemodel.Answer{Text: "I go on.", Fragment: 100}), func(c *app.Config) {
					if tt.decide == nil {
						c.Hold.MaxWait = time.Second
					}
				})
				answer := make(chan string, 1)
				go func() { answer <- w.post(path, body).rest() }()
				if tt.decide != nil {
					w.decide(w.pending(1)[0].ID, *tt.decide)
				}
				got := <-answer
				if leak := leakOfQuestions(got); leak != "" || !strings.Contains(got, "I go on.") {
					t.Fatalf("%q is in the answer %s", leak, got)
				}
				if body := string(w.upstream.Requests()[1].Body); !strings.Contains(body, tt.told) {
					t.Errorf("the model gets %s", body)
				}
				page, err := w.console.Requests(t.Context(), approvals.Filter{})
				if err != nil || (len(page.Items) == 0) != tt.nobody {
					t.Errorf("%d requests, %v", len(page.Items), err)
				}
				if metrics := w.get(w.app.ConsoleURL() + "/metrics"); !strings.Contains(metrics, fmt.Sprintf(`heldcall_calls_total{outcome=%q} 1`, tt.outcome)) {
					t.Errorf("the outcome %s is not counted", tt.outcome)
				}
			})
		}
	}
}

// Tools are offered only as the policy says, and never beside a tool of the agent with the
// same name.
func TestOfferedTools(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy string
		tools  []string
		want   string // names in the request to upstream
	}{
		"none by default":        {askAll, []string{"bash"}, `["bash"]`},
		"one":                    {"questions: {offer: [env_var]}\n", []string{"bash"}, `["bash","request_env_var"]`},
		"not to agents without":  {offersAll, nil, `[]`},
		"always":                 {"questions: {offer: [decision], always: true}\n", nil, `["request_decision"]`},
		"in one order":           {"questions: {offer: [input, clarification]}\n", []string{"bash"}, `["bash","request_clarification","request_input"]`},
		"not those of the agent": {"questions: {offer: [clarification, decision]}\n", []string{"request_decision"}, `["request_decision","request_clarification"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
				w := build(t, tt.policy, inOrder(fakemodel.Answer{Text: "Yes."}))
				k := talkTo(w)
				k.fields = map[string]any{"tools": []any{}}
				if tt.tools != nil {
					k.withTools(tt.tools...)
				}
				if got := k.say("do it"); got.text == "" {
					t.Fatalf("the answer is %s", k.raw)
				}
				names := []string{}
				gjson.Parse(w.toolsOf(0)).ForEach(func(_, tool gjson.Result) bool {
					names = append(names, `"`+tool.Get("name").Str+tool.Get("function.name").Str+`"`)
					return true
				})
				if got := "[" + strings.Join(names, ",") + "]"; got != tt.want {
					t.Errorf("the tools are %s, want %s", got, tt.want)
				}
				echoed := gjson.Get(k.raw, "tools.#.name").Raw
				if strings.HasSuffix(k.path, "/responses") && k.streamed {
					echoed = answerIn(t, k.raw).Get("tools.#.name").Raw
				}
				if own := strings.Join(tt.tools, `","`); echoed != "" && echoed != "[]" && echoed != `["`+own+`"]` {
					t.Errorf("the agent gets the tools %s", echoed)
				}
			})
		})
	}
}

// A tool of the agent with such a name is judged like any other.
func TestOwnToolWithTheNameOfAQuestion(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		w := build(t, offersAll+askAll, inOrder(asking("request_decision", whichSesame)))
		k := talkTo(w).withTools("request_decision")
		answer := k.begin("do it")
		r := w.pending(1)[0]
		if r.Kind != approvals.KindPermission {
			t.Errorf("the request is %+v", r)
		}
		w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
		if got := <-answer; len(got.calls) != 1 || got.calls[0].Name != "request_decision" {
			t.Errorf("the agent gets %s", k.raw)
		}
	})
}

// A question tool of the agent is answered by reviewers, in the form of that agent.
func TestQuestionToolsOfAgents(t *testing.T) {
	t.Parallel()
	for tool, tt := range map[string]struct{ arguments, answer, told string }{
		"AskUserQuestion":       {`{"questions":[{"question":"Which sesame?","header":"Sesame","multiSelect":false,"options":[{"label":"Black","description":"b"},{"label":"White","description":"w"}]}]}`, "1", `The user has answered your questions: \"Which sesame?\"=\"Black\". You can now`},
		"question":              {`{"questions":[{"question":"Which sesame?","header":"S","options":[{"label":"Black","description":"b"}]}]}`, "1", `\"Which sesame?\"=\"Black\"`},
		"request_user_input":    {`{"questions":[{"id":"kind","header":"S","question":"Which sesame?","options":[{"label":"Black (Recommended)","description":"b"}]}]}`, "1", `{\"answers\":{\"kind\":{\"answers\":[\"Black (Recommended)\"]}}}`},
		"ask_followup_question": {`{"question":"Which sesame?","options":["Black","White"]}`, "2", `\"Which sesame?\"=\"White\"`},
		"ask_user":              {`{"sesame":["?"]}`, "", `=\"as you like\"`},
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
				w := build(t, allowAll+"tools: {"+tool+": {as: question}}\n", inOrder(asking(tool, tt.arguments), fakemodel.Answer{Text: "Thanks."}))
				k := talkTo(w).withTools(tool)
				answer := k.begin("do it")
				d := approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "as you like"}}
				if tt.answer != "" {
					d.Response = approvals.Response{Selected: []string{tt.answer}}
				}
				w.decide(w.pending(1)[0].ID, d)
				got := <-answer
				if len(got.calls) > 0 || strings.Contains(k.raw, "call_sesame") || strings.Contains(k.raw, "esame?") || !strings.Contains(got.text, "Thanks.") {
					t.Errorf("the agent gets %s", k.raw)
				}
				if body := string(w.upstream.Requests()[1].Body); !strings.Contains(body, tt.told) {
					t.Errorf("the model gets %s", body)
				}
			})
		})
	}
}

// The server checks answers, and names the field that is wrong; the question stays open.
func TestAnswersAreChecked(t *testing.T) {
	t.Parallel()
	const several = `{"questions":[{"id":"a","kind":"decision","question":"Which sesame?","options":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]},{"id":"b","kind":"env_var","fields":[{"name":"HOST","required":true,"secret":false,"pattern":"[a-z.]+"}]}]}`
	w := build(t, offersAll+allowAll, inOrder(asking("request_input", several), fakemodel.Answer{Text: "Done."}))
	k := newTalk(w, fakemodel.Chat, true).withTools("bash")
	answer := k.begin("do it")
	r := w.pending(1)[0]
	if r.Kind != approvals.KindCombined || len(r.Details.Questions) != 2 {
		t.Fatalf("the request is %+v", r)
	}
	for body, field := range map[string]string{
		`{"action":"answer","answer":"x"}`:                                                         "answer",
		`{"action":"answer","responses":{"a":{"selected":["x"]}}}`:                                 "responses.b.values.HOST",
		`{"action":"answer","responses":{"a":{"selected":["z"]},"b":{"values":{"HOST":"h"}}}}`:     "responses.a.selected",
		`{"action":"answer","responses":{"a":{"selected":["x","y"]},"b":{"values":{"HOST":"h"}}}}`: "responses.a.selected",
		`{"action":"answer","responses":{"a":{"answer":"free"},"b":{"values":{"HOST":"h"}}}}`:      "responses.a.answer",
		`{"action":"answer","responses":{"a":{"selected":["x"]},"b":{"values":{"HOST":"H1"}}}}`:    "responses.b.values.HOST",
		`{"action":"answer","responses":{"a":{"selected":["x"]},"b":{"values":{"PORT":"1"}}}}`:     "responses.b.values.PORT",
		`{"action":"answer","responses":{"c":{}}}`:                                                 "responses.c",
		`{"action":"approve"}`:                                                                         "action",
		`{"action":"modify_args","modified_args":{}}`:                                                  "action",
		`{"action":"deny","responses":{"a":{"selected":["x"]}}}`:                                       "responses",
		`{"action":"answer","responses":{"a":{"selected":["x"]},"b":{"values":{"HOST":1}}}}`:           "responses/b/values/HOST",
		`{"action":"answer","responses":{"a":{"selected":["x","x"]},"b":{"values":{"HOST":"h.de"}}}}`:  "responses.a.selected",
		`{"action":"answer","responses":{"a":{"values":{"HOST":"h"}},"b":{"values":{"HOST":"h.de"}}}}`: "responses.a.values",
	} {
		resp, err := http.Post(w.app.ConsoleURL()+"/api/v1/requests/"+r.ID+"/decision", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var problem strings.Builder
		_ = resp.Write(&problem)
		resp.Body.Close()
		if _, text, _ := strings.Cut(problem.String(), "\r\n\r\n"); resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, `"field":"`+field+`"`) {
			t.Errorf("%s: %s", body, problem.String())
		}
	}
	w.decide(r.ID, approvals.Decision{Action: approvals.ActionAnswer, Responses: map[string]approvals.Response{"a": {Selected: []string{"y"}}, "b": {Values: map[string]string{"HOST": "example.org"}}}})
	<-answer
	if body := string(w.upstream.Requests()[1].Body); !strings.Contains(body, `{\"a\":{\"answer\":\"Y\",\"selected\":[\"y\"],\"answered_by\":\"person\"},\"b\":{\"HOST\":\"example.org\"}}`) {
		t.Errorf("the model gets %s", body)
	}
	var decided *approvals.DecidedError
	if _, err := w.console.Decide(context.Background(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionAnswer}); !errors.As(err, &decided) {
		t.Errorf("a second answer: %v", err)
	}
}

// A permission request can be answered in words: the call does not run and is not denied, so
// the model may make it again.
func TestPermissionAnsweredInWords(t *testing.T) {
	t.Parallel()
	eachTalk(t, func(t *testing.T, talkTo func(*world) *talk) {
		w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame), list("call_sesame2Xk9", sesame), fakemodel.Answer{Text: "Elsewhere, then."}))
		k := talkTo(w).withTools("bash")
		answer := k.begin("do it")
		for range 2 { // the same call is asked about again
			w.decide(w.pending(1)[0].ID, approvals.Decision{Action: approvals.ActionAnswer, Response: approvals.Response{Answer: "Use the other folder."}})
		}
		if got := <-answer; leakOfQuestions(k.raw) != "" || len(got.calls) > 0 || !strings.Contains(got.text, "Elsewhere, then.") {
			t.Errorf("the agent gets %s", k.raw)
		}
		if body := string(w.upstream.Requests()[1].Body); !strings.Contains(body, "not refused either. They answer: Use the other folder.") {
			t.Errorf("the model gets %s", body)
		}
		if types := w.audited(); !slices.Contains(types, "question_answered") || slices.Contains(types, "call_denied") || slices.Contains(types, "call_released") {
			t.Errorf("the audit log has %s", types)
		}
	})
}
