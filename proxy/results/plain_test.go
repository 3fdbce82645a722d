package results

import "testing"

// Forms that say the same are one; anything else that the model would read makes another.
func TestPlainForm(t *testing.T) {
	for _, raw := range []string{
		`"a"`, `" a\n"`, `"\"a\""`, `{"type":"text","text":"a"}`, `[{"type":"text","text":"a"}]`, `[{"type":"input_text","text":"a","cache_control":{"type":"ephemeral"}}]`,
		`"{\"type\":\"text\",\"value\":\"a\"}"`, `"[{\"type\":\"text\",\"text\":\"a\"}]"`, `{"type":"content","value":[{"type":"text","text":"a"}]}`, `{"type":"json","value":"a"}`,
	} {
		if got := plainForm(raw); got != "a" {
			t.Errorf("%s is read as %q", raw, got)
		}
	}
	for _, raw := range []string{
		`"b"`, `[]`, `[{"type":"text","text":"a"},{"type":"image","source":{}}]`, `[{"type":"text","text":"a","citations":[]}]`, `[{"type":"image","text":"a"}]`,
		`[{"type":"text","text":1}]`, `["a"]`, `{"text":"a"}`, `{"type":"text","text":"a","value":"b"}`, `{"type":"text","text":"a","text":"b"}`, `{"b":"a"}`, `1`,
	} {
		if got := plainForm(raw); got == "a" {
			t.Errorf("%s is read as a", raw)
		}
	}
	if plainForm(`{ "b": 1, "c": "\u0041" }`) != plainForm(`"{\"b\":1,\"c\":\"A\"}"`) {
		t.Error("white space and the spelling of strings count")
	}
}

func TestAlike(t *testing.T) {
	const long = "the account of the customer is DE89 3704 0044 0532 0130 00 and the balance is 12,000"
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`"` + long + `"`, `{"output":"` + long + `"}`, true},
		{`"` + long + `"`, `"Result:\n` + long + `"`, true},
		{`"` + long + `"`, `"` + long[:60] + `... [cut]"`, true},
		{`"` + long + `"`, `"` + long[:20] + `"`, true},
		{`"` + long + `"`, `"the account"`, true},
		{`"yes"`, `"no"`, false},
		{`"yes"`, `"yesterday"`, false},
		{`"yes"`, `[{"type":"text","text":"Yes."}]`, true},
		{`"` + long + `"`, `"14 lines"`, false},
		{`"page 1 of the mails"`, `"page 2 of the mails"`, false},
	} {
		if got := alike(essence(tt.a), essence(tt.b)); got != tt.want {
			t.Errorf("%s and %s: %t", tt.a, tt.b, got)
		}
	}
}
