package nats_test

import (
	"testing"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// Configured reviewers take the place of "local"; their roles hold here too. The
// connection is heldcall's own, which may publish on every token.
func TestReviewersDecideOverNATS(t *testing.T) {
	entry := func(name string, role reviewers.Role) reviewers.Entry {
		_, hash := reviewers.NewToken()
		return reviewers.Entry{Reviewer: reviewers.Reviewer{Name: name, Role: role}, TokenSHA256: hash}
	}
	directory, err := reviewers.NewDirectory([]reviewers.Entry{
		entry("vic", reviewers.RoleViewer), entry("ann@example.com", reviewers.RoleReviewer), entry("ada", reviewers.RoleAdmin),
	})
	if err != nil {
		t.Fatal(err)
	}
	st := startFor(t, directory)
	r, h := st.open(t)
	ann := subjects.Token("ann@example.com")
	for _, refused := range []struct{ subject, payload, code string }{
		{"heldcall.v1.decide.local." + r.ID, `{"action":"approve"}`, "unknown_reviewer"},
		{"heldcall.v1.decide.bob." + r.ID, `{"action":"approve"}`, "unknown_reviewer"},
		{"heldcall.v1.decide.vic." + r.ID, `{"action":"approve","reviewer_id":"ada"}`, "forbidden"},
		{"heldcall.v1.signal." + ann + ".r", `{"action":"abort_run"}`, "forbidden"},
		{"heldcall.v1.grants." + ann + ".add", `{"effect":"allow","principal":{"tenant":"acme"},"patterns":["rm"]}`, "forbidden"},
	} {
		if reply := ask(t, st.store.Conn(), refused.subject, refused.payload); reply["code"] != refused.code {
			t.Errorf("%s: %v, want %s", refused.subject, reply, refused.code)
		}
	}
	if run := ask(t, st.store.Conn(), "heldcall.v1.signal.ada.r", `{"action":"pause_run"}`); run["reviewer_id"] != "ada" {
		t.Errorf("ada's signal: %v", run)
	}
	if reply := ask(t, st.store.Conn(), "heldcall.v1.decide."+ann+"."+r.ID, `{"action":"approve"}`); reply["status"] != "approved" {
		t.Errorf("ann's decision: %v", reply)
	}
	if d := h.Requests()[0].Decisions; len(d) != 1 || d[0].ReviewerID != "ann@example.com" {
		t.Errorf("decisions are %+v", d)
	}
}
