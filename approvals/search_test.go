package approvals_test

import (
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

func TestSearch(t *testing.T) {
	r := approvals.Request{
		ID: "01ABC", ToolName: "transfer_money", Principal: approvals.Principal{Tenant: "acme", User: "Bob", Agent: "release-bot"},
		Arguments: []byte(`{"to":"caf\u00e9 \"Sol\"","n":12500.5,"a":["first\nsecond"]}`),
		Context:   approvals.Context{LastUserMessage: "Pay the ΣΊΣΥΦΟΣ invoice"},
		Decisions: []approvals.Decision{{ReviewerID: "carla", OnBehalfOf: "dan", Note: "Ask finance first.", ModifiedArgs: []byte(`{"to":"\u00fcber"}`)}},
	}
	for text, want := range map[string]bool{
		"":                       true,
		"  \n ":                  true,
		"BOB finance":            true,
		"bob dave":               false,
		`café "sol"`:             true, // as it reads
		`caf\u00e9`:              true, // as it is written
		"12500.5 second":         true,
		"release-bot 01abc acme": true,
		"dan über":               true,
		"σίσυφος pay":            true,
		"descending":             false,
	} {
		if got := approvals.NewSearch(text).Finds(&r); got != want {
			t.Errorf("%q finds the request: %t", text, got)
		}
	}
	broken := approvals.Request{Arguments: []byte(`"{\"command\": \"l\\u0073\""`)}
	if !approvals.NewSearch(`"command":`).Finds(&broken) {
		t.Error("arguments that are not strict JSON are not searched")
	}
}
