package webhook

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

var bob = reviewers.Reviewer{Name: "bob", User: "bob", Role: reviewers.RoleReviewer, Groups: []string{"ops"}}

// links are those of the webhook "hook", for a reviewer.
func (s *stage) links(who reviewers.Reviewer) *Links {
	return NewLinks(LinkOptions{
		Channel: "hook", Path: "/hooks/hook", Reviewer: func() (reviewers.Reviewer, bool) { return who, who.Name != "" },
		Gate: s.gate, Deliveries: s.store.Deliveries, Log: slog.New(slog.DiscardHandler),
	})
}

func (s *stage) link(l *Links, r approvals.Request) string {
	s.t.Helper()
	link, err := l.URL(s.t.Context(), "", r)
	if err != nil {
		s.t.Fatal(err)
	}
	return link
}

// browse sends a request to the links and returns the answer.
func browse(l *Links, method, link, body string) *httptest.ResponseRecorder {
	kind := "application/x-www-form-urlencoded"
	if strings.HasPrefix(body, "{") {
		kind = "application/json"
	}
	req := httptest.NewRequestWithContext(context.Background(), method, link, strings.NewReader(body))
	req.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	l.ServeHTTP(w, req)
	return w
}

func (s *stage) status(r approvals.Request) approvals.Request {
	s.t.Helper()
	now, err := s.gate.Request(s.t.Context(), r.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return now
}

func TestALinkDecidesOnce(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	r := s.ask(nil)
	link := s.link(l, r)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
		w := browse(l, method, link, "")
		if w.Code != http.StatusOK || w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-store" || s.status(r).Status != approvals.StatusPending {
			t.Fatalf("%s answers %d, and the request is %s", method, w.Code, s.status(r).Status)
		}
		if body := w.Body.String(); method == http.MethodGet && (!strings.Contains(body, "opensesame-argument") || !strings.Contains(body, "<strong>bob</strong>")) {
			t.Errorf("the page does not name the decision and the reviewer: %s", body)
		}
	}
	if w := browse(l, http.MethodPost, link, "action=approve&note=fine"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "<h1>Approved</h1>") || !strings.Contains(w.Body.String(), "approved by bob") {
		t.Errorf("the decision answers %d: %s", w.Code, w.Body)
	}
	now := s.status(r)
	final, _ := now.FinalDecision()
	if final.ReviewerID != "bob" || final.Channel != "webhook" || final.Note != "fine" || final.Action != approvals.ActionApprove {
		t.Errorf("the decision is %+v", final)
	}
	s.close()
	s.open() // after a restart, and on another replica
	l = s.links(bob)
	for method, body := range map[string]string{http.MethodGet: "", http.MethodPost: "action=deny"} {
		if w := browse(l, method, link, body); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "approved by bob") || strings.Contains(w.Body.String(), "<form") {
			t.Errorf("%s once more answers %d: %s", method, w.Code, w.Body)
		}
	}
	if body := browse(l, http.MethodGet, link, "").Body.String(); strings.Contains(body, "opensesame-argument") {
		t.Errorf("a link that is used shows the arguments: %s", body)
	}
	if w := browse(l, http.MethodPost, link, `{"action":"deny"}`); strings.Contains(w.Body.String(), "opensesame-argument") || w.Code != http.StatusConflict || w.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(w.Body.String(), `"already_decided"`) {
		t.Errorf("to a program it answers %d: %s", w.Code, w.Body)
	}
}

func TestALinkThatIsNotHeldcalls(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	r, other := s.ask(nil), s.ask(nil)
	link := s.link(l, r)
	eve := bob
	eve.Name = "eve"
	later := r
	later.ExpiresAt = r.ExpiresAt.Add(time.Hour)
	cut := strings.LastIndexByte(link, '.')
	forged := []string{
		strings.Replace(link, r.ID, other.ID, 1), link[:cut], link[:len(link)-1], link + "A", link[:cut] + strings.ToUpper(link[cut:]),
		s.link(l, later)[:strings.LastIndexByte(s.link(l, later), '.')] + link[cut:],
		"/hooks/hook/", "/hooks/hook/x", "/hooks/hook/..", "/hooks/hook/" + strings.Repeat("a.", 200), s.link(s.links(eve), r),
	}
	for _, f := range forged {
		for method, body := range map[string]string{http.MethodGet: "", http.MethodPost: "action=approve"} {
			if w := browse(l, method, f, body); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "opensesame") {
				t.Errorf("%s %s answers %d", method, f, w.Code)
			}
		}
	}
	for _, body := range []string{"", "action=abort_run", "action=allow_always", `{"action":"approve","reviewer_id":"eve"}`, `{"action":"modify_args"}`, `{`, "action=approve&note=" + strings.Repeat("x", 3000)} {
		if w := browse(l, http.MethodPost, link, body); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%q answers %d", body, w.Code)
		}
	}
	if got := browse(l, http.MethodPut, link, "action=approve").Code; got != http.StatusMethodNotAllowed {
		t.Errorf("PUT answers %d", got)
	}
	if s.status(r).Status != approvals.StatusPending || s.status(other).Status != approvals.StatusPending {
		t.Error("something was decided")
	}
}

func TestALinkEndsWithItsRequest(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	r := s.ask(func(r *approvals.Request) { r.ExpiresAt = time.Now().Add(time.Second) })
	link := s.link(l, r)
	for deadline := time.Now().Add(soon); s.status(r).Status != approvals.StatusExpired; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the request does not expire")
		}
	}
	if w := browse(l, http.MethodPost, link, "action=approve"); w.Code != http.StatusGone && w.Code != http.StatusConflict {
		t.Errorf("it answers %d: %s", w.Code, w.Body)
	}
	if w := browse(l, http.MethodGet, link, ""); w.Code < 400 || strings.Contains(w.Body.String(), "opensesame-argument") {
		t.Errorf("afterwards it answers %d and shows %s", w.Code, w.Body)
	}
}

// The page of a cancelled request shows the reason as a text.
func TestALinkToACancelledRequestShowsWhy(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	hold := s.hold(nil)
	link := s.link(l, hold.Requests()[0])
	if err := hold.Cancel(t.Context(), approvals.CancelAgentGone); err != nil {
		t.Fatal(err)
	}
	if w := browse(l, http.MethodGet, link, ""); !strings.Contains(w.Body.String(), "cancelled: its agent has gone") {
		t.Errorf("it answers %d: %s", w.Code, w.Body)
	}
}

// A link that has decided shows the call no more, even where others have still to.
func TestALinkThatIsUsedShowsNoCall(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	r := s.ask(func(r *approvals.Request) { r.RequiredApprovals = 2 })
	link := s.link(l, r)
	if w := browse(l, http.MethodPost, link, "action=approve"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "<h1>Your approval is recorded</h1>\n\n<p>You approved. Waiting for 1 more approval.") {
		t.Errorf("the first of two answers %d: %s", w.Code, w.Body)
	}
	if w := browse(l, http.MethodGet, link, ""); w.Code != http.StatusConflict || strings.Contains(w.Body.String(), "opensesame-argument") || strings.Contains(w.Body.String(), "<form") {
		t.Errorf("afterwards it answers %d and shows %s", w.Code, w.Body)
	}
}

// Browsers press the first button of a form for Enter in a field of one line.
func TestEnterInTheNoteDoesNotApprove(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	page := browse(l, http.MethodGet, s.link(l, s.ask(nil)), "").Body.String()
	deny, approve := strings.Index(page, `value="deny"`), strings.Index(page, `value="approve"`)
	if deny < 0 || approve < deny || strings.Contains(page, "<input") {
		t.Errorf("Enter in the note can approve: %s", page)
	}
}

func TestOfTwoAtOnceOneDecides(t *testing.T) {
	s := newStage(t)
	for _, quorum := range []int{1, 2} {
		r := s.ask(func(r *approvals.Request) { r.RequiredApprovals = quorum })
		link := s.link(s.links(bob), r)
		var all sync.WaitGroup
		codes := make([]int, 8)
		for i := range codes {
			all.Go(func() {
				codes[i] = browse(s.links(bob), http.MethodPost, link, "action="+[]string{"approve", "deny"}[i%2]).Code
			})
		}
		all.Wait()
		took := 0
		for _, code := range codes {
			if code == http.StatusOK {
				took++
			} else if code != http.StatusConflict {
				t.Errorf("one answers %d", code)
			}
		}
		if now := s.status(r); took != 1 || len(now.Decisions) != 1 {
			t.Errorf("%d took effect, and the request has %d decisions", took, len(now.Decisions))
		}
	}
}

// A link gives no right that its reviewer does not have, and what was refused can be
// done once the reviewer may.
func TestALinkHasTheRightsOfItsReviewer(t *testing.T) {
	s := newStage(t)
	viewer, gone, ann := bob, reviewers.Reviewer{}, bob
	viewer.Role = reviewers.RoleViewer
	ann.User = "ann" // for whom the agent acts
	for name, tt := range map[string]struct {
		who    reviewers.Reviewer
		change func(*approvals.Request)
	}{
		"a viewer":             {viewer, nil},
		"no longer one":        {gone, nil},
		"of another group":     {bob, func(r *approvals.Request) { r.Reviewers = []string{"finance"} }},
		"the agent's own user": {ann, nil},
	} {
		r := s.ask(tt.change)
		l := s.links(tt.who)
		if w := browse(l, http.MethodPost, s.link(l, r), "action=approve"); w.Code != http.StatusForbidden || s.status(r).Status != approvals.StatusPending {
			t.Errorf("%s: it answers %d, and the request is %s", name, w.Code, s.status(r).Status)
		}
		if name == "the agent's own user" { // may deny, by the same link
			if w := browse(l, http.MethodPost, s.link(l, r), "action=deny"); w.Code != http.StatusOK {
				t.Errorf("%s: to deny answers %d: %s", name, w.Code, w.Body)
			}
		}
	}
}

// The page shows the whole call, and the outcome as a text.
func TestThePageShowsTheCallWhole(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	r := s.ask(func(r *approvals.Request) {
		r.Arguments, r.Details.RawArguments = []byte(`{"command":"ls","all":true}`), `{"command":"ls","command":"rm"}`
		r.Details.Flags, r.Details.Doubts = []string{"The name command is there twice."}, []string{"The name command is there twice."}
		r.Context.LastUserMessage = "clean up, please"
	})
	link := s.link(l, r)
	page := browse(l, http.MethodGet, link, "").Body.String()
	for _, want := range []string{"{\n  &#34;command&#34;: &#34;ls&#34;,\n", "&#34;command&#34;:&#34;rm&#34;", "tenant acme, user ann, agent coder", "clean up, please", "model m"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not show %q:\n%s", want, page)
		}
	}
	if strings.Count(page, "is there twice") != 1 {
		t.Errorf("a warning is shown %d times", strings.Count(page, "is there twice"))
	}
	if w := browse(l, http.MethodPost, link, `action={"action":"deny"}`); !strings.Contains(w.Body.String(), "Content-Type: application/json") {
		t.Errorf("JSON sent as a form gets %s", w.Body)
	}
	if page = browse(l, http.MethodPost, link, "action=deny").Body.String(); !strings.Contains(page, "<h1>Denied</h1>") || !strings.Contains(page, "It was denied by bob") {
		t.Errorf("afterwards the page is %s", page)
	}
}

func TestThePageShowsWhatAModelWroteAsText(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	r := s.ask(func(r *approvals.Request) {
		r.ToolName = "<script>alert(1)</script>"
		r.Arguments = []byte(`{"command":"</pre><img src=x onerror=alert(1)>` + "\u202e" + `gnp"}`)
	})
	w := browse(l, http.MethodGet, s.link(l, r), "")
	body, _ := io.ReadAll(w.Body)
	for _, bad := range []string{"<script", "<img", "\u202e"} {
		if strings.Contains(string(body), bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

func TestAMessageCarriesALinkForWhatWaits(t *testing.T) {
	s := newStage(t)
	l := s.links(bob)
	r := newReceiver(t, l)
	q := s.ask(nil)
	link := s.link(l, q)
	e := q.RequiredEvent()
	body, err := r.channel.body(t.Context(), e, q)
	if err != nil || !strings.Contains(string(body), `"decide_url":"https://heldcall.example`+link+`"`) || !strings.Contains(string(body), "https://heldcall.example/#/") {
		t.Errorf("%s: %v", body, err)
	}
	browse(l, http.MethodPost, link, "action=approve")
	if body, err = r.channel.body(t.Context(), e, s.status(q)); err != nil || strings.Contains(string(body), "decide_url") {
		t.Errorf("of a request that is decided: %s: %v", body, err)
	}
}

// A link decides nothing, and the webhook gets nothing, of a tenant that its reviewer does not see.
func TestAWebhookOfOneTenant(t *testing.T) {
	s := newStage(t)
	q := s.ask(nil)
	limited := bob
	limited.Tenants = approvals.TenantScope{"globex"}
	l, all := s.links(limited), s.links(bob)
	link := s.link(all, q)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if w := browse(l, method, link, "action=approve"); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "opensesame-argument") {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
	if s.status(q).Status != approvals.StatusPending {
		t.Error("the link has decided")
	}
	for links, want := range map[*Links]bool{l: false, all: true, nil: true} {
		if got := newReceiver(t, links).channel.concerns(&q); got != want {
			t.Errorf("the webhook gets it: %t, want %t", got, want)
		}
	}
}

// turns are held turns in one state.
type turns approvals.AgentState

func (s *turns) AgentState(string) (approvals.AgentState, bool) {
	return approvals.AgentState(*s), true
}
func (*turns) RequestChanged(*approvals.Request) {}

// The page has the agent's state and since when, before and after the decision.
func TestThePageHasTheAgentsState(t *testing.T) {
	state := &turns{Since: time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)}
	s := newStage(t)
	s.close()
	s.turns = state
	s.open()
	l := s.links(bob)
	link := s.link(l, s.ask(nil))
	for to, note := range map[approvals.AttachState]string{
		approvals.AgentAttached: "the agent waits for the decision",
		approvals.AgentDetached: "an approved call is released when the agent reconnects",
		approvals.AgentParked:   "the agent goes on without the call",
	} {
		state.State = to
		body := browse(l, http.MethodGet, link, "").Body.String()
		if want := "<dt>Agent</dt><dd>" + string(to) + " since "; !strings.Contains(body, want) || !strings.Contains(body, ": "+note) {
			t.Errorf("no %q and %q in %s", want, note, body)
		}
	}
	state.State = approvals.AgentDetached
	if body := browse(l, http.MethodPost, link, "action=approve").Body.String(); !strings.Contains(body, "Then the call is released when the agent reconnects.") {
		t.Errorf("after an approval: %s", body)
	}
}
