package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

// What Responses is beside the other APIs, through the front door: answers that
// upstream keeps, which the agent names by ids. The model is one that refuses what
// OpenAI refuses: an open call, an id that it does not know.

// keeper is such a model: it works in rounds, and is then done. Each round it calls
// two tools.
type keeper struct {
	*fakemodel.Model
	rounds int
	heard  fakemodel.Conversation // the last that was no refusal
}

func newKeeper(rounds int) *keeper {
	k := &keeper{rounds: rounds}
	k.Model = &fakemodel.Model{Rules: []fakemodel.Rule{{When: k.working, Say: k.work}}, Otherwise: fakemodel.Answer{Text: "Done."}}
	return k
}

func (k *keeper) working(c fakemodel.Conversation) bool {
	k.heard = c
	return strings.HasPrefix(c.User(), "Work") && k.round(c) < k.rounds
}

func (k *keeper) round(c fakemodel.Conversation) (n int) {
	for _, m := range c.Messages {
		if len(m.Calls) > 0 {
			n++
		}
	}
	return n
}

func (k *keeper) work(c fakemodel.Conversation) fakemodel.Answer {
	n := k.round(c)
	return fakemodel.Answer{Reasoning: "Hm.", Text: fmt.Sprintf("Round %d.", n), Calls: []fakemodel.Call{
		{ID: fmt.Sprint("call_good_", n), Name: "good", Arguments: fmt.Sprintf(`{"n":%d}`, n)},
		{ID: fmt.Sprint("call_bad_", n), Name: "bad", Arguments: fmt.Sprintf(`{"secret":%d}`, n)},
	}}
}

// told are the results of its calls that the model has, in order.
func (k *keeper) told() string {
	var all []string
	for _, m := range k.heard.Messages {
		if m.Role == "tool" {
			result := m.Content
			if strings.Contains(result, "policy refused") {
				result = "refused"
			}
			all = append(all, m.ToolCallID+"="+result)
		}
	}
	return strings.Join(all, " ")
}

// answerIn is the response in an answer, streamed or whole.
func answerIn(t *testing.T, body string) gjson.Result {
	t.Helper()
	if at := strings.LastIndex(body, "event: response.completed\ndata: "); at >= 0 {
		line, _, _ := strings.Cut(body[at+len("event: response.completed\ndata: "):], "\n")
		body = gjson.Get(line, "response").Raw
	}
	r := gjson.Parse(body)
	if r.Get("object").Str != "response" || r.Get("error").Type != gjson.Null {
		t.Fatalf("no response: %s", body)
	}
	return r
}

// outputsOf are the results of the calls of a response, as an agent sends them.
func outputsOf(r gjson.Result) (list []string) {
	for _, item := range r.Get("output").Array() {
		if item.Get("type").Str == "function_call" {
			list = append(list, `{"type":"function_call_output","call_id":`+item.Get("call_id").Raw+`,"output":"ran"}`)
		}
	}
	return list
}

// restarting has a world keep its state for its restart, and keeps its configuration.
func restarting(c *app.Config) func(*app.Config) {
	return func(configured *app.Config) {
		if configured.NATS.URL == "" {
			embedded(configured)
		}
		*c = *configured
	}
}

// restart restarts heldcall with its state on disk.
func (w *world) restart(c app.Config) {
	w.t.Helper()
	if err := w.stop(); err != nil {
		w.t.Fatal(err)
	}
	w.start(c)
}

// TestResponsesChainOutlivesRestarts continues from answer to answer by their ids, with a
// restart of heldcall after every other: the first and third if they are streamed, else
// the second and fourth. In each answer one call or all calls were denied, so upstream has
// another id for the answer.
func TestResponsesChainOutlivesRestarts(t *testing.T) {
	for name, policy := range map[string]string{
		"some denied": "rules:\n  - allow: [good]\n  - deny: [bad]\n",
		"all denied":  "rules:\n  - deny: [good, bad]\n",
	} {
		for _, how := range []string{`"stream":true`, `"stream":false`} {
			for _, conversing := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s conversation=%t", name, how, conversing), func(t *testing.T) {
					t.Parallel()
					chain(t, policy, how, conversing)
				})
			}
		}
	}
}

func chain(t *testing.T, policy, how string, conversing bool) {
	k := newKeeper(3)
	var c app.Config
	w := build(t, policy, k.Reply, restarting(&c))
	next := ""
	if conversing {
		next = `,"conversation":` + gjson.Get(w.post("/v1/conversations", `{}`).rest(), "id").Raw
	}
	input := `"Work."`
	for turn := 0; ; turn++ {
		body := w.post("/v1/responses", `{"model":"m","input":`+input+next+","+how+"}").rest()
		if strings.Contains(body, "secret") || strings.Contains(body, "call_bad") {
			t.Fatalf("a denied call reached the agent: %s", body)
		}
		r := answerIn(t, body)
		if turn == 4 {
			break
		}
		if !conversing {
			next = `,"previous_response_id":` + r.Get("id").Raw
		}
		outputs := outputsOf(r)
		if len(outputs) == 0 {
			outputs = []string{`{"role":"user","content":"Thank you."}`}
		}
		input = "[" + strings.Join(outputs, ",") + "]"
		if streamed := how == `"stream":true`; streamed == (turn%2 == 0) {
			w.restart(c)
		}
		if got := w.get(w.url("/v1/responses/" + r.Get("id").Str)); answerIn(t, got).Get("output.#").Raw != r.Get("output.#").Raw || strings.Contains(got, "secret") {
			t.Fatalf("the answer was %s\nand is now %s", r.Raw, got)
		}
	}
	good := "ran"
	if !strings.Contains(policy, "allow") {
		good = "refused"
	}
	var want []string
	for n := range 3 {
		want = append(want, fmt.Sprintf("call_good_%d=%s", n, good), fmt.Sprintf("call_bad_%d=refused", n))
	}
	slices.Sort(want)
	if got := strings.Fields(k.told()); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Fatalf("the model knows %s, want %s", got, want)
	}
}

// TestResponsesInTheBackground polls for an answer that upstream makes in the
// background: its calls are held when it is complete, with one request, also across a
// restart.
func TestResponsesInTheBackground(t *testing.T) {
	t.Parallel()
	k := newKeeper(1)
	var c app.Config
	w := build(t, askAll, k.Reply, restarting(&c))
	first := w.post("/v1/responses", `{"model":"m","input":"Work.","background":true}`).rest()
	id := gjson.Get(first, "id").Str
	if status := gjson.Get(first, "status").Str; status != "queued" {
		t.Fatalf("it begins %s", first)
	}
	poll := func() gjson.Result { return answerIn(t, w.get(w.url("/v1/responses/"+id))) }
	if r := poll(); r.Get("status").Str != "in_progress" {
		t.Fatalf("it continues with %s", r.Raw)
	}
	done := make(chan gjson.Result, 1)
	go func() { done <- poll() }()
	for _, r := range w.pending(2) {
		d := approvals.Decision{Action: approvals.ActionApprove}
		if r.ToolName == "bad" {
			d.Action = approvals.ActionDeny
		}
		w.decide(r.ID, d)
	}
	r := <-done
	if r.Get("status").Str != "completed" || r.Get("id").Str != id || r.Get(`output.#(type=="function_call")#`).Get("#.name").Raw != `["good"]` {
		t.Fatalf("it ends %s", r.Raw)
	}
	for range 2 {
		if again := poll(); again.Raw != r.Raw {
			t.Errorf("asked again it is %s, and was %s", again.Raw, r.Raw)
		}
		w.restart(c)
	}
	stream := w.get(w.url("/v1/responses/" + id + "?stream=true&starting_after=1"))
	if strings.Contains(stream, "secret") || strings.Contains(stream, "response.created") || answerIn(t, stream).Get("output.#").Int() != r.Get("output.#").Int() {
		t.Errorf("after event 1 it continues with %s", stream)
	}
	if page, err := w.console.Requests(t.Context(), approvals.Filter{}); err != nil || len(page.Items) != 2 {
		t.Errorf("people were asked %d times (%v)", len(page.Items), err)
	}
}

// The provider does not have the continuation of a denied answer any more. Its error names an id that the
// agent does not know; the agent gets one with the code by which it knows what to do.
func TestPreviousResponseIsGone(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, lister().Reply, silent)
	ask := func(previous, text string) (status int, answer string) {
		c := w.post("/v1/responses", fmt.Sprintf(`{"model":"m","input":%q%s}`, text, previous))
		return c.resp.StatusCode, c.rest()
	}
	_, first := ask("", "do it")
	previous := `,"previous_response_id":` + answerIn(t, first).Get("id").Raw
	ask(previous, "go on")
	requests := w.upstream.Requests()
	hidden := gjson.GetBytes(requests[len(requests)-1].Body, "previous_response_id").Str
	if strings.Contains(previous, hidden) {
		t.Fatal("the answer was not continued")
	}
	remove, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, w.upstream.URL()+"/responses/"+hidden, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(remove)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if status, body := ask(previous, "and then?"); status != http.StatusBadRequest || errorCode(body) != "previous_response_not_found" || strings.Contains(body, hidden) {
		t.Errorf("%d %s", status, body)
	}
}

// TestResponsesOfAnAbortedRun continues an answer whose run was aborted, and requests the
// answer: the agent names no session, only the id. The user's next message starts a new
// run, in which the model has the results of its calls.
func TestResponsesOfAnAbortedRun(t *testing.T) {
	t.Parallel()
	for _, how := range []string{`"stream":true`, `"stream":false`} {
		k := newKeeper(1)
		w := build(t, askAll, k.Reply)
		answer := make(chan string, 1)
		go func() { answer <- w.post("/v1/responses", `{"model":"m","input":"Work.",`+how+`}`).rest() }()
		w.decide(w.pending(2)[0].ID, approvals.Decision{Action: approvals.ActionAbortRun, Note: "enough"})
		r := answerIn(t, <-answer)
		if r.Get("status").Str != "completed" || len(outputsOf(r)) != 0 || !strings.Contains(r.Get("output.@reverse.0.content.0.text").Str, "stopped by a human reviewer") {
			t.Fatalf("%s: %s", how, r.Raw)
		}
		goOn := `{"model":"m","input":%s,"previous_response_id":` + r.Get("id").Raw + `,` + how + `}`
		c := w.post("/v1/responses", fmt.Sprintf(goOn, `[{"role":"developer","content":"Do it again."}]`))
		if body := c.rest(); c.resp.StatusCode != http.StatusForbidden || errorCode(body) != "run_aborted" {
			t.Errorf("%s: going on is answered %d %s", how, c.resp.StatusCode, body)
		}
		if body := w.get(w.url("/v1/responses/" + r.Get("id").Str)); errorCode(body) != "run_aborted" {
			t.Errorf("%s: asked for, it is %s", how, body)
		}
		c = w.post("/v1/responses", fmt.Sprintf(goOn, `"Something else."`))
		answerIn(t, c.rest())
		if told := k.told(); strings.Count(told, "stopped by a human reviewer") != 2 {
			t.Errorf("%s: of its calls the model knows %s", how, told)
		}
	}
}

func TestResponsesHostedTools(t *testing.T) {
	t.Parallel()
	w := build(t, "hosted_tools: [web_search, \"mcp:https://good.example/*\"]\n", newKeeper(0).Reply)
	const search, interpreter = `{"type":"web_search"}`, `{"type":"code_interpreter"}`
	mcp := func(label, how string) string {
		return `{"type":"mcp","server_label":"` + label + `","server_url":"https://` + label + `.example/sse","require_approval":"` + how + `"}`
	}
	for _, tt := range []struct {
		offer, refused string
		approvals      int // that the model is instructed to request
	}{
		{`"tools":[` + search + `]`, "", 0},
		{`"tools":[` + search + "," + interpreter + `]`, "code_interpreter", 0},
		{`"tools":[` + mcp("bad", "always") + `]`, "mcp:https://bad.example/sse", 0},
		{`"tools":[` + strings.Replace(mcp("bad", "always"), `"server_label":"bad"`, `"server_label":"good"`, 1) + `]`, "mcp:https://bad.example/sse", 0},
		{`"tools":[` + mcp("good", "always") + `]`, "", 1},
		{`"tools":[` + mcp("good", "never") + `]`, "", 1},
		{`"input":[{"type":"additional_tools","role":"developer","tools":[` + interpreter + `]},{"role":"user","content":"hi"}]`, "code_interpreter", 0},
		{`"input":[{"type":"additional_tools","role":"developer","tools":[` + mcp("good", "never") + `]},{"role":"user","content":"hi"}]`, "", 1},
		{`"prompt":{"id":"pmpt_1"}`, "prompt", 0},
	} {
		body := `{"model":"m",` + tt.offer + `}`
		if !strings.Contains(body, `"input"`) {
			body = `{"model":"m","input":"hi",` + tt.offer + `}`
		}
		before := len(w.upstream.Requests())
		c := w.post("/v1/responses", body)
		got, asked := c.rest(), w.upstream.Requests()[before:]
		if tt.refused != "" {
			if c.resp.StatusCode != http.StatusForbidden || errorCode(got) != "hosted_tool_refused" || !strings.Contains(got, tt.refused) || len(asked) != 0 {
				t.Errorf("%s: %d %s; upstream was asked %d times", tt.offer, c.resp.StatusCode, got, len(asked))
			}
			continue
		}
		if c.resp.StatusCode != http.StatusOK || len(asked) != 1 || strings.Count(string(asked[0].Body), `"require_approval":"always"`) != tt.approvals || strings.Contains(string(asked[0].Body), "never") {
			t.Errorf("%s: %d %s; upstream was asked %d times", tt.offer, c.resp.StatusCode, got, len(asked))
		}
	}
}

// TestTooManyHostedTools: each offer is in the audit log, so a request may not
// have thousands. The same offer may be repeated.
func TestTooManyHostedTools(t *testing.T) {
	t.Parallel()
	w := build(t, "", newKeeper(0).Reply)
	for n, status := range map[int]int{128: http.StatusOK, 129: http.StatusBadRequest} {
		tools := make([]string, 2*n)
		for i := range tools {
			tools[i] = fmt.Sprintf(`{"type":"mcp","server_label":"%d","require_approval":"never"}`, i%n)
		}
		before := len(w.upstream.Requests())
		c := w.post("/v1/responses", `{"model":"m","input":"hi","tools":[`+strings.Join(tools, ",")+`]}`)
		got, asked := c.rest(), len(w.upstream.Requests())-before
		if c.resp.StatusCode != status || (status != http.StatusOK && (errorCode(got) != "bad_request" || asked != 0)) {
			t.Errorf("%d tools: %d %.300s; upstream was asked %d times", n, c.resp.StatusCode, got, asked)
		}
	}
}

// TestResponsesWrapper lets the model make up a call that wraps others: it is judged
// by what it wraps.
func TestResponsesWrapper(t *testing.T) {
	t.Parallel()
	for wrapped, passes := range map[string]bool{"weather": true, "rm": false, "unheard_of": false} {
		use := func(name string) string {
			return `{"recipient_name":"functions.` + name + `","parameters":{"city":"Rome"}}`
		}
		wrapper := fakemodel.Call{ID: "call_w", Name: "parallel", Arguments: `{"tool_uses":[` + use("weather") + "," + use(wrapped) + `]}`}
		w := build(t, "default: deny\nrules:\n  - allow: [weather]\n  - deny: [rm]\n", func(r *fakemodel.Request) fakemodel.Reply {
			if strings.Contains(string(r.Body), "function_call_output") {
				return fakemodel.Answer{Text: "Understood."}.Reply(r)
			}
			return fakemodel.Answer{Calls: []fakemodel.Call{wrapper}}.Reply(r)
		})
		offers := strings.Replace(responsesRequest, `"tools":[`, `"tools":[`+toolsAs(`{"type":"function","name":%q,"parameters":{"type":"object"}}`, "parallel", "weather", "rm")+",", 1)
		got := w.post("/v1/responses", offers).rest()
		if found := strings.Contains(got, "tool_uses"); found != passes || len(outputsOf(answerIn(t, got))) != map[bool]int{true: 1}[passes] {
			t.Errorf("a wrapper of weather and %s: %s", wrapped, got)
		}
	}
}

// TestFetchedAnswersOfferNothingUnjudged: heldcall continues an answer that was
// made elsewhere with a request of its own, which offers the tools of that answer.
func TestFetchedAnswersOfferNothingUnjudged(t *testing.T) {
	t.Parallel()
	const made = `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","store":true,
		"tools":[{"type":"mcp","server_label":"gh","server_url":"https://mcp.example","require_approval":"never"}],
		"output":[{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"bash","arguments":"{}"}]}`
	for policy, offered := range map[string]bool{"default: deny\n": true, "default: deny\nhosted_tools: deny\n": false} {
		w := build(t, policy, func(r *fakemodel.Request) fakemodel.Reply {
			if r.Method == http.MethodGet {
				return fakemodel.Whole(http.StatusOK, []byte(made))
			}
			return fakemodel.Answer{Text: "Very well."}.Reply(r)
		})
		got := w.get(w.url("/v1/responses/resp_1"))
		var sent []string
		for _, r := range w.upstream.Requests() {
			if r.Method == http.MethodPost {
				sent = append(sent, string(r.Body))
			}
		}
		if offered && (len(sent) != 1 || gjson.Get(sent[0], "tools.0.require_approval").Str != "always") {
			t.Errorf("%q: it continues with %q", policy, sent)
		}
		if !offered && (len(sent) != 0 || errorCode(got) != "hosted_tool_refused") {
			t.Errorf("%q: it continues with %q and ends %s", policy, sent, got)
		}
	}
}

// TestHostedCallsNeedAListedServer: the agent names the server of a hosted MCP tool as
// it likes, so a rule for the name allows no call of it unless policy lists the
// server.
func TestHostedCallsNeedAListedServer(t *testing.T) {
	t.Parallel()
	const asks = `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","store":true,
		"output":[{"id":"mcpr_1","type":"mcp_approval_request","server_label":"gh","name":"delete","arguments":"{}"}]}`
	for policy, allowed := range map[string]bool{"": false, "hosted_tools: [\"mcp:https://gh.example/*\"]\n": true} {
		w := build(t, policy+"rules:\n  - allow: [mcp__gh__delete]\n", func(r *fakemodel.Request) fakemodel.Reply {
			if strings.Contains(string(r.Body), "mcp_approval_response") {
				return fakemodel.Answer{Text: "Very well."}.Reply(r)
			}
			return fakemodel.Whole(http.StatusOK, []byte(asks))
		})
		answer := make(chan string, 1)
		go func() {
			answer <- w.post("/v1/responses", `{"model":"m","input":"hi","tools":[{"type":"mcp","server_label":"gh","server_url":"https://gh.example/mcp"}]}`).rest()
		}()
		if !allowed {
			r := w.pending(1)[0]
			if !strings.Contains(strings.Join(r.Details.Flags, " "), "mcp:https://gh.example/mcp") {
				t.Errorf("the request does not show the server: %q", r.Details.Flags)
			}
			w.decide(r.ID, approvals.Decision{Action: approvals.ActionApprove})
		}
		<-answer
		if sent := w.upstream.Requests(); len(sent) != 2 || !strings.Contains(string(sent[1].Body), `"approve":true`) {
			t.Errorf("%q: upstream was asked %d times", policy, len(sent))
		}
	}
}
