package rule

import (
	"strings"
	"testing"
)

// TestChanges: what differs of two policies is a line for each pattern, whatever their form.
func TestChanges(t *testing.T) {
	for _, tt := range []struct{ name, before, after, want string }{
		{"nothing", "rules: [{allow: [a, b], reason: x}]\n", "language: 2\nworkspace: [.]\nrules:\n  - allow: [b]\n  - allow: [a]\n    reason: y\n", ""},
		{"patterns", "rules: [{allow: [a, b]}]\n", "rules: [{allow: [b, c]}, {ask: [a]}]\n", "- allow a\n+ allow c\n+ ask a"},
		{"settings", "rules: [{allow: [a], does: [read], within: workspace}]\n", "rules: [{allow: [a], within: workspace, does: [read, check]}]\n", "- allow a  {does: [read], within: workspace}\n+ allow a  {does: [read, check], within: workspace}"},
		{
			"other keys", "default: ask\ntaint: [a]\ntools: {x: {risk: low, args: [b]}}\n", "default: deny\ntaint: [b]\ntools: {x: {args: [b], risk: high}}\n",
			"- default: ask\n+ default: deny\n- taint a\n+ taint b\n- tool x {args: [b], risk: low}\n+ tool x {args: [b], risk: high}",
		},
		{"from nothing", "", "rules: [{allow: [a]}]\n", "+ allow a"},
	} {
		got, err := Changes([]byte(tt.before), []byte(tt.after))
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(got, "\n"); text != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, text, tt.want)
		}
	}
}
