//go:build agents

package agents_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// outside is the HTTP proxy that the agents are told to use for all hosts but
// loopback. It lets nothing through, and fails the test of an agent that tries.
func outside(t *testing.T) (url string) {
	var mu sync.Mutex
	tried := make(map[string]bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		tried[r.Method+" "+r.Host] = true
		http.Error(w, "nothing leaves this machine", http.StatusForbidden)
	}))
	t.Cleanup(func() {
		server.Close()
		for request := range tried {
			t.Errorf("the agent tried to reach another host than its model's: %s", request)
		}
	})
	return server.URL
}
