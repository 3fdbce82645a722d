package intercept

import "testing"

// Finding 19: half of a surrogate pair passes as text, and never in what may be a call.
func TestHalvesOfSurrogatePairs(t *testing.T) {
	for payload, want := range map[string]bool{
		`{"content":"\ud83d"}`:                                true,
		`{"content":"\ude00 and \uD83D"}`:                     true,
		`{"content":"\ud83d\ud83d\ude00"}`:                    true,
		`{"content":"\ud83dx\ude00"}`:                         true,
		`{"content":"\ud83d\ude00"}`:                          true,
		`{"content":"\\ud83d"}`:                               true,
		`{"content":"\ud83d","content":"x"}`:                  false,
		`{"\ud83d":1,"\ud83e":2}`:                             false,
		`{"content":"\ud83"}`:                                 false,
		`{"content":"\u+83d"}`:                                false,
		`{"content":"\ud83d"`:                                 false,
		"{\"content\":\"\\ud83d\xff\"}":                       false,
		`{"tool_calls":[{"arguments":"\ud83d"}]}`:             false,
		`{"partial_json":"\ud83d","type":"input_json_delta"}`: false,
	} {
		if got := readable([]byte(payload)); got != want {
			t.Errorf("%s: %t", payload, got)
		}
	}
}
