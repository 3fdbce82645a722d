package approvals_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/approvals"
)

// A filter excludes no request that the search finds.
func FuzzSearchFilter(f *testing.F) {
	f.Add("make deploy-12. && make check", "deploy-12.")
	f.Add("Pay the ΣΊΣΥΦΟΣ invoice", "σίσυφος pay")
	f.Add(`caf\u00e9`, "é")
	f.Add("ab", "ab")
	f.Add(strings.Repeat("0123456789abcdef", 100), "f01")
	f.Fuzz(func(t *testing.T, text, words string) {
		arguments, err := json.Marshal(map[string]string{"command": text})
		if err != nil {
			t.Fatal(err)
		}
		r := approvals.Request{ID: "01ABC", ToolName: text, Arguments: arguments}
		filter := approvals.SearchFilter{}.With(r.SearchText())
		group := approvals.SearchFilter{}.With(words).With(r.SearchText()).With(text)
		for _, search := range []approvals.Search{approvals.NewSearch(words), approvals.NewSearch(text)} {
			finds := search.Finds(&r)
			if finds && !(search.FilterQuery().May(filter) && search.FilterQuery().May(group)) {
				t.Errorf("a search for %q or its text excludes %q", words, text)
			}
			if search.FindsText(r.SearchText()) != finds {
				t.Errorf("a search for %q or its text in the text of %q finds %v", words, text, !finds)
			}
		}
	})
}

// A filter excludes nearly all requests without a word.
func TestSearchFilterExcludes(t *testing.T) {
	const requests = 2000
	read, query := 0, approvals.NewSearch("deploy-1234.").FilterQuery()
	for i := range requests {
		r := approvals.Request{
			ID: fmt.Sprintf("01KAXW%020d", i), RunID: fmt.Sprintf("run-%d", i), SessionID: "session-1", ToolName: "bash",
			Arguments: fmt.Appendf(nil, `{"command":"make deploy-%d. && make check","cwd":"/srv/app"}`, i),
			Context:   approvals.Context{LastUserMessage: "Deploy the application and check it."},
		}
		if query.May(approvals.SearchFilter{}.With(r.SearchText())) {
			read++
		}
	}
	if read == 0 || read > requests/50 {
		t.Errorf("%d of %d requests are read", read, requests)
	}
	large := approvals.Request{Arguments: fmt.Appendf(nil, `{"command":%q}`, strings.Repeat("make ", 100_000))}
	if !approvals.NewSearch("deploy").FilterQuery().May(approvals.SearchFilter{}.With(large.SearchText())) {
		t.Error("a large request is excluded, which has no text")
	}
}
