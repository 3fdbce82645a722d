package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

func TestConfirmationIsTheTargetOfTheGravestEffect(t *testing.T) {
	effect := func(kind approvals.EffectKind, target string) approvals.Effect {
		return approvals.Effect{Kind: kind, Target: target}
	}
	for _, tt := range []struct {
		want    string
		effects []approvals.Effect
	}{
		{"/srv/x", []approvals.Effect{effect(approvals.EffectRead, "a"), effect(approvals.EffectDestroy, "/srv/x"), effect(approvals.EffectSend, "h")}},
		{"h", []approvals.Effect{effect(approvals.EffectDestroy, "a\u202eb"), effect(approvals.EffectSend, "h")}},
		{"h", []approvals.Effect{effect(approvals.EffectDestroy, strings.Repeat("x", 201)), effect(approvals.EffectSend, "h")}},
		{"bash", []approvals.Effect{effect(approvals.EffectDestroy, "a\nb")}},
		{"bash", []approvals.Effect{effect(approvals.EffectDestroy, " a")}},
		{"bash", nil},
	} {
		if got := approvals.ConfirmationOf(tt.effects, "bash"); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.effects, got, tt.want)
		}
	}
}

func TestApprovalsNeedTheConfirmation(t *testing.T) {
	r := &approvals.Request{Details: approvals.Details{Confirm: "/srv/x"}}
	for _, tt := range []struct {
		action approvals.Action
		typed  string
		ok     bool
	}{
		{approvals.ActionApprove, "/srv/x", true},
		{approvals.ActionApprove, " /srv/x\n", true},
		{approvals.ActionModifyArgs, "/srv/x", true},
		{approvals.ActionApprove, "", false},
		{approvals.ActionApprove, "/SRV/X", false},
		{approvals.ActionModifyArgs, "", false},
		{approvals.ActionAllowAlways, "", false},
		{approvals.ActionDeny, "", true},
		{approvals.ActionAnswer, "", true},
		{approvals.ActionAbortRun, "", true},
	} {
		err := (&approvals.Decision{Action: tt.action, Confirm: tt.typed}).CheckConfirmation(r)
		var invalid *approvals.InvalidError
		if tt.ok != (err == nil) || (err != nil && (!errors.As(err, &invalid) || invalid.Field != "confirm")) {
			t.Errorf("%s with %q: %v", tt.action, tt.typed, err)
		}
	}
	if err := (&approvals.Decision{Action: approvals.ActionApprove}).CheckConfirmation(&approvals.Request{}); err != nil {
		t.Errorf("a request without a confirmation: %v", err)
	}
}
