package approvals_test

import (
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/approvalstest"
)

func TestOneDecides(t *testing.T) {
	for _, tt := range []struct {
		r    approvals.Request
		want bool
	}{
		{approvals.Request{}, true},
		{approvals.Request{RequiredApprovals: 1}, true},
		{approvals.Request{RequiredApprovals: 2}, false},
		{approvals.Request{RequiredApprovals: 1, Demands: approvalstest.Demanding().Demands}, false},
	} {
		if tt.r.OneDecides() != tt.want || !tt.r.Waits(0) {
			t.Errorf("%+v: one decides %t, demand 0 waits %t", tt.r, tt.r.OneDecides(), tt.r.Waits(0))
		}
	}
}

func TestLastEscalation(t *testing.T) {
	r := approvalstest.Demanding()
	if at := r.EscalatedAt(); !at.IsZero() {
		t.Errorf("without an escalation: %s", at)
	}
	early := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	late := early.Add(time.Hour)
	for _, times := range [][2]*time.Time{{&early, &late}, {&late, &early}, {&late, nil}} {
		for i, at := range times {
			r.Demands[i].Escalation = &approvals.Escalation{EscalatedAt: at}
		}
		if at := r.EscalatedAt(); !at.Equal(late) {
			t.Errorf("the last escalation is at %s", at)
		}
	}
}
