package slack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakeslack"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/notifytest"
)

// Slack accepts a card of calls of any length at the first attempt; every call is linked,
// and one that is cut off cannot be approved.
func TestLongCardsArePosted(t *testing.T) {
	texts := map[string]string{"words": strings.Repeat("abcdefghi ", 270), "escapes": strings.Repeat("<", 700), "signs": strings.Repeat("\U0001F469", 1300)}
	for name, text := range texts {
		for _, calls := range []int{1, 5, 10} {
			t.Run(fmt.Sprint(calls, " of ", name), func(t *testing.T) {
				w := newWorkspace(t)
				var all []approvals.Request
				for i := range calls {
					r := notifytest.Request(i + 1)
					r.Arguments = json.RawMessage(fmt.Sprintf(`{"path":"f%d.txt","content":%q}`, i, text))
					r.Context = approvals.Context{LastUserMessage: text, AssistantText: text}
					r.Reason, r.Rule, r.Details.Flags = text, text, []string{"a flag", text[:100]}
					r.AllowRemember, r.SuggestedPatterns = true, []string{strings.Repeat("p", 150)}
					all = append(all, r)
				}
				if _, err := w.channel.Post(t.Context(), notifytest.Delivery(all...)); err != nil {
					t.Fatal(err)
				}
				if n := len(w.Calls()); n != 1 {
					t.Errorf("Slack was asked %d times", n)
				}
				m := w.Messages()[0]
				approvable := 0
				for _, r := range all {
					if !strings.Contains(m.Shown(), "#/requests/"+r.ID) {
						t.Errorf("%s is not linked", r.ID)
					}
					if slices.Contains(m.Buttons(r.ID), "heldcall_approve") {
						approvable++
					}
				}
				whole := strings.Count(m.Shown(), `"content": "`+strings.ReplaceAll(text, "<", "&lt;")+`"`)
				if approvable != whole || (calls == 1 && whole == 0) {
					t.Errorf("%d calls can be approved, %d are shown whole", approvable, whole)
				}
			})
		}
	}
}

// A card that only lists calls names each by the end of its id, which commands take.
func TestListsHaveShortIDs(t *testing.T) {
	w := newWorkspace(t)
	first, second := notifytest.Request(1), notifytest.Request(2)
	first.ID, second.ID = "01M7YRM0YNGJ3ES9MEMQCP3J75", "01M7YRM0YNGJ3ES9MEMQ7Q2KAB"
	d := notifytest.Delivery(first, second)
	d.Grouped = true
	if _, err := w.channel.Post(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	text := w.Messages()[0].Shown()
	for _, short := range []string{" · CP3J75 · ", " · 7Q2KAB · "} {
		if !strings.Contains(text, short) {
			t.Errorf("%q is not in\n%s", short, text)
		}
	}
}

// A click types nothing and uses no passkey, so it does not approve a request that needs either.
func TestConfirmationIsNotClicked(t *testing.T) {
	for _, details := range []approvals.Details{{Confirm: "/srv/x"}, {Passkey: true}} {
		w := newWorkspace(t)
		r := notifytest.Request(1)
		r.Details, r.AllowRemember = details, true
		if _, err := w.channel.Post(t.Context(), notifytest.Delivery(r)); err != nil {
			t.Fatal(err)
		}
		if got := w.Messages()[0].Buttons(r.ID); !slices.Equal(got, []string{"heldcall_deny"}) {
			t.Errorf("%+v: the card has the buttons %v", details, got)
		}
	}
}

// A card that Slack refuses as too long is posted in short, with links and without
// buttons.
func TestRefusedCardIsPostedInShort(t *testing.T) {
	for _, word := range []string{"msg_blocks_too_long", "msg_too_long", "invalid_blocks", "invalid_blocks_format"} {
		t.Run(word, func(t *testing.T) {
			w := newWorkspace(t)
			refuse := func() {
				first := true
				w.Server.Answers(func(string) (a fakeslack.Answer) {
					if first {
						a.Error = word
					}
					first = false
					return a
				})
			}
			d := notifytest.Delivery(notifytest.Request(1))
			id := d.Requests[0].ID
			short := func() string {
				t.Helper()
				m := w.Messages()[0]
				if len(m.Buttons(id)) > 0 || !strings.Contains(m.Shown(), "#/requests/"+id) || strings.Contains(m.Shown(), "command") {
					t.Errorf("buttons %q on\n%s", m.Buttons(id), m.Shown())
				}
				return m.Shown()
			}
			refuse()
			ref, err := w.channel.Post(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			short()
			d.Requests[0] = notifytest.Decided(d.Requests[0], "bob")
			refuse()
			if _, err := w.channel.Update(t.Context(), d, ref); err != nil {
				t.Fatal(err)
			}
			if shown := short(); !strings.Contains(shown, "denied") {
				t.Errorf("how it ended is not on\n%s", shown)
			}
		})
	}
}

// Slack folds no part of a call away while there are buttons beside it.
func TestNothingIsFolded(t *testing.T) {
	w := newWorkspace(t)
	r := notifytest.Request(1)
	r.Arguments = json.RawMessage(`{"a":[` + strings.Repeat("1,", 200) + `2],"command":"rm -rf ~"}`)
	r.Context = approvals.Context{LastUserMessage: "do it", AssistantText: "I do it"}
	if _, err := w.channel.Post(t.Context(), notifytest.Delivery(r)); err != nil {
		t.Fatal(err)
	}
	var blocks []struct {
		Type   string
		Expand bool
	}
	if err := json.Unmarshal(w.Messages()[0].Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	sections := 0
	for i, b := range blocks {
		if b.Type != "section" {
			continue
		}
		if sections++; !b.Expand {
			t.Errorf("block %d may be folded", i)
		}
	}
	if sections < 4 {
		t.Errorf("%d sections", sections)
	}
}

// TestWhatAnOperatorCorrects: W14. What an operator has to correct is not tried again, and states what to do; what passes by
// itself is. A thread that is gone is done without.
func TestWhatAnOperatorCorrects(t *testing.T) {
	for word, todo := range map[string]string{
		"not_in_channel": "invite", "channel_not_found": "notify.slack[].channel", "is_archived": "unarchive", "restricted_action": "administrator",
		"invalid_auth": "bot_token", "not_authed": "bot_token", "account_inactive": "bot_token", "token_revoked": "bot_token", "token_expired": "bot_token",
		"missing_scope": "scopes", "no_permission": "scopes", "ekm_access_denied": "administrator", "team_access_not_granted": "administrator",
		"internal_error": "", "fatal_error": "", "service_unavailable": "", "request_timeout": "", "accesslimited": "", "an_error_of_tomorrow": "",
	} {
		w := newWorkspace(t)
		w.Server.Answers(func(string) fakeslack.Answer { return fakeslack.Answer{Error: word} })
		_, err := w.channel.Post(t.Context(), notifytest.Delivery(notifytest.Request(1)))
		var setup *notify.SetupError
		var permanent *notify.PermanentError
		if err == nil || errors.As(err, &permanent) || errors.As(err, &setup) != (todo != "") || !strings.Contains(err.Error(), todo) {
			t.Errorf("%s: the error is %T: %v", word, err, err)
		}
	}
	for _, word := range []string{"thread_not_found", "cannot_reply_to_message"} {
		w := newWorkspace(t)
		first, err := w.channel.Post(t.Context(), notifytest.Delivery(notifytest.Request(1)))
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		w.Server.Answers(func(string) (a fakeslack.Answer) {
			if calls++; calls == 1 {
				a.Error = word
			}
			return a
		})
		d := notifytest.Delivery(notifytest.Request(2))
		d.Thread = first
		if _, err := w.channel.Post(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if m := w.Messages(); len(m) != 2 || m[1].ThreadTS != "" {
			t.Errorf("%s: %+v", word, m)
		}
	}
}

// shown is what a reader sees of the card of a request.
func shown(t *testing.T, r approvals.Request) string {
	t.Helper()
	w := newWorkspace(t)
	if _, err := w.channel.Post(t.Context(), notifytest.Delivery(r)); err != nil {
		t.Fatal(err)
	}
	return w.Messages()[0].Shown()
}

func TestCardsSayWhoDecided(t *testing.T) {
	r := notifytest.Request(1)
	r.RequiredApprovals = 2
	bob := approvals.Decision{ReviewerID: "bob", Action: approvals.ActionApprove}
	olga := approvals.Decision{ReviewerID: "olga", OnBehalfOf: "ann", Action: approvals.ActionApprove, Channel: "rest"}
	denied := approvals.Decision{ReviewerID: "dora", Action: approvals.ActionDeny, Note: "no"}
	for want, ended := range map[string]approvals.Request{
		"approved by `bob`, `olga` for `ann` over `rest`": {Status: approvals.StatusApproved, Decisions: []approvals.Decision{bob, olga}},
		"denied by `dora`: `no`":                          {Status: approvals.StatusDenied, Decisions: []approvals.Decision{bob, denied}},
		"cancelled: its agent has gone":                   {Status: approvals.StatusCancelled, Details: approvals.Details{CancelReason: approvals.CancelAgentGone}},
		"cancelled: `of &lt;!here&gt;`":                   {Status: approvals.StatusCancelled, Details: approvals.Details{CancelReason: "of <!here>"}},
	} {
		r.Status, r.Decisions, r.Details.CancelReason = ended.Status, ended.Decisions, ended.Details.CancelReason
		if text := shown(t, r); !strings.Contains(text, want) {
			t.Errorf("not shown: %s\n%s", want, text)
		}
	}
}

// A card with several rules names the missing approvals, then those that were given.
func TestCardsNameMissingApprovals(t *testing.T) {
	r := notifytest.Request(1)
	r.Reviewers, r.RequiredApprovals = []string{"dba", "security"}, 2
	r.Demands = []approvals.Demand{
		{Rule: "policy.yaml:1", Reviewers: []string{"dba"}, RequiredApprovals: 1},
		{Rule: "policy.yaml:2", Reviewers: []string{"security"}, RequiredApprovals: 2, Escalation: &approvals.Escalation{At: r.ExpiresAt, To: []string{"managers"}}},
	}
	r.Decisions = []approvals.Decision{{ReviewerID: "bo`<!here>", Action: approvals.ActionApprove, Fills: []int{0}}, {ReviewerID: "sam", OnBehalfOf: "sue", Action: approvals.ActionApprove, Fills: []int{1}}}
	text := shown(t, r)
	missing := "waits for `1 of 2 approvals by members of security (policy.yaml:2): sam for sue; members of managers too from 2026-11-21T10:05:00Z`"
	if !strings.Contains(text, missing+", and has `1 of 1 approvals by members of dba (policy.yaml:1): bo\\u0060&lt;!here&gt;`") {
		t.Errorf("not shown: %s\n%s", missing, text)
	}
	if ends := "10:05:00 UTC> (won't run)"; !strings.Contains(text, ends) {
		t.Errorf("not shown: %s\n%s", ends, text)
	}
	r.OnTimeout = approvals.OnTimeoutApprove
	if ends := "; runs automatically at "; !strings.Contains(shown(t, r), ends) {
		t.Errorf("not shown: %s", ends)
	}
	r.Demands, r.Decisions = nil, nil
	for i := range 30 {
		r.Demands = append(r.Demands, approvals.Demand{Rule: "policy.yaml:1", Reviewers: []string{fmt.Sprintf("group-%02d", i)}, RequiredApprovals: 1})
		if i != 29 {
			r.Decisions = append(r.Decisions, approvals.Decision{ReviewerID: strings.Repeat("x", 64), Action: approvals.ActionApprove, Fills: []int{i}})
		}
	}
	if text := shown(t, r); !strings.Contains(text, "waits for `0 of 1 approvals by members of group-29 (policy.yaml:1)`, and has `1 of 1 approvals by members of group-00") {
		t.Errorf("missing approvals are not first:\n%s", text)
	}
	r.Decisions = nil
	if text := shown(t, r); !strings.Contains(text, " and `0 of 1 approvals by members of group-02 (policy.yaml:1)`, and 27 more (see the inbox)") {
		t.Errorf("the number of missing approvals is not shown:\n%s", text)
	}
}

// The card about a result names the effects of each decision.
func TestCardOfAResult(t *testing.T) {
	r := notifytest.Request(1)
	r.Kind, r.Arguments, r.Details.FreeText = approvals.KindResult, json.RawMessage(`"14 \"lines\"\n\u200bmore"`), true
	text := shown(t, r)
	for _, want := range []string{"Approve: the model reads the result.", "```\n14 \"lines\"\n\\u200bmore\n```", "(the model won't read it)"} {
		if !strings.Contains(text, want) {
			t.Errorf("not shown: %s\n%s", want, text)
		}
	}
	r.Status = approvals.StatusExpired
	if text := shown(t, r); !strings.Contains(text, "expired, not read by the model") {
		t.Errorf("the card is %s", text)
	}
}

// Cards have the agent's state and since when.
func TestCardsHaveTheAgentsState(t *testing.T) {
	r := notifytest.Request(1)
	for state, note := range map[approvals.AttachState]string{
		approvals.AgentAttached: ": the agent waits for the decision",
		approvals.AgentDetached: ": an approved call is released when the agent reconnects",
		approvals.AgentParked:   ": the agent goes on without the call",
	} {
		r.Agent = &approvals.AgentState{State: state, Since: r.CreatedAt}
		text := shown(t, r)
		if since := fmt.Sprintf("; %s since <!date^%d^", state, r.CreatedAt.Unix()); !strings.Contains(text, since) || !strings.Contains(text, note) {
			t.Errorf("no %q and %q in\n%s", since, note, text)
		}
	}
}

// TestJointCards: calls that are one question have a heading and buttons of their own; calls beside them do not get under it.
func TestJointCards(t *testing.T) {
	w := newWorkspace(t)
	var all []approvals.Request
	for i, path := range []string{"src/a.go", "src/b`.go", "", "src/c.go"} {
		r := notifytest.Request(i + 1)
		if path != "" {
			r.Together, r.Effects = "q", []approvals.Effect{{Kind: approvals.EffectWrite, Target: path, Place: approvals.PlaceWorkspace}}
		}
		all = append(all, r)
	}
	pushed, critical := notifytest.Request(5), notifytest.Request(6)
	critical.RiskLevel = approvals.RiskCritical
	all = append(all, pushed, critical)
	all[2].Together, all[4].Together = "by a rule", "by a rule"
	if _, err := w.channel.Post(t.Context(), notifytest.Delivery(all...)); err != nil {
		t.Fatal(err)
	}
	m := w.Messages()[0]
	ids := func(places ...int) string {
		var list []string
		for _, place := range places {
			list = append(list, all[place].ID)
		}
		return strings.Join(list, ",")
	}
	for _, value := range []string{ids(0, 1, 3), ids(2, 4)} {
		if got := m.Buttons(value); !slices.Equal(got, []string{"heldcall_approve_all", "heldcall_deny_all"}) {
			t.Errorf("the buttons of %s are %q", value, got)
		}
	}
	for i := range all {
		if !slices.Contains(m.Buttons(all[i].ID), "heldcall_approve") {
			t.Errorf("call %d has no button of its own", i)
		}
	}
	if got := strings.Count(m.Shown(), "one question"); got != 2 || !strings.Contains(m.Shown(), "*3 calls, one question*\n`Edits 3 files in src/`") {
		t.Errorf("%d headings:\n%s", got, m.Shown())
	}
	all[1] = notifytest.Decided(all[1], "ann")
	all[1].Together = ""
	if _, err := w.channel.Post(t.Context(), notifytest.Delivery(all...)); err != nil {
		t.Fatal(err)
	}
	if m := w.Messages()[1]; m.Buttons(ids(0, 3)) == nil || m.Buttons(all[1].ID) != nil {
		t.Errorf("after one decision:\n%s", m.Shown())
	}
}

// TestManyQuestionsAreListed: a card with more blocks than Slack takes names each call, and is taken at the first attempt.
func TestManyQuestionsAreListed(t *testing.T) {
	w := newWorkspace(t)
	var all []approvals.Request
	for i := range 10 {
		r := notifytest.Request(i + 1)
		r.Together = fmt.Sprint("question ", i/2)
		all = append(all, r)
	}
	if _, err := w.channel.Post(t.Context(), notifytest.Delivery(all...)); err != nil {
		t.Fatal(err)
	}
	if m := w.Messages()[0]; len(w.Calls()) != 1 || m.Buttons(all[0].ID) != nil || !strings.Contains(m.Shown(), "#/requests/"+all[9].ID) {
		t.Errorf("%d calls to Slack:\n%s", len(w.Calls()), m.Shown())
	}
}
