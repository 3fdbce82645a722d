package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/textview"
)

// What many requests have in common is answered with some of them.
func TestAmbiguousIDListsCandidates(t *testing.T) {
	matches := make([]approvals.Request, mostCandidates+1)
	for i := range matches {
		matches[i] = approvals.Request{ID: "01M7YRM0YNGJ3ES9MEMQCP3J75", ToolName: "ba\nsh", ArgsPreview: strings.Repeat("x", 2*textview.PreviewWidth)}
	}
	lines := strings.Split(ambiguous("01M7", "", matches), "\n")
	want := "  01M7YRM0YNGJ3ES9MEMQCP3J75  ba\\x0ash  " + strings.Repeat("x", textview.PreviewWidth-1) + "…"
	if len(lines) != mostCandidates+3 || lines[1] != want || lines[mostCandidates+1] != "  and more" {
		t.Errorf("%q", lines)
	}
}

// An id that a script left empty, or nearly so, decides nothing: it is refused
// before anybody is asked which requests there are.
func TestTooShortIDNamesNothing(t *testing.T) {
	for _, id := range []string{"", "0", "01M"} {
		var usage *usageError
		if _, err := resolve(t.Context(), nil, &id); !errors.As(err, &usage) {
			t.Errorf("id %q: %v, want a usage error", id, err)
		}
	}
}
