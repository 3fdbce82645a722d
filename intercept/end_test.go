package intercept

import "testing"

// Each end of an answer that is not the model's own has a reason of its own.
func TestAmbiguousEnd(t *testing.T) {
	for reason, want := range map[string]string{
		"length": AmbiguousCut, "max_tokens": AmbiguousCut, "max_output_tokens": AmbiguousCut, "model_context_window_exceeded": AmbiguousCut,
		"content_filter": AmbiguousFiltered, "refusal": AmbiguousRefused, "stop_sequence": AmbiguousStopped,
		"": "", "stop": "", "tool_calls": "", "tool_use": "", "end_turn": "", "function_call": "",
	} {
		if got := AmbiguousEnd(reason); got != want {
			t.Errorf("%s: %q", reason, got)
		}
	}
}
