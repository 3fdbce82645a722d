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

func TestHeadline(t *testing.T) {
	for _, tt := range []struct {
		request Request
		want    string
	}{
		{Request{Kind: KindDecision, ArgsPreview: "Which?", Title: "The agent asks for a decision", Details: Details{Questions: make([]Question, 1)}}, "Which?"},
		{Request{Kind: KindCombined, ArgsPreview: "Which?", Details: Details{Questions: make([]Question, 3)}}, "Which? (and 2 more)"},
		{Request{Kind: KindCombined, ArgsPreview: "Which?", Details: Details{Abridged: true}}, "Which?"},
		{Request{Kind: KindEnvVar, Title: "The agent asks for values"}, "The agent asks for values"},
		{Request{Kind: KindPermission, ArgsPreview: "ls"}, ""},
	} {
		if got := tt.request.Headline(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.request, got, tt.want)
		}
		if got := Heading([]Request{tt.request}); got != tt.want {
			t.Errorf("%+v: the heading is %q, want %q", tt.request, got, tt.want)
		}
		if got := NoticeHeading([]*Request{&tt.request}); got != "" {
			t.Errorf("%+v: others read %q", tt.request, got)
		}
	}
}
