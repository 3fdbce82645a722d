package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGroupsAreThoseOfAllRulesThatAsk(t *testing.T) {
	p, err := Parse("p", []byte(`rules:
  - ask: [transfer]
    reviewers: [finance]
    escalate: {after: 1m, to: [oncall]}
  - ask: [pay]
    reviewers: [finance, board]
    limit: {per_turn: 1}
  - allow: [fetch]
    limit: {per_turn: 5}
    reviewers: [web]
  - allow: [read]
`))
	if err != nil {
		t.Fatal(err)
	}
	groups := p.Groups()
	if groups["finance"] != "p:2" && groups["finance"] != "p:5" {
		t.Errorf("finance is named by %s", groups["finance"])
	}
	delete(groups, "finance")
	if diff := cmp.Diff(map[string]string{"oncall": "p:2", "board": "p:5", "web": "p:8"}, groups); diff != "" {
		t.Error(diff)
	}
}
