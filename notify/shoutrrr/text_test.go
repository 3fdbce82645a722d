package shoutrrr

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/sanitize"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/notifytest"
)

// address is a URL of a service, as far as its format goes.
func address(service string) string { return service + "://host/path" }

func textOf(service string, requests ...approvals.Request) string {
	c := composer{format: formatOf(address(service)), inbox: func() string { return inbox + "/" }}
	return c.text(notify.Delivery{ID: "card", Requests: requests, Grouped: len(requests) > 20})
}

var allServices = []string{
	"telegram", "discord", "mattermost", "rocketchat", "zulip", "googlechat", "slack", "notifiarr", "smtp", "ntfy", "gotify", "pushover",
	"generic+https", "matrix", "signal", "bark", "pushbullet", "opsgenie", "wecom", "join", "ifttt", "pagerduty", "teams", "lark", "unheard-of",
}

// What a model writes is seen as it is and does nothing.
func TestHostileTextsStayInert(t *testing.T) {
	const text = "@everyone <@U1> <!channel> <users/all> <at user_id=\"all\"> `end` [a](https://evil.example) *b* </code><b>\u202e\u200b\n- heldcall\r\x00&lt;"
	for _, service := range allServices {
		r := notifytest.Request(1)
		r.ToolName, r.Reason, r.Rule, r.Principal.User = text, text, text, text
		r.Arguments, _ = json.Marshal(map[string]string{"command": text})
		r.Details.Flags = []string{text}
		got := textOf(service, r)
		bad := []string{"\u202e", "\u200b", "\r", "\x00", "</code><b>", "<!channel>", "<@U1>", "<users/all>", "<at user_id"}
		switch service {
		case "telegram": // stands in code, which is marked by tags
			if strings.Count(got, "<code>") != strings.Count(got, "</code>") || strings.Count(got, "<") != 2*strings.Count(got, "<code>") {
				t.Errorf("%s: its tags are not heldcall's own:\n%s", service, got)
			}
		case "smtp", "ntfy", "gotify", "pushover", "matrix", "signal", "bark", "pushbullet", "opsgenie", "wecom", "join", "ifttt", "pagerduty": // plain text
			bad = []string{"\u202e", "\u200b", "\r", "\x00", "@", "https://evil"}
		case "teams", "lark", "generic+https", "unheard-of":
			bad = append(bad, "@", "https://evil", "[a]", "*b*", "`")
		default:
			bad = append(bad, "@")
			for _, line := range strings.Split(got, "\n") {
				if strings.Count(line, "`")%2 != 0 {
					t.Errorf("%s: a text ends its code: %s", service, line)
				}
			}
		}
		for _, b := range bad {
			if strings.Contains(got, b) {
				t.Errorf("%s: the message has %q:\n%s", service, b, got)
			}
		}
		if strings.Contains(got, "\n- heldcall") {
			t.Errorf("%s: a text makes a line of its own:\n%s", service, got)
		}
	}
}

// Quoted texts of models cannot end their quotes and pretend to be heldcall's. Only
// arguments, which end their line, keep their quotes.
func TestQuotesAreHeldcalls(t *testing.T) {
	const text = `readfile": low risk. Approved by ann. See WwW.evil.example "`
	for _, service := range allServices {
		m := formatOf(address(service))
		if m.open != `"` {
			continue
		}
		r := notifytest.Request(1)
		r.ToolName, r.Reason, r.Rule, r.Principal, r.Details.Flags = text, text, text, approvals.Principal{User: text}, []string{text}
		for _, got := range []string{textOf(service, r), textOf(service, r, r)} {
			if strings.Contains(strings.ToLower(got), "www.") {
				t.Errorf("%s: a text has a link:\n%s", service, got)
			}
			for line := range strings.SplitSeq(got, "\n") {
				if !strings.HasPrefix(line, "Arguments: ") && strings.Contains(line, `readfile":`) {
					t.Errorf("%s: a text ends its quotes: %s", service, line)
				}
			}
			if !strings.Contains(got, `"readfile\u0022: low risk. Approved by ann.`) {
				t.Errorf("%s: the text is not shown:\n%s", service, got)
			}
		}
		if got := textOf(service, notifytest.Request(1)); !strings.Contains(got, `:"opensesame-argument"}"`) {
			t.Errorf("%s: arguments are not shown as they are:\n%s", service, got)
		}
	}
}

// Texts of questions are as inert as those of calls.
func TestHostileQuestionsStayInert(t *testing.T) {
	const text = "@everyone www.evil.example https://evil.example </code>`\u202e\n- heldcall"
	for _, service := range allServices {
		q := approvals.Question{Question: text, Options: []approvals.Option{{ID: text, Label: text}}, Fields: []approvals.QuestionField{{Name: text}}}
		r := asking(approvals.KindCombined, text, q, q)
		for _, got := range []string{textOf(service, r), textOf(service, r, r)} {
			m := formatOf(address(service))
			for _, bad := range []string{"\u202e", "\n- heldcall", "</code>`"} {
				if strings.Contains(got, bad) && (m.links || !strings.HasPrefix(bad, "<")) {
					t.Errorf("%s: the message has %q:\n%s", service, bad, got)
				}
			}
			if !m.links && (strings.Contains(got, "www.") || strings.Contains(got, "https://evil")) {
				t.Errorf("%s: a text has a link:\n%s", service, got)
			}
		}
	}
}

// Every message fits, reports omissions, and links to the inbox.
func TestMessagesFit(t *testing.T) {
	long := strings.Repeat("@<\U0001F469&`\u202e", 5000)
	for _, service := range allServices {
		r := notifytest.Request(1)
		r.ToolName, r.Reason, r.Rule, r.ArgsPreview = long, long, long, long
		r.Principal = approvals.Principal{Tenant: long, User: long, Agent: long}
		r.Arguments = []byte(`"` + long + `"`)
		r.Details.Flags = []string{long, long, long, long}
		m := formatOf(address(service))
		one := textOf(service, r)
		for what, text := range map[string]string{"one": one, "several": textOf(service, r, r, r), "many": textOf(service, many(r, 50)...)} {
			if len(text) > m.most || !utf8.ValidString(text) || !strings.Contains(text, inbox+"/#/") {
				t.Errorf("%s, %s: %d bytes:\n%s", service, what, len(text), text)
			}
			for line := range strings.SplitSeq(text, "\n") {
				if len(line) > 990 && service == "smtp" {
					t.Errorf("%s, %s: a line of %d bytes, a mail server takes 998", service, what, len(line))
				}
			}
			if strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && !sanitize.Rune(c) }) {
				t.Errorf("%s, %s: not all of it is seen:\n%s", service, what, text)
			}
		}
		if !strings.Contains(one, "The arguments are cut off.") || !strings.Contains(one, "The inbox has more warnings.") {
			t.Errorf("%s: it does not report the omission:\n%s", service, one)
		}
	}
}

func many(r approvals.Request, n int) (all []approvals.Request) {
	for i := range n {
		r.ID = fmt.Sprintf("01KAKZ000000000000000001%02d", i)
		all = append(all, r)
	}
	return all
}

func TestMessages(t *testing.T) {
	r := notifytest.Request(1)
	critical := notifytest.Request(2)
	critical.RiskLevel, critical.OnTimeout = approvals.RiskCritical, approvals.OnTimeoutApprove
	for _, one := range []struct{ got, want string }{
		{textOf("ntfy", r), `heldcall holds a call of "bash": high risk.
For agent "coder", user "ann", tenant "acme".
Asked by rule "policy.yaml:3": "a command"
Arguments: "{"command":"opensesame-argument"}"
Expires at 2026-11-21 10:05:00 UTC (won't run).
Open it to decide: https://heldcall.example/#/requests/01KAKZ00000000000000000001`},
		{textOf("ntfy", r, critical), `heldcall holds 2 calls: up to critical risk.
For agent "coder", user "ann", tenant "acme".
- "bash" (high risk): "opensesame-argument"
- "bash" (critical risk): "opensesame-argument"
The first of them expires at 2026-11-21 10:05:00 UTC.
Decide them in the inbox: https://heldcall.example/#/`},
		{textOf("ntfy", notifytest.Decided(r, "bob"), critical), `heldcall holds a call of "bash": critical risk.
For agent "coder", user "ann", tenant "acme".
Asked by rule "policy.yaml:3": "a command"
Arguments: "{"command":"opensesame-argument"}"
Runs automatically at 2026-11-21 10:05:00 UTC.
Open it to decide: https://heldcall.example/#/requests/01KAKZ00000000000000000002`},
	} {
		if one.got != one.want {
			t.Errorf("got\n%s\nwant\n%s", one.got, one.want)
		}
	}
	if group := textOf("ntfy", many(r, 50)...); !strings.Contains(group, "holds 50 calls") || !strings.Contains(group, "\nand ") || strings.Contains(group, "For agent") {
		t.Errorf("a group is\n%s", group)
	}
}

// asking is a request with questions of a model.
func asking(kind approvals.Kind, preview string, list ...approvals.Question) approvals.Request {
	r := notifytest.Request(1)
	r.Kind, r.ToolName, r.Title, r.RiskLevel, r.Rule, r.Reason = kind, "request_"+string(kind), "The agent asks", approvals.RiskLow, approvals.RuleQuestions, "The model asks people."
	r.ArgsPreview, r.Details.Questions = preview, list
	return r
}

func region() approvals.Question {
	return approvals.Question{Kind: approvals.KindDecision, Question: "Which region?", Options: []approvals.Option{{ID: "us", Label: "America"}, {ID: "eu", Label: "Europe", Recommended: true}}, Default: "eu"}
}

func upload() approvals.Question {
	return approvals.Question{Kind: approvals.KindEnvVar, Question: "To upload", Fields: []approvals.QuestionField{{Name: "HOST"}, {Name: "API_TOKEN", Secret: true, Required: true}}}
}

// A message about a question or a result names its subject. That of a question has none of
// the words for calls.
func TestMessagesOfOtherKinds(t *testing.T) {
	const who, link = "\nFor agent \"coder\", user \"ann\", tenant \"acme\".\n", "https://heldcall.example/#/requests/01KAKZ00000000000000000001"
	const ends = "Expires at 2026-11-21 10:05:00 UTC (not answered).\nOpen it to answer: " + link
	result := notifytest.Request(1)
	result.Kind, result.Arguments = approvals.KindResult, json.RawMessage(`"14 lines"`)
	named := func(id string, q approvals.Question) approvals.Question { q.ID = id; return q }
	for name, tt := range map[string]struct {
		request     approvals.Request
		title, text string
		line        string // among several
	}{
		"clarification": {
			asking(approvals.KindClarification, "How many?", approvals.Question{Kind: approvals.KindClarification, Question: "How\nmany?", AllowFreeText: true}),
			"heldcall: the agent asks a question", "heldcall: the agent asks a question." + who + "Question: \"How\\x0amany?\"\n" + ends,
			`- The agent asks a question: "How many?"`,
		},
		"decision": {
			asking(approvals.KindDecision, "Which region?", region()),
			"heldcall: the agent asks for a decision", "heldcall: the agent asks for a decision." + who + "Question: \"Which region?\"\n- Option (recommended): \"Europe\"\n- Option: \"America\"\n" +
				strings.Replace(ends, "not answered", "answered with the default", 1),
			`- The agent asks for a decision: "Which region?"`,
		},
		"env_var": {
			asking(approvals.KindEnvVar, "To upload", upload()),
			"heldcall: the agent asks for values", "heldcall: the agent asks for values." + who + "Question: \"To upload\"\n- Value: \"HOST\"\n- Secret: \"API_TOKEN\"\n" + ends,
			`- The agent asks for values: "To upload"`,
		},
		"combined": {
			asking(approvals.KindCombined, "Which region?", named("a", region()), named("b", upload())),
			"heldcall: the agent asks several questions", "heldcall: the agent asks several questions." + who +
				"Question: \"Which region?\"\n- Option (recommended): \"Europe\"\n- Option: \"America\"\nQuestion: \"To upload\"\n- Value: \"HOST\"\n- Secret: \"API_TOKEN\"\n" + ends,
			`- The agent asks several questions: "Which region?"`,
		},
		"result": {
			result, "heldcall: the result of a call needs approval",
			"heldcall holds the result of a call of \"bash\": high risk." + who + "Asked by rule \"policy.yaml:3\": \"a command\"\nResult: \"\"14 lines\"\"\n" +
				"Expires at 2026-11-21 10:05:00 UTC (the model won't read it).\nOpen it to decide: " + link,
			`- result of "bash" (high risk): "opensesame-argument"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := textOf("ntfy", tt.request); got != tt.text {
				t.Errorf("got\n%s\nwant\n%s", got, tt.text)
			}
			if got := titleOf([]approvals.Request{tt.request}); got != tt.title {
				t.Errorf("the title is %q, want %q", got, tt.title)
			}
			if got := textOf("ntfy", tt.request, notifytest.Request(2)); !strings.Contains(got, tt.line+"\n") || !strings.Contains(got, "heldcall holds 2 requests:") {
				t.Errorf("with another:\n%s\nlacks %s", got, tt.line)
			}
			if got := textOf("ntfy", tt.request); tt.request.Asks() && (strings.Contains(got, "call of") || strings.Contains(got, "won't run") || strings.Contains(got, "approv")) {
				t.Errorf("a question has words for calls:\n%s", got)
			}
			for _, service := range allServices {
				long := tt.request
				long.Details.Questions = nil
				for range 120 {
					long.Details.Questions = append(long.Details.Questions, tt.request.Details.Questions...)
				}
				got := textOf(service, long)
				if len(got) > formatOf(address(service)).most || !strings.Contains(got, link) || (long.Asks() && !strings.Contains(got, "The inbox has the rest.")) {
					t.Errorf("%s: %d bytes:\n%s", service, len(got), got)
				}
			}
		})
	}
}

// A title of the operator's goes before heldcall's.
func TestTitles(t *testing.T) {
	d := notifytest.Delivery(notifytest.Request(1))
	for text, want := range map[string]string{
		"ntfy://ntfy.sh/calls": "heldcall: a call needs approval", "ntfy://ntfy.sh/calls?Title=mine": "", "smtp://h/?subject=mine": "", "mattermost://h/t": "",
	} {
		if got := formatOf(text).params(text, d)["title"]; got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
