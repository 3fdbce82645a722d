package watch

import (
	"slices"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// listOf is a list of requests, of which one is selected.
func listOf(selected string, requests ...approvals.Request) requestList {
	l := newRequestList()
	for _, r := range requests {
		l.put(r.ID, r)
	}
	l.selected = selected
	return l
}

func idsOf(requests []approvals.Request) (ids []string) {
	for i := range requests {
		ids = append(ids, requests[i].ID)
	}
	return ids
}

func TestListOrder(t *testing.T) {
	at := func(id, turn string, risk approvals.Risk) approvals.Request {
		r := bash(id, "ls")
		r.TurnID, r.RiskLevel = turn, risk
		return r
	}
	l := listOf("", at("01A", "", approvals.RiskLow), at("01B", "t", approvals.RiskMedium), at("01C", "", approvals.RiskHigh), at("01D", "t", approvals.RiskCritical))
	if got, want := idsOf(l.listed()), []string{"01B", "01D", "01C", "01A"}; !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
	for id, want := range map[string]string{"01B": "01D", "01D": "01C", "01A": "01C", "": "01B"} {
		if got := l.nearest(id); got != want {
			t.Errorf("after %q comes %q, want %q", id, got, want)
		}
	}
	joint := func(id, question string) approvals.Request {
		r := at(id, "t", approvals.RiskLow)
		r.Together = question
		return r
	}
	l = listOf("", joint("01A", "q"), joint("01B", "p"), joint("01C", ""), joint("01D", "q"))
	if got, want := idsOf(l.listed()), []string{"01A", "01D", "01B", "01C"}; !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
	if place, of := l.placeInQuestion(new(joint("01D", "q"))); place != 2 || of != 2 {
		t.Errorf("01D is call %d of %d", place, of)
	}
}

func TestListReceives(t *testing.T) {
	open, over := bash("01A", "ls"), ended(bash("01A", "ls"), approvals.StatusDenied, "bob", "")
	withResult := over
	withResult.Details.Result = &approvals.CallResult{Preview: "done"}
	for name, c := range map[string]struct {
		list     requestList
		request  approvals.Request
		shown    bool
		kept     bool
		reported bool
	}{
		"a new one":               {listOf(""), open, false, true, false},
		"one that has ended":      {listOf("", open), over, false, false, false},
		"one selected, in a list": {listOf("01A", open), over, false, false, false},
		"one shown":               {listOf("01A", open), over, true, true, true},
		"one unknown":             {listOf("01A"), over, true, false, false},
		"one with its result":     {listOf("01A", over), withResult, true, true, false},
		"an old state":            {listOf("01A", over), open, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(c.list.byID)
			l := c.list
			if got := l.receive(c.request, c.shown); got != c.reported {
				t.Errorf("ended while shown is %v", got)
			}
			kept, known := l.byID["01A"]
			if known != c.kept {
				t.Errorf("kept is %v", known)
			}
			if c.request.Details.Result != nil && kept.Details.Result == nil {
				t.Error("the result is not in the list")
			}
			if len(c.list.byID) != before {
				t.Error("the copy before has changed")
			}
		})
	}
}

func TestConnectionStatus(t *testing.T) {
	var c connection
	check := func(when time.Time, want string, wantStale bool) {
		t.Helper()
		if text, stale := c.status(when); text != want || stale != wantStale {
			t.Errorf("the status is %q, stale %v, want %q", text, stale, want)
		}
	}
	check(noon, " · connecting", false)
	c.ready()
	check(noon, "", false)
	c.lose(noon)
	c.lose(noon.Add(time.Second)) // an attempt has failed
	check(noon.Add(5*time.Second), " · DISCONNECTED 5s, retrying", true)
	c.ready()
	check(noon, "", false)
}
