package app_test

import "testing"

// What agents send is counted, whatever became of it.
func TestAgentRequests(t *testing.T) {
	t.Parallel()
	w := build(t, denyAll, refusedOnce)
	for want, path := range []string{"", "/v1/chat/completions", "/v1/realtime", "/elsewhere"} {
		if path != "" {
			w.raw(rawPost(path, wholeRequest, ""))
		}
		if got, err := w.app.AgentRequests(); err != nil || got != want {
			t.Errorf("after %q: %d, %v, want %d", path, got, err, want)
		}
	}
}
