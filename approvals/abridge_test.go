package approvals_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/approvals"
)

// Finding 24: each field that may be large is removed or shortened. The other fields and
// the request itself do not change.
func TestAbridged(t *testing.T) {
	const limit = 32 << 10
	long := strings.Repeat("é", limit)
	value := json.RawMessage(`{"text":"` + long + `"}`)
	short := strings.Repeat("é", 512) + "…" // 1 KiB
	base := func() approvals.Request {
		return approvals.Request{
			ID: "01A", Status: approvals.StatusPending, ToolName: "bash", Arguments: json.RawMessage(`{"command":"ls"}`), Resource: "ls", ArgsPreview: "ls",
			Tool:      approvals.Tool{Description: "runs", Parameters: json.RawMessage(`{"type":"object"}`)},
			Decisions: []approvals.Decision{{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`{}`), Note: "note"}},
			Details:   approvals.Details{Commands: []string{"ls"}, RawArguments: "raw", Flags: []string{"odd"}},
		}
	}
	dropped := func() approvals.Request {
		r := base()
		r.Arguments, r.Tool.Parameters, r.Decisions[0].ModifiedArgs, r.Details.RawArguments = nil, nil, nil, ""
		r.Details.Abridged = true
		return r
	}
	tests := map[string]struct{ large, short func(*approvals.Request) }{
		"arguments":   {func(r *approvals.Request) { r.Arguments = value }, nil},
		"raw":         {func(r *approvals.Request) { r.Details.RawArguments = long }, nil},
		"parameters":  {func(r *approvals.Request) { r.Tool.Parameters = value }, nil},
		"edit":        {func(r *approvals.Request) { r.Decisions[0].ModifiedArgs = value }, nil},
		"resource":    {func(r *approvals.Request) { r.Resource = long }, func(r *approvals.Request) { r.Resource = short }},
		"half a rune": {func(r *approvals.Request) { r.Resource = "x" + long }, func(r *approvals.Request) { r.Resource = "x" + strings.Repeat("é", 511) + "…" }},
		"description": {func(r *approvals.Request) { r.Tool.Description = long }, func(r *approvals.Request) { r.Tool.Description = short }},
		"note":        {func(r *approvals.Request) { r.Decisions[0].Note = long }, func(r *approvals.Request) { r.Decisions[0].Note = short }},
		"commands": {
			func(r *approvals.Request) { r.Details.Commands = slices.Repeat([]string{long[:1<<10] + "tail"}, 50) },
			func(r *approvals.Request) { r.Details.Commands = slices.Repeat([]string{short}, 10) },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, before, want := base(), base(), dropped()
			tt.large(&r)
			tt.large(&before)
			if tt.short != nil {
				tt.short(&want)
			}
			got := r.Abridged()
			if !reflect.DeepEqual(want, got) { // cmp compares texts byte by byte
				t.Errorf("abridged:\n%s", cmp.Diff(want, got))
			}
			if !reflect.DeepEqual(before, r) {
				t.Errorf("the request itself has changed:\n%s", cmp.Diff(before, r))
			}
			text, err := json.Marshal(got)
			if err != nil || len(text) > limit/2 || !strings.Contains(string(text), `"arguments":null`) {
				t.Errorf("%d bytes, %v: %.200s", len(text), err, text)
			}
			if restored := got.Restored(&r); !reflect.DeepEqual(r, restored) {
				t.Errorf("restored:\n%s", cmp.Diff(r, restored))
			}
		})
	}
	t.Run("at the limit", func(t *testing.T) {
		r := base()
		r.Resource += strings.Repeat("x", limit-r.Size())
		if abridged := r.Abridged(); !reflect.DeepEqual(r, abridged) {
			t.Errorf("a request of %d bytes is abridged:\n%s", r.Size(), cmp.Diff(r, abridged))
		}
		if r.Resource += "x"; !r.Abridged().Details.Abridged {
			t.Error("one byte more is not")
		}
	})
}

// Finding 24: a request that is known in full stays complete when decisions arrive, except
// for the arguments of a new edit.
func TestRestored(t *testing.T) {
	whole := approvals.Request{ID: "01A", Arguments: json.RawMessage(`"` + strings.Repeat("x", 64<<10) + `"`)}
	tests := map[string]struct {
		decisions []approvals.Decision
		abridged  bool
	}{
		"an approval": {[]approvals.Decision{{Action: approvals.ActionApprove, ReviewerID: "ann"}}, false},
		"an edit":     {[]approvals.Decision{{Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`{}`)}}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			now := whole
			now.Decisions = tt.decisions
			short := now.Abridged()
			got := short.Restored(&whole)
			if string(got.Arguments) != string(whole.Arguments) || got.Details.Abridged != tt.abridged || len(got.Decisions) != 1 {
				t.Errorf("restored: abridged %t, want %t; %d bytes of arguments", got.Details.Abridged, tt.abridged, len(got.Arguments))
			}
			if again := short.Restored(&short); !again.Details.Abridged {
				t.Error("restored of an abridged one")
			}
		})
	}
}
