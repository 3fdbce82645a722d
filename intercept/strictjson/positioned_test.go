package strictjson

import (
	"fmt"
	"strings"
	"testing"
)

// A body that is refused names the reason and the place.
func TestReasonAndPlace(t *testing.T) {
	const prefix = `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"user","content":[{"type":"text","text":"`
	const path = "/messages/1/content/0/text"
	for name, tt := range map[string]struct {
		body, reason, path string
		at                 int // -1: any
	}{
		"high half":       {prefix + `ab\ud83d c"}]}]}`, "half of a surrogate pair", path, len(prefix) + 2},
		"low half":        {prefix + `\uDE00"}]}]}`, "half of a surrogate pair", path, len(prefix)},
		"high and other":  {prefix + `\ud83d\u0041"}]}]}`, "half of a surrogate pair", path, len(prefix)},
		"not UTF-8":       {prefix + "a\xff" + `"}]}]}`, "not UTF-8", path, len(prefix) + 1},
		"twice":           {`{"a":{"b":1,"b":2}}`, "a name twice", "/a", -1},
		"syntax":          {`{"a":{"b":tru}}`, "syntax is wrong", "/a/b", -1},
		"cut":             {`{"a":{"b":"x`, "ends too early", "", -1},
		"a top-level one": {`{"input":"\ud83d"}`, "half of a surrogate pair", "/input", 10},
	} {
		_, err := ReadFields([]byte(tt.body), "messages")
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		got := err.Error()
		if !strings.Contains(got, tt.reason) || !strings.Contains(got, tt.path) || (tt.at >= 0 && !strings.HasSuffix(got, fmt.Sprintf("byte %d", tt.at))) {
			t.Errorf("%s: %s, want %q at %q, byte %d", name, got, tt.reason, tt.path, tt.at)
		}
	}
}
