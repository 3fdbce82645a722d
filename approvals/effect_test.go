package approvals_test

import (
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

func TestEffectsText(t *testing.T) {
	for _, tt := range []struct {
		effects []approvals.Effect
		want    string
	}{
		{nil, ""},
		{[]approvals.Effect{{Kind: "new"}}, "unknown effects"},
		{[]approvals.Effect{{Kind: approvals.EffectRead, Target: "a"}, {Kind: approvals.EffectRead, Target: "a", Place: approvals.PlaceOutside}}, "reads a outside the workspace, reads a"},
		{[]approvals.Effect{{Kind: approvals.EffectRead, Target: "a"}, {Kind: approvals.EffectSend, Target: "h", Irreversible: true}, {Kind: approvals.EffectRead, Target: "b"}}, "sends: h (cannot be undone), reads a, b"},
		{[]approvals.Effect{{Kind: approvals.EffectRun, Target: ".envrc", Later: "tool-manager"}, {Kind: approvals.EffectRun, Target: "x"}, {Kind: approvals.EffectWrite, Target: ".envrc"}}, "runs other code: x, writes what runs later: .envrc (tool-manager), writes .envrc"},
		{[]approvals.Effect{{Kind: "new", Target: "x", Later: "hook"}}, "unknown effects: x"},
		{[]approvals.Effect{{Kind: approvals.EffectDestroy, Target: "pod"}}, "destroys: pod"}, // a controller may start it again
		{[]approvals.Effect{
			{Kind: approvals.EffectWrite, Target: "1"},
			{Kind: approvals.EffectWrite, Target: "2"},
			{Kind: approvals.EffectWrite, Target: "3"},
			{Kind: approvals.EffectWrite, Target: "4"},
			{Kind: approvals.EffectWrite, Target: "5"},
		}, "writes 1, 2, 3 and 2 more"},
	} {
		if got := approvals.EffectsText(tt.effects); got != tt.want {
			t.Errorf("%+v\n got %s\nwant %s", tt.effects, got, tt.want)
		}
	}
}
