//go:build agents

package agents_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// outside is the HTTP proxy that the agents use for all hosts but loopback. It refuses every
// connection, and fails the test of an agent that tries other hosts than known.
func outside(t *testing.T, known []string) (url string) {
	var mu sync.Mutex
	tried := make(map[string]bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		tried[r.Host] = true
		http.Error(w, "nothing leaves this machine", http.StatusForbidden)
	}))
	t.Cleanup(func() {
		server.Close()
		for host := range tried {
			if name, _, _ := strings.Cut(host, ":"); !slices.Contains(known, name) {
				t.Errorf("the agent tried to reach another host than its model's: %s", host)
			}
		}
	})
	return server.URL
}
