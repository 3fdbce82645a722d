package app_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// started is one start of an agent: the form of its first request on the wire, as it was recorded
// from the real agent, with what differs each time it is started.
type started struct {
	path, userAgent string
	headers, body   func(start int) string // headers: "name: value" lines
}

func (s *started) header(start int) (header []string) {
	for line := range strings.Lines(s.headers(start)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		header = append(header, name, value)
	}
	return append(header, "User-Agent", s.userAgent, "Authorization", "Bearer sk-test")
}

// id is an id that an agent makes at each start.
func id(start int) string { return fmt.Sprintf("01a2210f-aaec-7dc1-85db-%012d", start) }

const (
	chatTools      = `"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}]`
	responsesTools = `"tools":[{"type":"function","name":"bash","parameters":{"type":"object"}}]`
	messagesTools  = `"tools":[{"name":"bash","input_schema":{"type":"object"}}]`
)

// agentsStarted are agents whose requests differ at each start in names only.
var agentsStarted = map[string]started{
	"Codex": {
		path: "/v1/responses", userAgent: "codex_exec/0.169.0 (Debian 12.0.0; x86_64) dumb (codex_exec; 0.169.0)",
		headers: func(start int) string {
			return fmt.Sprintf("session-id: %[1]s\nthread-id: %[1]s\nx-client-request-id: %[1]s\nx-codex-window-id: %[1]s:0\noriginator: codex_exec", id(start))
		},
		body: func(start int) string {
			metadata := fmt.Sprintf(`{\"installation_id\":\"e1264a3f\",\"session_id\":\"%[1]s\",\"thread_id\":\"%[1]s\",\"agent_name\":\"/root\",\"turn_id\":\"turn-%[1]s\",\"window_id\":\"%[1]s:0\",\"context_window_id\":\"c-%[1]s\",\"request_kind\":\"turn\",\"turn_started_at_unix_ms\":17958510%02[2]d}`, id(start), start)
			item := func(n int, role, text string) string {
				return fmt.Sprintf(`{"type":"message","id":"msg_%[1]s%[2]d","role":%[3]q,"content":[{"type":"input_text","text":%[4]q}],"internal_chat_message_metadata_passthrough":{"turn_id":"turn-%[1]s","create_time":1795851004.81%[5]d,"content_item_kinds":["user.text"]}}`, id(start), n, role, text, start)
			}
			members := []string{ // in any order
				`"x-codex-turn-metadata":"` + metadata + `"`, `"x-codex-installation-id":"e1264a3f"`, `"x-codex-window-id":"` + id(start) + `:0"`, `"root_turn_id":"turn-` + id(start) + `"`,
				`"session_id":"` + id(start) + `"`, `"turn_id":"turn-` + id(start) + `"`, `"mcp_attribution":"{\"status\":\"none\"}"`, `"thread_id":"` + id(start) + `"`,
			}
			return fmt.Sprintf(`{"model":"gpt-5.5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":%[1]q,"client_metadata":{%[2]s},%[3]s,"input":[%[4]s,%[5]s]}`,
				id(start), strings.Join(slices.Concat(members[start:], members[:start]), ","), responsesTools, item(0, "developer", "You are Codex."), item(1, "user", "do it"))
		},
	},
	"Claude Code": {
		path: "/v1/messages?beta=true", userAgent: "claude-cli/2.1.330 (external, sdk-cli)",
		headers: func(start int) string {
			return "X-Claude-Code-Session-Id: " + id(start) + "\nX-Stainless-Retry-Count: 0\nanthropic-version: 2023-06-01"
		},
		body: func(start int) string {
			return fmt.Sprintf(`{"model":"claude-opus-5-5","max_tokens":128000,"stream":true,"metadata":{"user_id":"{\"device_id\":\"74fc\",\"account_uuid\":\"\",\"session_id\":\"%s\"}"},%s,"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"do it","cache_control":{"type":"ephemeral"}}]}]}`, id(start), messagesTools)
		},
	},
	"Claude Code, earlier": {
		path: "/v1/messages?beta=true", userAgent: "claude-cli/1.0.60 (external, cli)",
		headers: func(int) string { return "X-Stainless-Retry-Count: 0" },
		body: func(start int) string {
			return fmt.Sprintf(`{"model":"claude","max_tokens":9,"stream":true,"metadata":{"user_id":"user_74fc_account__session_%s"},%s,"messages":[{"role":"user","content":"do it"}]}`, id(start), messagesTools)
		},
	},
	"opencode, Responses": {
		path: "/v1/responses", userAgent: "opencode/1.18.33 ai-sdk/provider-utils/4.0.40 runtime/bun/1.3.14",
		headers: func(start int) string {
			return fmt.Sprintf("x-session-affinity: ses_%[1]s\nx-session-id: ses_%[1]s", id(start))
		},
		body: func(start int) string {
			return fmt.Sprintf(`{"model":"gpt-5","stream":true,"store":false,"prompt_cache_key":"ses_%s",%s,"input":[{"role":"developer","content":"You are opencode."},{"role":"user","content":[{"type":"input_text","text":"do it"}]}]}`, id(start), responsesTools)
		},
	},
	"opencode, Chat Completions": {
		path: "/v1/chat/completions", userAgent: "opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14",
		headers: func(start int) string {
			return fmt.Sprintf("x-session-affinity: ses_%[1]s\nx-session-id: ses_%[1]s", id(start))
		},
		body: func(int) string {
			return `{"model":"scripted","stream":true,` + chatTools + `,"messages":[{"role":"user","content":"do it"}]}`
		},
	},
	"pi": {
		path: "/v1/responses", userAgent: "OpenAI/JS 6.26.0",
		headers: func(start int) string {
			return fmt.Sprintf("session_id: %[1]s\nx-client-request-id: %[1]s\nX-Stainless-Retry-Count: 0", id(start))
		},
		body: func(start int) string {
			return fmt.Sprintf(`{"model":"gpt-5","stream":true,"store":false,"prompt_cache_key":%q,%s,"input":[{"role":"user","content":[{"type":"input_text","text":"do it"}]}]}`, id(start), responsesTools)
		},
	},
}

// kill starts an agent and kills it while its call is held.
func (w *world) kill(s started, start int) approvals.Request {
	w.t.Helper()
	before, err := w.console.Requests(w.t.Context(), approvals.Filter{Status: approvals.StatusPending})
	if err != nil {
		w.t.Fatal(err)
	}
	leave := w.ask(s.path, s.body(start), s.header(start)...)
	r := w.pending(len(before.Items) + 1)[len(before.Items)]
	leave()
	w.agent(r.ID, approvals.AgentDetached)
	return r
}

// An agent is killed while its call is held and started again with the same words. It names
// another session, and gets the turn: people are asked once, and the model too.
func TestPromise12_AskedOnce_StartedAgain(t *testing.T) {
	t.Parallel()
	for name, s := range agentsStarted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, decided := range []bool{false, true} {
				w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame), fakemodel.Answer{Text: "Done."}), comments)
				held := w.kill(s, 1)
				approve := func() { w.decide(held.ID, approvals.Decision{Action: approvals.ActionApprove}) }
				if decided {
					approve()
				}
				again := w.begin(s.path, s.body(2), s.header(2)...)
				w.until("the agent has the turn", func() bool { return len(w.eventsOf(approvals.EventTurnReattached)) == 1 })
				if !decided {
					if asked := w.pending(1)[0]; asked.ID != held.ID {
						t.Errorf("people are asked by request %s", asked.ID)
					}
					approve()
				}
				if got := <-again; got.err != nil || got.turn != held.TurnID || !strings.Contains(got.body, "call_sesame1Xk9") {
					t.Errorf("it got %q in turn %s, %v", got.body, got.turn, got.err)
				}
				if n := len(w.upstream.Requests()); n != 1 {
					t.Errorf("upstream got %d requests", n)
				}
				w.pending(0)
				if page, err := w.console.Requests(t.Context(), approvals.Filter{}); err != nil || len(page.Items) != 1 {
					t.Errorf("%d requests to people, %v", len(page.Items), err)
				}
			}
		})
	}
}

// With another User-Agent the same fields tell users apart.
func TestNamesOfOtherClientsCount(t *testing.T) {
	t.Parallel()
	for name, s := range agentsStarted {
		if name == "opencode, Chat Completions" {
			continue // with another User-Agent too: see the headers below
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame), list("call_sesame2Xk9", sesame)), comments)
			s.userAgent = "shop-assistant/1.0"
			held := w.kill(s, 1)
			other := w.begin(s.path, s.body(2), s.header(2)...)
			asked := w.pending(2)
			w.decide(asked[1].ID, approvals.Decision{Action: approvals.ActionApprove})
			if got := <-other; got.err != nil || got.turn == held.TurnID || strings.Contains(got.body, "call_sesame1Xk9") {
				t.Errorf("another user got %q in turn %s, %v", got.body, got.turn, got.err)
			}
			if asked[1].Details.Restarted != nil {
				t.Errorf("the card says that the agent was started again: %+v", asked[1].Details.Restarted)
			}
			w.agent(held.ID, approvals.AgentDetached)
		})
	}
}

// While an agent waits, and after it got its answer, another one with other names gets neither, though it
// declares a repetition.
func TestStartedAgainOnlyWhereNoAgentIs(t *testing.T) {
	t.Parallel()
	for name, s := range agentsStarted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply { return list("call_sesame1Xk9", sesame).Reply(r) }, comments)
			header := func(start int) []string {
				h := s.header(start)
				if at := slices.Index(h, "X-Stainless-Retry-Count"); at >= 0 {
					h[at+1] = "1"
					return h
				}
				return append(h, retried...)
			}
			first := w.begin(s.path, s.body(1), header(1)...)
			held := w.pending(1)[0]
			second := w.begin(s.path, s.body(2), header(2)...)
			w.pending(2)
			w.approve(2)
			if a, b := <-first, <-second; a.err != nil || b.err != nil || a.turn != held.TurnID || b.turn == a.turn {
				t.Errorf("while it waits: turns %s and %s, %v, %v", a.turn, b.turn, a.err, b.err)
			}
			w.until("the deliveries are recorded", func() bool { r, err := w.console.Request(t.Context(), held.ID); return err == nil && r.Agent == nil })
			third := w.begin(s.path, s.body(3), header(3)...)
			w.pending(1)
			w.approve(1)
			if c := <-third; c.err != nil || c.turn == held.TurnID {
				t.Errorf("after the delivery: turn %s, %v", c.turn, c.err)
			}
			if again := <-w.begin(s.path, s.body(1), header(1)...); again.err != nil || again.turn != held.TurnID {
				t.Errorf("the agent itself got turn %s, %v", again.turn, again.err)
			}
		})
	}
}

// An agent that was started again continues its session: the model reads in the next request what a
// person has denied.
func TestStartedAgainKeepsTheSession(t *testing.T) {
	t.Parallel()
	s := agentsStarted["Codex"]
	both := list("call_sesame1Xk9", sesame)
	both.Calls = append(both.Calls, fakemodel.Call{ID: "call_free7Xk9pQ2", Name: "bash", Arguments: `{"command":"pwd"}`})
	w := build(t, "default: ask\nrules:\n  - allow: [\"bash(pwd)\"]\n", inOrder(both, fakemodel.Answer{Text: "Done."}), comments)
	held := w.kill(s, 1)
	again := w.begin(s.path, s.body(2), s.header(2)...)
	w.agent(held.ID, approvals.AgentAttached)
	w.decide(held.ID, approvals.Decision{Action: approvals.ActionDeny, Note: "not there"})
	got := <-again
	if got.err != nil || strings.Contains(got.body, "/sesame") || !strings.Contains(got.body, "call_free7Xk9pQ2") {
		t.Fatalf("it got %q, %v", got.body, got.err)
	}
	next := strings.TrimSuffix(s.body(2), "]}") + `,{"type":"function_call","call_id":"call_free7Xk9pQ2","name":"bash","arguments":"{\"command\":\"pwd\"}"},{"type":"function_call_output","call_id":"call_free7Xk9pQ2","output":"ok"}]}`
	if got := <-w.begin(s.path, next, s.header(2)...); got.err != nil || !strings.Contains(got.body, "Done.") {
		t.Fatalf("it got %q, %v", got.body, got.err)
	}
	requests := w.upstream.Requests()
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, "call_sesame1Xk9") || !strings.Contains(body, "not there") {
		t.Errorf("the model does not read the denial: %s", body)
	}
	if free := w.eventsOf(approvals.EventCallReleased)[0]; free.SessionID != held.SessionID {
		t.Errorf("session %s, want %s", free.SessionID, held.SessionID)
	}
}

// Requests that differ in one field are those of two conversations, whether heldcall knows the field
// or not: none gets the turn of the other.
func TestEveryFieldTellsUsersApart(t *testing.T) {
	t.Parallel()
	fields := map[string][]string{
		"chat":      {"user", "safety_identifier", "prompt_cache_key", "metadata.user_id", "store_id", "reasoning_effort"},
		"responses": {"user", "safety_identifier", "previous_response_id", "conversation", "metadata.user_id", "prompt_cache_key", "client_metadata.session_id", "container", "from_tomorrow"},
		"messages":  {"thread", "container", "user_profile_id", "metadata.user_id", "metadata.session", "service"},
	}
	headers := []string{
		"session-id", "thread_id", "X-Claude-Code-Session-Id", "x-session-affinity", "X-Session-Id", "X-Task-ID", "Helicone-User-Id", "X-OpenWebUI-Chat-Id", "x-grok-conv-id", "OpenAI-Organization",
		"anthropic-beta", "x-portkey-metadata", "X-Auth-Request-Email", "Ocp-Apim-Subscription-Key", "Helicone-Auth",
	}
	for api, s := range map[string]speech{"chat": speeches[0], "responses": speeches[2], "messages": speeches[len(speeches)-1]} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply { return list("call_sesame1Xk9", sesame).Reply(r) }, comments)
			differ := func(name string, ann, bob func() (body string, header []string)) {
				t.Helper()
				body, header := ann()
				leave := w.ask(s.path, body, append(header, s.header...)...)
				held := w.pending(1)[0]
				leave()
				w.agent(held.ID, approvals.AgentDetached)
				body, header = bob()
				got := w.begin(s.path, body, append(append(header, retried...), s.header...)...)
				asked := w.pending(2)
				w.decide(asked[1].ID, approvals.Decision{Action: approvals.ActionApprove})
				if r := <-got; r.err != nil || r.turn == held.TurnID {
					t.Errorf("a request with another %s got the answer of turn %s, %v", name, r.turn, r.err)
				}
				w.decide(held.ID, approvals.Decision{Action: approvals.ActionDeny})
			}
			for i, name := range fields[api] {
				// Each pair has words of its own.
				base := strings.Replace(s.body(true), "do it", fmt.Sprint("do it, field ", strings.Repeat("x", i)), 1)
				of := func(user string) func() (string, []string) {
					return func() (string, []string) {
						outer, inner, nested := strings.Cut(name, ".")
						value := `"` + user + `"`
						if nested {
							value = `{"` + inner + `":` + value + `}`
						}
						return strings.TrimSuffix(base, "}") + `,"` + outer + `":` + value + `}`, nil
					}
				}
				differ(name, of("ann"), of("bob"))
			}
			for i, name := range headers {
				base := strings.Replace(s.body(true), "do it", fmt.Sprint("do it, header ", strings.Repeat("x", i)), 1)
				of := func(user string) func() (string, []string) {
					return func() (string, []string) { return base, []string{name, user} }
				}
				differ(name, of("ann"), of("bob"))
			}
		})
	}
}

// clocked are agents that write the time into their prompt.
var clocked = map[string]started{
	"Copilot CLI": {
		path: "/v1/chat/completions", userAgent: "OpenAI/JS 5.20.1",
		headers: func(int) string {
			return "x-stainless-retry-count: 0\nx-interaction-type: conversation-user\nx-initiator: user"
		},
		body: func(start int) string {
			return fmt.Sprintf(`{"model":"scripted","stream":true,"temperature":0,%s,"messages":[{"role":"system","content":"Session folder: /home/u/.copilot/session-state/%s"},{"role":"user","content":"<current_datetime>2026-11-28T07:35:%02d.128+00:00</current_datetime>\n\ndo it"}]}`, chatTools, id(start), start)
		},
	},
	"AgentScope": {
		path: "/v1/chat/completions", userAgent: "OpenAI/Python 2.8.1",
		headers: func(int) string { return "x-stainless-retry-count: 0" },
		body: func(start int) string {
			return fmt.Sprintf(`{"model":"scripted","stream":true,%s,"messages":[{"role":"system","content":"You are Friday. It is 2026-11-28 07:35:%02d."},{"role":"user","name":"user","content":"do it"}]}`, chatTools, start)
		},
	},
	"OpenHands": {
		path: "/v1/messages", userAgent: "litellm/1.80.0",
		headers: func(int) string { return "anthropic-version: 2023-06-01" },
		body: func(start int) string {
			return fmt.Sprintf(`{"model":"scripted","max_tokens":9,"stream":true,%s,"system":"You are OpenHands.","messages":[{"role":"user","content":[{"type":"text","text":"do it"},{"type":"text","text":"<CURRENT_DATETIME>Saturday, November 28, 2026 at 7:%02d AM UTC</CURRENT_DATETIME>"}]}]}`, messagesTools, start)
		},
	},
}

// inFolder configures the folder in which agents work.
func inFolder(c *app.Config) { c.Policy.WorkDir = "/src/shop" }

// The conversation of an agent that was started again differs: it writes the time into its prompt. One
// card takes the place of two, and shows both contexts.
func TestPromise12_AskedOnce_StartedAgainWithAClock(t *testing.T) {
	t.Parallel()
	for name, s := range clocked {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame), list("call_sesame2Xk9", ` { "command" : "ls /sesame" }`), fakemodel.Answer{Text: "Done."}), comments, inFolder)
			held := w.kill(s, 1)
			again := w.begin(s.path, s.body(2), s.header(2)...)
			w.status(held.ID, approvals.StatusCancelled)
			asked := w.pending(1)[0]
			before := asked.Details.Restarted
			if before == nil || before.RequestID != held.ID || before.TurnID != held.TurnID || !cmp.Equal(before.Context, held.Context) || !before.CreatedAt.Equal(held.CreatedAt) {
				t.Errorf("the card has the request before: %+v, want %s", before, held.ID)
			}
			if asked.Context.LastUserMessage == "" || !strings.Contains(strings.Join(asked.Details.Flags, " "), "started again") {
				t.Errorf("the card shows %+v, %q", asked.Context, asked.Details.Flags)
			}
			if ghost := w.status(held.ID, approvals.StatusCancelled); ghost.Details.CancelReason != approvals.CancelAgentRestarted {
				t.Errorf("the ghost ends because %q", ghost.Details.CancelReason)
			}
			w.until("the ghost's turn is not stored any more", func() bool { r, err := w.console.Request(t.Context(), held.ID); return err == nil && r.Agent == nil })
			if _, err := w.console.Decide(t.Context(), approvals.Decision{RequestID: held.ID, Action: approvals.ActionApprove}); err == nil {
				t.Error("the ghost can be decided")
			}
			w.decide(asked.ID, approvals.Decision{Action: approvals.ActionApprove})
			if got := <-again; got.err != nil || got.turn == held.TurnID || !strings.Contains(got.body, "call_sesame2Xk9") {
				t.Errorf("it got %q in turn %s, %v", got.body, got.turn, got.err)
			}
			w.pending(0)
		})
	}
}

// A card is joined only by the agent that asked it, as far as that is known.
func TestStartedAgainOnlyTheSame(t *testing.T) {
	t.Parallel()
	s := clocked["AgentScope"]
	same := s.body(2)
	for name, tt := range map[string]struct {
		folder  func(*app.Config)
		body    string
		header  []string
		from    string // address of the agent
		answer  fakemodel.Answer
		twice   bool // another turn fits
		decided bool
	}{
		"no folder":       {folder: func(*app.Config) {}, body: same},
		"another key":     {body: same, header: []string{"Authorization", "Bearer sk-other"}},
		"another client":  {body: same, header: []string{"Authorization", "Bearer sk-client"}},
		"another address": {body: same, from: "127.0.0.2"},
		"another user":    {body: strings.Replace(same, `{"model"`, `{"user":"bob","model"`, 1)},
		"another name":    {body: strings.Replace(same, `{"model"`, `{"prompt_cache_key":"bob","model"`, 1)},
		"another thread":  {body: strings.Replace(same, `{"model"`, `{"thread":{"id":"t"},"model"`, 1)},
		"another session": {body: same, header: []string{"X-Session-Id", "s2"}},
		"another message": {body: strings.Replace(same, `"do it"`, `"do that"`, 1)},
		"other arguments": {body: same, answer: list("call_sesame2Xk9", `{"command":"ls /sesam"}`)},
		"another tool":    {body: same, answer: fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_sesame2Xk9", Name: "sh", Arguments: sesame}}}},
		"two turns":       {body: same, twice: true},
		"decided":         {body: same, decided: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := []fakemodel.Answer{list("call_sesame1Xk9", sesame)}
			if tt.twice {
				answers = append(answers, list("call_sesame3Xk9", sesame))
			}
			if tt.answer.Calls == nil {
				tt.answer = list("call_sesame2Xk9", sesame)
			}
			if tt.folder == nil {
				tt.folder = inFolder
			}
			w := build(t, askAll, inOrder(append(answers, tt.answer)...), comments, tt.folder, func(c *app.Config) {
				c.Proxy.Clients = []app.Client{{Key: "sk-client", User: "ann", WorkDir: "/src/other"}}
			})
			starts := []int{1}
			if tt.twice {
				starts = append(starts, 3)
			}
			var leave []context.CancelFunc
			for i, start := range starts { // at the same time
				leave = append(leave, w.ask(s.path, s.body(start), s.header(start)...))
				w.pending(i + 1)
			}
			for i, held := range w.pending(len(starts)) {
				leave[i]()
				w.agent(held.ID, approvals.AgentDetached)
			}
			held, pending := w.pending(len(starts))[0], len(starts)+1
			if tt.decided {
				w.decide(held.ID, approvals.Decision{Action: approvals.ActionApprove})
				pending--
			}
			header := s.header(2)
			for i := 0; i+1 < len(tt.header); i += 2 {
				if at := slices.Index(header, tt.header[i]); at >= 0 {
					header[at+1] = tt.header[i+1]
				} else {
					header = append(header, tt.header[i:i+2]...)
				}
			}
			got := w.beginFrom(tt.from, s.path, tt.body, header...)
			asked := w.pending(pending)[pending-1]
			if asked.ID == held.ID || asked.Details.Restarted != nil {
				t.Errorf("request %s joined %+v", asked.ID, asked.Details.Restarted)
			}
			w.decide(asked.ID, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
			if r := <-got; r.err != nil || strings.Contains(r.body, "call_sesame") {
				t.Errorf("it got %q, %v", r.body, r.err)
			}
			if !tt.decided {
				w.status(held.ID, approvals.StatusPending)
			}
			w.agent(held.ID, approvals.AgentDetached)
		})
	}
}

// beginFrom is begin from another address of this machine.
func (w *world) beginFrom(address, path, body string, header ...string) <-chan reply {
	if address == "" {
		return w.begin(path, body, header...)
	}
	replies := make(chan reply, 1)
	go func() {
		transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true, DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
			return dialer.DialContext(ctx, network, to)
		}}
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, w.url(path), strings.NewReader(body))
		for i := 0; i+1 < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			replies <- reply{err: err}
			return
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		replies <- reply{resp.Header.Get("X-Heldcall-Turn"), string(got), err}
	}()
	return replies
}

// Several agents that were started again at the same time: one of them takes the place of the card.
func TestStartedAgainAtTheSameTime(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]started{"the same conversation": agentsStarted["Codex"], "a clock": clocked["AgentScope"]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const agents = 4
			w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply { return list("call_sesame1Xk9", sesame).Reply(r) }, comments, inFolder)
			held := w.kill(s, 1)
			var replies []<-chan reply
			for n := range agents {
				replies = append(replies, w.begin(s.path, s.body(n+2), s.header(n+2)...))
			}
			restarted, ids := 0, map[string]bool{}
			for _, r := range w.pending(agents) {
				ids[r.ID] = true
				if r.Details.Restarted != nil {
					restarted++
				}
			}
			if joined := ids[held.ID]; joined == (restarted == 1) || restarted > 1 {
				t.Errorf("the turn was continued: %t, cards that say that the agent was started again: %d", joined, restarted)
			}
			w.approve(agents)
			turns := map[string]bool{}
			for _, r := range replies {
				got := <-r
				if got.err != nil || !strings.Contains(got.body, "call_sesame1Xk9") {
					t.Errorf("it got %q, %v", got.body, got.err)
				}
				turns[got.turn] = true
			}
			if len(turns) != agents {
				t.Errorf("%d agents got %d turns", agents, len(turns))
			}
		})
	}
}

// An app sends one prompt_cache_key for all its users, from one address with one key: the name opens no
// way to the turn or the card of another one.
func TestOnePromptCacheKeyForAllUsers(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"OpenAI/JS 6.26.0", "shop-assistant/1.0", "opencode/1.18.33", "codex_exec/0.169.0"} {
		for name, bob := range map[string][2]string{
			"other words":  {`"do it"`, `"do it for bob"`},
			"another user": {`{"model"`, `{"safety_identifier":"bob","model"`},
			"a longer history": {
				`{"role":"user","content":"do it"}`, `{"role":"user","content":"hello"},{"role":"assistant","content":"Hello."},{"role":"user","content":"do it"}`,
			},
		} {
			t.Run(agent+", "+name, func(t *testing.T) {
				t.Parallel()
				folder := inFolder
				if name == "a longer history" { // the conversation may differ for an agent in a folder
					folder = func(*app.Config) {}
				}
				w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply { return list("call_sesame1Xk9", sesame).Reply(r) }, comments, folder)
				ann := `{"model":"m","stream":true,"prompt_cache_key":"shop",` + responsesTools + `,"input":[{"role":"user","content":"do it"}]}`
				s := started{path: "/v1/responses", userAgent: agent, headers: func(int) string { return "session_id: shop\nx-client-request-id: shop" }, body: func(int) string { return ann }}
				held := w.kill(s, 1)
				got := w.begin(s.path, strings.Replace(ann, bob[0], bob[1], 1), append(s.header(1), retried...)...)
				asked := w.pending(2)
				if asked[1].Details.Restarted != nil || asked[0].ID != held.ID {
					t.Errorf("bob's card: %+v", asked[1].Details.Restarted)
				}
				w.decide(held.ID, approvals.Decision{Action: approvals.ActionApprove})
				w.decide(asked[1].ID, approvals.Decision{Action: approvals.ActionDeny, Note: "no"})
				if r := <-got; r.err != nil || r.turn == held.TurnID || strings.Contains(r.body, "call_sesame") {
					t.Errorf("bob got %q in turn %s, %v", r.body, r.turn, r.err)
				}
				w.status(held.ID, approvals.StatusApproved)
			})
		}
	}
}

// Two agents work at once, with the same words, and lose their connections. Each gets its own turn, by its
// names, whichever comes back first.
func TestStartedAgainEachHasItsOwn(t *testing.T) {
	t.Parallel()
	for name, s := range agentsStarted {
		for _, again := range [][]string{{"X-Stainless-Retry-Count", "0"}, retried} {
			t.Run(name+", retries "+again[1], func(t *testing.T) {
				t.Parallel()
				w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply { return list("call_sesame1Xk9", sesame).Reply(r) }, comments)
				var leave []context.CancelFunc
				for start := range 2 {
					leave = append(leave, w.ask(s.path, s.body(start), s.header(start)...))
					w.pending(start + 1)
				}
				held := w.pending(2)
				for start, r := range held {
					leave[start]()
					w.agent(r.ID, approvals.AgentDetached)
				}
				for _, start := range []int{1, 0} {
					header := slices.DeleteFunc(s.header(start), func(text string) bool { return text == "X-Stainless-Retry-Count" || text == "0" })
					got := w.begin(s.path, s.body(start), append(header, again...)...)
					w.agent(held[start].ID, approvals.AgentAttached)
					w.decide(held[start].ID, approvals.Decision{Action: approvals.ActionApprove})
					if r := <-got; r.err != nil || r.turn != held[start].TurnID {
						t.Errorf("agent %d got turn %s, %v", start, r.turn, r.err)
					}
				}
				if n := len(w.upstream.Requests()); n != 2 {
					t.Errorf("upstream got %d requests", n)
				}
			})
		}
	}
}

// The prompt of the system and the history of an agent that was started again may differ: clocks, ids and
// folders have many forms.
func TestStartedAgainWithOtherWords(t *testing.T) {
	t.Parallel()
	type request struct{ path, before, after string }
	requests := map[string]request{}
	add := func(name, path, body, before, after string) {
		requests[name] = request{path, fmt.Sprintf(body, before), fmt.Sprintf(body, after)}
	}
	for name, words := range map[string][2]string{
		"weekday": {"It is Saturday, November 28, 2026 7:01 PM.", "It is Sunday, November 29, 2026 8:01 AM."},
		"evening": {"It is Saturday evening.", "It is Sunday at noon."},
		"French":  {"Nous sommes samedi.", "Nous sommes dimanche."},
		"process": {"Your pid is 4711.", "Your pid is 81."},
		"folder":  {"Work in /tmp/agent-xGkp/repo only.", "Work in /tmp/agent-ppWq/repo only."},
		"session": {"session_id=ses_Yk2mA9", "session_id=ses_pQ71bb"},
	} {
		add("Chat, "+name, "/v1/chat/completions", `{"model":"m","stream":true,`+chatTools+`,"messages":[{"role":"system","content":%q},{"role":"user","content":"do it"}]}`, words[0], words[1])
		add("Responses, "+name, "/v1/responses", `{"model":"m","stream":true,"store":false,"instructions":%q,`+responsesTools+`,"input":"do it"}`, words[0], words[1])
		add("Messages, "+name, "/v1/messages", `{"model":"m","stream":true,"max_tokens":9,"system":[{"type":"text","text":%q}],`+messagesTools+`,"messages":[{"role":"user","content":"do it"}]}`, words[0], words[1])
	}
	add("in the history", "/v1/chat/completions", `{"model":"m","stream":true,`+chatTools+`,"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":%q},{"role":"user","content":"do it"}]}`, "It is 7:35.", "It is 8:01.")
	for name, tt := range requests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, inOrder(list("call_sesame1Xk9", sesame), list("call_sesame2Xk9", sesame)), comments, inFolder)
			bodies := []string{tt.before, tt.after}
			s := started{path: tt.path, userAgent: "OpenAI/Python 2.8.1", headers: func(int) string { return "x-stainless-retry-count: 0" }, body: func(start int) string { return bodies[start] }}
			held := w.kill(s, 0)
			w.begin(s.path, s.body(1), s.header(1)...)
			w.status(held.ID, approvals.StatusCancelled)
			if r := w.pending(1)[0]; r.Details.Restarted == nil {
				t.Error("the new card does not state that the agent was started again")
			}
		})
	}
}

// Two upstreams at one host have keys, and users, of their own: a held turn of one is not continued at the
// other.
func TestUpstreamsOfOneHostAreTold(t *testing.T) {
	t.Parallel()
	for _, s := range speeches {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := build(t, askAll, func(r *fakemodel.Request) fakemodel.Reply { return list("call_sesame1Xk9", sesame).Reply(r) }, comments, func(c *app.Config) {
				url := c.Proxy.Upstreams[0].URL
				c.Proxy.Upstreams = append(c.Proxy.Upstreams, app.Upstream{Prefix: "/keyed", URL: url, APIKey: "sk-keyed"}, app.Upstream{Prefix: "/below", URL: url + "/eu"})
			})
			body := s.body(true)
			held := w.detached(s, body)
			for i, prefix := range []string{"/keyed", "/below"} {
				got := w.begin(strings.Replace(s.path, "/v1", prefix, 1), body, append(retried, s.header...)...)
				w.decide(w.pending(2)[1].ID, approvals.Decision{Action: approvals.ActionApprove})
				if r := <-got; r.err != nil || r.turn == held.TurnID {
					t.Errorf("upstream %d got turn %s, %v", i, r.turn, r.err)
				}
			}
			w.agent(held.ID, approvals.AgentDetached)
		})
	}
}
