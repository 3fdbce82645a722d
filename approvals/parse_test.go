package approvals_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

func TestParseDecision(t *testing.T) {
	for payload, want := range map[string]approvals.Action{
		`{"action":"approve"}`:                        approvals.ActionApprove,
		`{"action":"allow"}`:                          approvals.ActionApprove,
		`{"action":"deny","note":"no","unknown":[1]}`: approvals.ActionDeny,
		`{"allow":true}`:                              approvals.ActionApprove,
		`{"approved":true}`:                           approvals.ActionApprove,
		`{"confirmed":true}`:                          approvals.ActionApprove,
		`{"allow":false}`:                             approvals.ActionDeny,
		`{"approved":false}`:                          approvals.ActionDeny,
		`{"confirmed":false}`:                         approvals.ActionDeny,
		`{"confirmed":false,"approved":false,"action":"deny"}`:                             approvals.ActionDeny,
		`{"approved":true,"action":"modify_args","modified_args":{"a":1}}`:                 approvals.ActionModifyArgs,
		`{"approved":null,"action":"abort_run","modified_args":null,"reviewer_id":"boss"}`: approvals.ActionAbortRun,
	} {
		d, err := approvals.ParseDecision([]byte(payload))
		if err != nil || d.Action != want || d.ReviewerID != "" {
			t.Errorf("%s: %+v, %v", payload, d, err)
		}
	}
	for payload, field := range map[string]string{
		``:                                     "payload",
		`approve`:                              "payload",
		`{"action":"deny","action":"approve"}`: "payload",
		`{"approved":false,"approved":true}`:   "payload",
		`{"action":"approve"} {}`:              "payload",
		"{\"action\":\"approve\",\"note\":\"\xff\"}": "payload",
		`{}`:                   "action",
		`{"Action":"approve"}`: "action",
		`{"action":"approve","reviewer_id":"bob","seq":3,"hash":"00"}`: "payload",
		`{"action":7}`:                           "action",
		`{"approved":"yes"}`:                     "approved",
		`{"action":"deny","approved":true}`:      "approved",
		`{"action":"approve","confirmed":false}`: "confirmed",
		`{"allow":true,"confirmed":false}`:       "confirmed",
		`{"action":"maybe","allow":true}`:        "allow",
	} {
		d, err := approvals.ParseDecision([]byte(payload))
		var invalid *approvals.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %+v, %v; want an error about %s", payload, d, err, field)
		}
	}
}

// A payload that is read as an approval has a field for yes and none for no.
func FuzzParseDecision(f *testing.F) {
	for _, seed := range []string{`{"action":"approve"}`, `{"approved":true,"confirmed":false}`, `{"action":"modify_args","modified_args":{"a":[1,{}]}}`, `{"action":"deny","note":"é"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		d, err := approvals.ParseDecision(payload)
		var invalid *approvals.InvalidError
		switch {
		case err != nil && !errors.As(err, &invalid):
			t.Fatalf("%v is not an InvalidError", err)
		case err == nil && d.Action == "":
			t.Fatal("read without an action")
		case err == nil && d.ReviewerID != "":
			t.Fatal("the reviewer was taken from the payload")
		case err == nil && d.Action == approvals.ActionApprove:
			var words map[string]any
			if err := json.Unmarshal(payload, &words); err != nil {
				t.Fatalf("read as approve, but it is not JSON: %v", err)
			}
			yes := words["action"] == "approve" || words["action"] == "allow"
			for _, word := range []string{"allow", "approved", "confirmed"} {
				if words[word] == false {
					t.Fatalf("read as approve with %s false", word)
				}
				yes = yes || words[word] == true
			}
			if !yes {
				t.Fatal("read as approve without a yes")
			}
		}
	})
}
