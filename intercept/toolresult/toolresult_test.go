package toolresult

import "testing"

// A content is text only if every member is known to be a text.
func TestTextOnly(t *testing.T) {
	for raw, want := range map[string]bool{
		`"a"`: true,
		`[]`:  true,
		`[{"type":"text","text":"a"},{"type":"input_text","text":"b","cache_control":{"type":"ephemeral"}}]`: true,
		`[{"type":"text","text":"a"},{"type":"image","source":{}}]`:                                          false,
		`[{"type":"text","text":"a","citations":[]}]`:                                                        false,
		`[{"type":"image","text":"a"}]`:                                                                      false,
		`[{"type":"text","text":1}]`:                                                                         false,
		`["a"]`:                                                                                              false,
		`{"text":"a"}`:                                                                                       false,
		`1`:                                                                                                  false,
	} {
		if got := (&Content{Raw: raw}).TextOnly(); got != want {
			t.Errorf("%s: %t", raw, got)
		}
	}
}
