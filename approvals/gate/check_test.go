package gate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// fieldOf returns the field that an error names, "" for no error.
func fieldOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	invalid := (*approvals.InvalidError)(nil)
	if !errors.As(err, &invalid) {
		t.Fatalf("%v is not an InvalidError", err)
	}
	return invalid.Field
}

func TestCheckDecision(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	args := json.RawMessage(`{}`)
	for name, c := range map[string]struct {
		d     approvals.Decision
		field string
	}{
		"approve":                    {approvals.Decision{Action: approvals.ActionApprove}, ""},
		"deny":                       {approvals.Decision{Action: approvals.ActionDeny}, ""},
		"abort":                      {approvals.Decision{Action: approvals.ActionAbortRun}, ""},
		"edit":                       {approvals.Decision{Action: approvals.ActionModifyArgs, ModifiedArgs: args}, ""},
		"edit of nothing":            {approvals.Decision{Action: approvals.ActionModifyArgs}, "modified_args"},
		"approve with an edit":       {approvals.Decision{Action: approvals.ActionApprove, ModifiedArgs: args}, "modified_args"},
		"always with an edit":        {approvals.Decision{Action: approvals.ActionAllowAlways, ModifiedArgs: args}, "modified_args"},
		"always with terms":          {approvals.Decision{Action: approvals.ActionDenyAlways, Patterns: []string{"x"}, Scope: approvals.GrantUser, GrantExpiresAt: &at}, ""},
		"approve with patterns":      {approvals.Decision{Action: approvals.ActionApprove, Patterns: []string{"x"}}, "patterns"},
		"deny with an end":           {approvals.Decision{Action: approvals.ActionDeny, GrantExpiresAt: &at}, "grant_expires_at"},
		"approve with a scope":       {approvals.Decision{Action: approvals.ActionApprove, Scope: approvals.GrantUser}, "scope"},
		"approve with a template":    {approvals.Decision{Action: approvals.ActionApprove, Template: "t"}, "template"},
		"answer":                     {approvals.Decision{Action: approvals.ActionAnswer}, ""},
		"answer with an edit":        {approvals.Decision{Action: approvals.ActionAnswer, ModifiedArgs: args}, "modified_args"},
		"no action":                  {approvals.Decision{}, "action"},
		"an unknown action":          {approvals.Decision{Action: "perhaps"}, "action"},
		"in the name of the timeout": {approvals.Decision{Action: approvals.ActionApprove, ReviewerID: approvals.ReviewerTimeout}, "reviewer_id"},
	} {
		if c.d.ReviewerID == "" {
			c.d.ReviewerID = "rita"
		}
		if got := fieldOf(t, checkDecision(&c.d)); got != c.field {
			t.Errorf("%s: %q, want %q", name, got, c.field)
		}
	}
	if got := fieldOf(t, checkDecision(&approvals.Decision{Action: approvals.ActionApprove})); got != "reviewer_id" {
		t.Errorf("without a reviewer: field %q", got)
	}
}

func TestCheckArguments(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`)
	free := approvals.Details{FreeText: true}
	for name, c := range map[string]struct {
		details approvals.Details
		args    string
		says    string // part of the reason, "" for none
	}{
		"an object":                    {approvals.Details{}, `{"n":1}`, ""},
		"an object against its schema": {approvals.Details{}, `{"n":"1"}`, "n"},
		"a field too many":             {approvals.Details{}, `{"m":1}`, "m"},
		"a string":                     {approvals.Details{}, `"x"`, "a JSON object is needed"},
		"two values":                   {approvals.Details{}, `{} {}`, "not strict JSON"},
		"duplicate names":              {approvals.Details{}, `{"n":1,"n":2}`, "not strict JSON"},
		"no JSON":                      {approvals.Details{}, `{`, "not strict JSON"},
		"bytes that are no UTF-8":      {approvals.Details{}, "{\"n\":\"\xff\"}", "not strict JSON"},
		"free text":                    {free, `"rm -rf x"`, ""},
		"an object for free text":      {free, `{"n":1}`, "a JSON string is needed"},
	} {
		r := approvals.Request{Details: c.details, Tool: approvals.Tool{Parameters: schema}}
		err := checkArguments(&r, json.RawMessage(c.args))
		if field := fieldOf(t, err); (field == "") != (c.says == "") || (err != nil && (field != editedField || !strings.Contains(err.Error(), c.says))) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
