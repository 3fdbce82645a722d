package console

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/heldcall/heldcall/console/problem"
)

const checkTimeout = 2 * time.Second

type healthHandlers struct{ checks []Check }

func (h healthHandlers) health(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, healthReply{"ok"})
}

// readiness runs every check at once and reports which fail. An advisory one does not make it fail.
func (h healthHandlers) readiness(w http.ResponseWriter, r *http.Request) error {
	results := make([]problem.Check, len(h.checks))
	var running sync.WaitGroup
	for i, check := range h.checks {
		running.Go(func() {
			ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
			defer cancel()
			results[i] = problem.Check{Name: check.Name, OK: true}
			if err := check.Check(ctx); err != nil {
				results[i] = problem.Check{Name: check.Name, Error: err.Error()}
			}
		})
	}
	running.Wait()
	var failed []string
	for i, result := range results {
		if !result.OK && !h.checks[i].Advisory {
			failed = append(failed, result.Name+": "+result.Error)
		}
	}
	if len(failed) > 0 {
		p := problem.New(http.StatusServiceUnavailable, problem.CodeNotReady, "not ready: "+strings.Join(failed, "; "))
		p.Checks = results
		return p
	}
	return answer(w, readinessReply{results, "ready"})
}
