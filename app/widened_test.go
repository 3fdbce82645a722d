package app_test

import (
	"strings"
	"testing"
)

// TestWidenedPatternsAreReported: a start logs the allow patterns that cover more than in earlier versions, unless the policy
// names its language.
func TestWidenedPatternsAreReported(t *testing.T) {
	t.Parallel()
	const rules = "tools: {bash: {resource: command, as: shell}}\nrules: [{allow: ['bash(make *)', 'bash(git log *)']}]\n"
	for _, language := range []string{"", "language: 1\n", "language: 2\n"} {
		log := build(t, language+rules, readsEachTime).log.String()
		if got, want := strings.Contains(log, "bash(make *) covers all of make"), language == ""; got != want {
			t.Errorf("%q: the report of make is %t, want %t:\n%s", language, got, want, log)
		}
		if strings.Contains(log, "bash(git log *) covers") {
			t.Errorf("%q: git log covers no more than before:\n%s", language, log)
		}
	}
}
