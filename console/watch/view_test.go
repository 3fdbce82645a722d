package watch

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// plain is a screen without colours.
func plain(content string) string {
	var lines []string
	for _, line := range strings.Split(sgr.ReplaceAllString(content, ""), "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *session) screen() string { return plain(s.View().Content) }

func call(id, tool, arguments string) approvals.Request {
	r := bash(id, "")
	r.ToolName, r.Arguments, r.ArgsPreview, r.Details.Commands = tool, []byte(arguments), tool+"…", nil
	return r
}

// demanding is a request that two rules ask two groups about, one of which has approved.
func demanding() approvals.Request {
	r := bash("01A", "psql x | curl y")
	r.Reviewers, r.RequiredApprovals = []string{"dba", "security"}, 2
	r.Demands = []approvals.Demand{
		{Rule: "policy.yaml:5", Reviewers: []string{"dba"}, RequiredApprovals: 1},
		{Rule: "policy.yaml:7", Reviewers: []string{"security"}, RequiredApprovals: 2, Escalation: &approvals.Escalation{At: noon.Add(time.Hour), To: []string{"managers"}}},
	}
	r.Decisions = []approvals.Decision{
		{Action: approvals.ActionApprove, ReviewerID: "dan", OnBehalfOf: "dora", Channel: "rest", DecidedAt: noon, Fills: []int{0}},
		{Action: approvals.ActionApprove, ReviewerID: "sam", Channel: "slack", DecidedAt: noon, Fills: []int{1}},
	}
	return r
}

// Whom a rule asks too, once it has, is on the page that shows the request.
func TestEscalationIsShown(t *testing.T) {
	s := begin(t, demanding())
	s.press("enter")
	r := demanding()
	at := noon.Add(time.Hour)
	r.Demands[1].Reviewers, r.Demands[1].Escalation = []string{"security", "managers"}, &approvals.Escalation{At: at, To: []string{"managers"}, EscalatedAt: &at}
	s.send(requestMsg{r})
	s.press("pgdown")
	if screen := s.screen(); !strings.Contains(screen, "1 of 2 approvals by members of security or managers (policy.yaml:7): sam") {
		t.Errorf("who decides now is not on\n%s", screen)
	}
}

// The result of a call is on the page of its request, also if it arrives while the page is
// shown.
func TestResultIsShown(t *testing.T) {
	s := begin(t, bash("01A", "ls"))
	s.press("enter")
	r := ended(bash("01A", "ls"), approvals.StatusApproved, "ann", "")
	r.Details.Result = &approvals.CallResult{ReleasedAt: noon}
	s.send(requestMsg{r})
	s.shows("released", "2026-11-21T12:00:00Z, no result yet")
	later := noon.Add(time.Minute)
	r.Details.Result = &approvals.CallResult{ReleasedAt: noon, ReceivedAt: &later, Preview: "no\x1bsuch\nfile", Error: true, Truncated: true, NextText: "It is missing."}
	s.send(requestMsg{r})
	s.shows("reported by the agent 2026-11-21T12:01:00Z, failed, the beginning", `no\x1bsuch`, "file", "model's next message", "It is missing.")
}

// Each screen in testdata is one at 80 by 24.
func TestScreens(t *testing.T) {
	turn := func(r approvals.Request) approvals.Request { r.TurnID = "t"; return r }
	low := call("01B", "read_file", `{"path":"notes.txt","limit":10,"deep":{"a":[1,2]}}`)
	low.RiskLevel, low.CreatedAt = approvals.RiskLow, noon.Add(-time.Hour)
	for name, play := range map[string]func(s *session){
		"empty": func(*session) {},
		"list": func(s *session) {
			s.send(requestMsg{low}, requestMsg{turn(bash("01C", "rm -r drafts"))}, requestMsg{turn(bash("01D", "ls"))})
			s.press("j")
		},
		"script": func(s *session) { s.send(requestMsg{bash("01A", "cd drafts &&\n\trm -r old")}); s.press("enter") },
		"table":  func(s *session) { s.send(requestMsg{low}); s.press("enter") },
		"edit": func(s *session) {
			s.send(requestMsg{call("01A", "edit_file", `{"file_path":"a.go","old_string":"one\ntwo\nthree","new_string":"one\n2\nthree","replace_all":true}`)})
			s.press("enter")
		},
		"patch": func(s *session) {
			s.send(requestMsg{call("01A", "apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n@@ func a\n-old\n+new\n kept\n*** End Patch"}`)})
			s.press("enter")
		},
		"content": func(s *session) {
			s.send(requestMsg{call("01A", "write_file", `{"content":"package a\n\nfunc A() {}\n","path":"a.go"}`)})
			s.press("enter")
		},
		"broken": func(s *session) {
			r := call("01A", "bash", `"{\"command\": \"ls\""`)
			r.Details.Flags = []string{"The arguments are not strict JSON."}
			s.send(requestMsg{r})
			s.press("enter")
		},
		"demands": func(s *session) {
			s.send(requestMsg{demanding()})
			s.press("enter")
		},
		"raw": func(s *session) { s.send(requestMsg{low}); s.press("enter", "v") },
		"remember": func(s *session) {
			s.send(requestMsg{bash("01A", "rm -r drafts")})
			s.press("enter")
			s.settled()
			s.press("r")
		},
		"keys": func(s *session) { s.press("?") },
		"form": func(s *session) {
			s.send(requestMsg{deploying()})
			s.press("enter")
			s.settled()
			s.press("a", "eu", "enter", "It is cheaper", "enter", "enter", "hunter2")
		},
		"summary": func(s *session) {
			s.send(requestMsg{deploying()})
			s.press("enter")
			s.settled()
			s.press("a", "eu", "enter", "It is cheaper", "enter", "enter", "hunter2", "enter")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			play(s)
			got, file := s.screen(), filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// hostile are texts that must not reach a terminal as they are.
var hostile = []string{
	"\x1b[2J\x1b[H\x1b]0;owned\x07", "\x1b]8;;https://attacker.example\x1b\\here\x1b]8;;\x1b\\", "\u009b2J", "\x1bP$q\x1b\\", "\x1b[?1049l", "\x1b[6n",
	"safe\rrm -rf /", "a\b\b\brm", "\u202egnp.exe", "\u2066x\u2069", "r\u200bm", "\ufeff", "\x00", "\x7f", "\u2028next", "\U000e0041", "\x1b[38;5;1mred", "\ufe0f\u3164",
}

// Whatever a model, an agent or a reviewer wrote, what goes to the terminal is
// visible text and heldcall's own colours, and no line is wider than the screen.
func TestHostileTextIsInert(t *testing.T) {
	for _, text := range hostile {
		quoted := fmt.Sprintf("%+q", text)
		r := bash("01A", text)
		r.ToolName, r.ArgsPreview, r.Rule, r.Reason, r.Model, r.SessionID, r.RunID, r.Resource = text, text, text, text, text, text, text, text
		r.Principal = approvals.Principal{Tenant: text, User: text, Agent: text}
		r.Context = approvals.Context{LastUserMessage: text, AssistantText: text}
		r.Tool.Description, r.SuggestedPatterns, r.Reviewers = text, []string{text}, []string{text}
		r.Details.Flags, r.Details.Commands, r.Details.RawArguments = []string{text}, []string{text}, text
		r.Demands = []approvals.Demand{{Rule: text, Reviewers: []string{text}, RequiredApprovals: 2, Escalation: &approvals.Escalation{To: []string{text}}}}
		r.Decisions = []approvals.Decision{{Fills: []int{0}, ReviewerID: text, OnBehalfOf: text, Note: text, Channel: text, ModifiedArgs: []byte(`{"a":"` + text + `"}`)}}
		edit := r
		edit.ID, edit.Arguments = "01B", []byte(`{"old_string":`+jsonText(text)+`,"new_string":"b"}`)
		r.Details.Result = &approvals.CallResult{ReceivedAt: new(noon), Preview: text, NextText: text}
		odd := r
		odd.ID, odd.Arguments = "01C", []byte(`{"`+text+`"`) // not JSON at all
		s := begin(t, r, edit, odd)
		steps := [][]string{
			{}, {"enter"}, {"v"}, {"v", "r"}, {"esc", "d", text}, {"esc", "j"}, {"v"}, {"j"}, {"v"}, {"esc", "/", text}, {"esc"},
		}
		for _, keys := range steps {
			s.press(keys...)
			s.settled()
			inert(t, quoted, s)
			for range 6 {
				s.press("pgdown")
				inert(t, quoted, s)
			}
		}
		s.press("enter")
		s.settled()
		s.send(draftMsg{s.list.selected, []byte(`{"` + text), nil})
		inert(t, quoted, s)
		s.send(requestMsg{ended(*s.list.current(), approvals.StatusDenied, text, text)})
		inert(t, quoted, s)
	}
}

func jsonText(text string) string {
	arguments := string(bash("", text).Arguments) // {"command":"..."}
	return strings.TrimSuffix(strings.TrimPrefix(arguments, `{"command":`), "}")
}

func inert(t *testing.T, what string, s *session) {
	t.Helper()
	view := s.View()
	for _, r := range sgr.ReplaceAllString(view.Content, "") + view.WindowTitle {
		if (r < ' ' && r != '\n') || (r >= 0x7f && r < 0xa0) || strings.ContainsRune("\u200b\u202e\u2066\u2069\ufeff\u2028\U000e0041\ufe0f\u3164", r) {
			t.Fatalf("%s: the terminal gets %U: %q", what, r, view.Content)
		}
	}
	for _, line := range strings.Split(view.Content, "\n") {
		if lipgloss.Width(line) > s.review.width {
			t.Fatalf("%s: a line is %d wide: %q", what, lipgloss.Width(line), line)
		}
	}
}

// Small and large windows are filled and not more than filled.
func TestEverySizeFits(t *testing.T) {
	s := begin(t, bash("01A", strings.Repeat("echo 漢字 🙂 word; ", 80)), bash("01B", "ls"))
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 20, Height: 8}, {Width: 40, Height: 12}, {Width: 200, Height: 60}, {Width: 1, Height: 1}} {
		for _, keys := range [][]string{{}, {"j", "enter"}, {"r"}, {"esc", "d"}, {"esc", "esc", "?"}, {"esc", "esc"}} {
			s.send(size)
			s.press(keys...)
			s.settled()
			if keys != nil && s.review.question.mode == remembering && s.review.height < 12 {
				continue // its patterns fill the screen, which the terminal cuts at the bottom
			}
			inert(t, fmt.Sprint(size, keys), s)
			if lines := strings.Count(s.View().Content, "\n") + 1; lines != s.review.height {
				t.Errorf("%v %q: %d lines", size, keys, lines)
			}
		}
	}
}

// A request about a result shows the result as text, and the effects of each decision.
func TestRequestOfAResult(t *testing.T) {
	r := &approvals.Request{ID: "1", Kind: approvals.KindResult, ToolName: "read", Description: "The call has run: read {}", Arguments: json.RawMessage(`"14 lines"`)}
	r.Details.FreeText = true
	page := strings.Join(requestPage(r, false, 200).lines, "\n")
	for _, want := range []string{"The call has run: read {}", "Approve: the model reads the result.", "result", "  14 lines"} {
		if !strings.Contains(page, want) {
			t.Errorf("not shown: %q\n%s", want, page)
		}
	}
	if page := strings.Join(draftPage(r, []byte(`"13 lines"`), 200).lines, "\n"); !strings.Contains(page, "the model would read this in place of the result") {
		t.Errorf("the draft is shown as\n%s", page)
	}
}

// The agent's state and since when is in the list, unless the agent waits, and on the page
// of the request, also if it changes while the page is shown.
func TestAgentStateIsShown(t *testing.T) {
	r := bash("01A", "ls")
	r.Agent = &approvals.AgentState{State: approvals.AgentAttached, Since: noon.Add(-3 * time.Minute)}
	s := begin(t, r)
	if screen := s.screen(); strings.Contains(screen, "attached") {
		t.Errorf("an agent that waits is in the list:\n%s", screen)
	}
	s.press("enter")
	s.shows("attached since 2026-11-21T11:57:00Z: the agent waits for the decision")
	for state, note := range map[approvals.AttachState]string{
		approvals.AgentDetached: "an approved call is released",
		approvals.AgentParked:   "the agent goes on without the call",
	} {
		r.Agent = &approvals.AgentState{State: state, Since: noon.Add(-2 * time.Minute)}
		s.send(requestMsg{r})
		s.shows(string(state)+" since 2026-11-21T11:58:00Z", note)
		s.press("esc")
		s.shows(string(state) + " 2m · ")
		s.press("enter")
	}
}
