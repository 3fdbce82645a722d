package textview

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/humanize"
	"github.com/heldcall/heldcall/internal/sanitize"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ä 漢 🙂":              "plain, ä 漢 🙂",
		"\x1b[31m\a\r\x7f":          `\x1b[31m\x07\x0d\x7f`,
		"a\nb\tc":                   `a\x0ab\x09c`,
		"\u202egnp.exe\u2066":       `\u202egnp.exe\u2066`,
		"r\u200bm\u00ad\ufeff":      `r\u200bm\u00ad\ufeff`,
		"\u009b2J":                  `\u009b2J`,
		"\xff\xc0":                  `\xff\xc0`,
		"\U000e0041\ufe0f\u3164":    `\U000e0041\ufe0f\u3164`,
		"line\u2028break\u00a0wide": `line\u2028break\u00a0wide`,
	} {
		if got := sanitize.Line(text); got != want {
			t.Errorf("printable(%q) = %s, want %s", text, got, want)
		}
	}
	if got := sanitize.Lines("a\nb\t\x1b"); got != "a\nb\t\\x1b" {
		t.Errorf("printableLines gives %q", got)
	}
}

// What happened to an approved call is printed, inert.
func TestShowResult(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := approvals.Request{Status: approvals.StatusApproved, Arguments: []byte("{}")}
	for _, tt := range []struct {
		result approvals.CallResult
		want   string
	}{
		{approvals.CallResult{ReleasedAt: at}, "Released     2026-11-21T12:00:00Z, no result yet\n"},
		{
			approvals.CallResult{ReleasedAt: at, ReceivedAt: &at, Preview: "a\nb\x1b[2J", Error: true, NextText: "Hm.\u202e"},
			"Released     2026-11-21T12:00:00Z\nResult       reported by the agent 2026-11-21T12:00:00Z, failed\n             a\n             b\\x1b[2J\nModel then   Hm.\\u202e\n",
		},
	} {
		r.Details.Result = &tt.result
		if got := Request(&r, at); !strings.HasSuffix(got, tt.want) {
			t.Errorf("got %s, want the end %s", got, tt.want)
		}
	}
}

// An approval without an effect is on one line, in a list and in the request.
func TestShowNotRun(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := approvals.Request{ID: "01", Status: approvals.StatusApproved, Arguments: []byte("{}"), Outcome: &approvals.ApprovalOutcome{State: approvals.ApprovalNotReleased, Reason: approvals.NotReleasedAgentGone, At: &at}}
	const want = "approved, not run: its agent did not come back for the answer\n"
	if got := Request(&r, at); !strings.Contains(got, "Status       "+want) {
		t.Errorf("the request is %s", got)
	}
	var list strings.Builder
	if err := Requests(&list, approvals.Page{Items: []approvals.Request{r}}, "", at); err != nil || !strings.Contains(list.String(), want) {
		t.Errorf("%v: the list is %s", err, list.String())
	}
	r.Outcome = &approvals.ApprovalOutcome{State: approvals.ApprovalReleased, At: &at}
	if got := Request(&r, at); strings.Contains(got, "not run") {
		t.Errorf("a released call: %s", got)
	}
}

// Only visible characters of a model's text are printed, and JSON keeps its value.
func FuzzPrintable(f *testing.F) {
	f.Add("\x1b[2J\u202e\xff\u2028\U000e0041")
	f.Add(`{"a": "\u0000"}`)
	f.Fuzz(func(t *testing.T, text string) {
		encoded, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		escaped := sanitize.JSON(encoded)
		for _, shown := range []string{sanitize.Line(text), escaped, sanitize.Indented(encoded), sanitize.Indented(json.RawMessage(text))} {
			for _, r := range shown {
				if !sanitize.Rune(r) && r != '\n' && r != '\t' {
					t.Fatalf("%q is printed with %U: %q", text, r, shown)
				}
			}
			if !utf8.ValidString(shown) {
				t.Fatalf("%q is printed as invalid UTF-8", text)
			}
		}
		var before, after map[string]string
		if json.Unmarshal(encoded, &before) != nil || json.Unmarshal([]byte(escaped), &after) != nil || !cmp.Equal(before, after) {
			t.Fatalf("%s became %s", encoded, escaped)
		}
	})
}

func TestPrintJSONKeepsArguments(t *testing.T) {
	var out bytes.Buffer
	if err := JSON(&out, map[string]any{"a": json.RawMessage(`{"x":"<&>\u202e","n":1.0}`)}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"a\": {\n    \"x\": \"<&>\\u202e\",\n    \"n\": 1.0\n  }\n}\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestDurationsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m01s", 5 * time.Minute: "5m00s",
		12*time.Minute + 3*time.Second: "12m", 47 * time.Hour: "47h", 72 * time.Hour: "3d",
	} {
		if got := humanize.Left(d); got != want {
			t.Errorf("left(%s) = %s, want %s", d, got, want)
		}
	}
	if got := humanize.Ago(90 * time.Second); got != "1m" {
		t.Errorf("humanize.Ago(90s) = %s", got)
	}
}

func TestShortenSaysThatItCut(t *testing.T) {
	for text, want := range map[string]string{"äöü": "äöü", "äöüß": "äö…"} {
		if got := Shorten(text, 3); got != want {
			t.Errorf("Shorten(%s) = %s, want %s", text, got, want)
		}
	}
}

// A request about a result shows the result, and the effects of each decision.
func TestRequestOfAResult(t *testing.T) {
	now := time.Now()
	page := Request(&approvals.Request{
		Kind: approvals.KindResult, Status: approvals.StatusPending, ToolName: "read", Arguments: json.RawMessage(`"14 \"lines\"\n\u200bmore"`), Details: approvals.Details{FreeText: true}, ExpiresAt: now.Add(time.Minute),
		Decisions: []approvals.Decision{{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`"13 lines"`)}},
	}, now)
	for _, want := range []string{"\nResult\n  14 \"lines\"\n  \\u200bmore\n", "\nEdited result\n  13 lines\n", "Deny: it reads that it was denied", "(the model won't read it)"} {
		if !strings.Contains(page, want) {
			t.Errorf("not shown: %q\n%s", want, page)
		}
	}
}

// Lists and requests have the agent's state and since when.
func TestShowAgentState(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for state, note := range map[approvals.AttachState]string{
		approvals.AgentAttached: "the agent waits for the decision",
		approvals.AgentDetached: "an approved call is released when the agent reconnects",
		approvals.AgentParked:   "the agent goes on without the call",
	} {
		r := approvals.Request{ID: "01A", Status: approvals.StatusPending, Arguments: []byte("{}"), Agent: &approvals.AgentState{State: state, Since: now.Add(-2 * time.Minute)}}
		r.Details.Subagent = "/root/look"
		if got := Request(&r, now); !strings.Contains(got, "\nSubagent     /root/look\n") {
			t.Errorf("the agent at the provider is not in\n%s", got)
		}
		if got, want := Request(&r, now), string(state)+" since 2026-11-21T11:58:00Z: "+note; !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
		var list strings.Builder
		if err := Requests(&list, approvals.Page{Items: []approvals.Request{r, {ID: "01B", Status: approvals.StatusPending}}}, approvals.StatusPending, now); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(list.String(), "\n")
		if !strings.Contains(lines[1], " "+string(state)+" 2m ") || !strings.Contains(lines[2], " - ") {
			t.Errorf("%s: the list is\n%s", state, list.String())
		}
	}
}

// Two agents of one heldcall can want the same call: the list names them.
func TestRequestsNameTheirAgent(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	attached := &approvals.AgentState{State: approvals.AgentAttached, Since: now}
	var list strings.Builder
	if err := Requests(&list, approvals.Page{Items: []approvals.Request{
		{ID: "01A", Principal: approvals.Principal{Agent: "claude ~/src/shop"}, Agent: attached},
		{ID: "01B", Principal: approvals.Principal{User: "ann", Agent: "coder\x1b"}},
	}}, "", now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" claude ~/src/shop attached 0s ", ` ann/coder\x1b `} {
		if !strings.Contains(list.String(), want) {
			t.Errorf("no %q in\n%s", want, list.String())
		}
	}
}

func TestSuggestionsHaveTheirEffect(t *testing.T) {
	got := Suggestions([]approvals.Suggestion{
		{Pattern: "bash(go vet ./a)", Allows: "exactly this", Of: 3},
		{Pattern: "bash(go vet:*)", Allows: "`go vet`", Covered: 2, Of: 3},
	})
	want := "Wider        bash(go vet:*)\n             allows `go vet`; would have covered 2 of the last 3 requests\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A secret that has expired is marked.
func TestExpiredSecretsAreMarked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var table strings.Builder
	if err := Secrets(&table, []approvals.Secret{{Name: "OLD", ExpiresAt: now}, {Name: "NEW", ExpiresAt: now.Add(time.Second)}}, now); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(table.String(), "\n")
	if !strings.Contains(lines[1], "2026-11-21T12:00:00Z (expired)") || strings.Contains(lines[2], "expired") {
		t.Errorf("the table is\n%s", table.String())
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{"/tmp/a-1": "/tmp/a-1", "/tmp/it's/heldcall": `'/tmp/it'\''s/heldcall'`, "": "''", "a b": "'a b'"} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q is written as %s, want %s", word, got, want)
		}
	}
}

// TestPendingRequests: people see first what is most dangerous, then what ends first, and what silence approves.
func TestPendingRequests(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	one := func(id string, risk approvals.Risk, left time.Duration, onTimeout string) approvals.Request {
		return approvals.Request{ID: id, ToolName: "bash", RiskLevel: risk, Status: approvals.StatusPending, CreatedAt: now, ExpiresAt: now.Add(left), OnTimeout: onTimeout}
	}
	page := approvals.Page{Items: []approvals.Request{
		one("LOW", approvals.RiskLow, time.Minute, approvals.OnTimeoutApprove),
		one("LATE", approvals.RiskHigh, 4*time.Minute, approvals.OnTimeoutDeny),
		one("SOON", approvals.RiskHigh, 3*time.Minute, approvals.OnTimeoutDeny),
		one("CRIT", approvals.RiskCritical, 5*time.Minute, approvals.OnTimeoutDeny),
	}}
	var text bytes.Buffer
	if err := Requests(&text, page, approvals.StatusPending, now); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, line := range strings.Split(strings.TrimSpace(text.String()), "\n")[1:] {
		ids = append(ids, strings.Fields(line)[0])
	}
	if want := []string{"CRIT", "SOON", "LATE", "LOW"}; !cmp.Equal(ids, want) {
		t.Errorf("order %v, want %v", ids, want)
	}
	if !strings.HasSuffix(strings.TrimSpace(text.String()), " 1m00s, then runs automatically") {
		t.Errorf("the end does not name what silence approves:\n%s", &text)
	}
}

// TestDecidedWithWindow: the decision names the run of the trust window and its end.
func TestDecidedWithWindow(t *testing.T) {
	ends := time.Date(2026, 8, 1, 12, 15, 0, 0, time.UTC)
	r := approvals.Request{
		ID: "01A", ToolName: "Write", Status: approvals.StatusApproved, SessionID: "s1", RunID: "r1", Principal: approvals.Principal{Tenant: "acme", User: "ann"},
		Decisions: []approvals.Decision{{Action: approvals.ActionApprove, Window: "15m", GrantID: "01G", Scope: approvals.GrantSession, GrantExpiresAt: &ends}},
	}
	var text bytes.Buffer
	if err := Decided(&text, &r); err != nil {
		t.Fatal(err)
	}
	if want := "granted 01G: allow reads and writes in the workspace for run r1 of acme/ann/-/s1 until 2026-08-01T12:15:00Z\n"; !strings.HasSuffix(text.String(), want) {
		t.Errorf("%q does not end with %q", text.String(), want)
	}
}
