package approvals

import "testing"

// TestAnswerTextOfValues: an answer is described by the names of its values, also without any.
func TestAnswerTextOfValues(t *testing.T) {
	t.Parallel()
	for want, values := range map[string]map[string]string{
		"conf: values of HOST, PORT": {"PORT": "80", "HOST": "db.example"},
		"conf: no values":            nil,
	} {
		r := &Request{Kind: KindCombined, Status: StatusAnswered, Details: Details{Questions: []Question{{ID: "conf", Kind: KindEnvVar}}}}
		r.Decisions = []Decision{{Action: ActionAnswer, Responses: map[string]Response{"conf": {Values: values}}}}
		if got := r.AnswerText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
