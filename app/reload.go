package app

import (
	"context"
	"time"

	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// reloadEvery is how often the policies' files are read to see whether they have
// changed.
const reloadEvery = time.Second

// policyMetrics tell whether what the files hold is in force.
type policyMetrics struct {
	valid prometheus.Gauge
	loads *prometheus.CounterVec
}

func newPolicyMetrics(reg prometheus.Registerer) policyMetrics {
	f := promauto.With(reg)
	m := policyMetrics{
		valid: f.NewGauge(prometheus.GaugeOpts{Name: "heldcall_policy_valid", Help: "1 while the policies in force are those in their files, 0 while what a file holds is refused."}),
		loads: f.NewCounterVec(prometheus.CounterOpts{Name: "heldcall_policy_reloads_total", Help: "Changes of a policy's file, by whether they were taken."}, []string{"result"}),
	}
	for _, result := range []string{"taken", "refused"} {
		m.loads.WithLabelValues(result)
	}
	m.valid.Set(1)
	return m
}

// Reload reads the policies again, as a change of their files does, and says in the
// log what came of it.
func (a *App) Reload() {
	select {
	case a.reload <- struct{}{}:
	default: // it is about to happen
	}
}

// watchPolicies takes changes of the policies' files, and those that [App.Reload]
// asks for, until the context ends.
func (a *App) watchPolicies(ctx context.Context) error {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-a.reload:
			asked = true
		}
		valid, changed := 1.0, false
		for _, s := range a.judge.Sources() {
			changed = a.refresh(s, asked) || changed
			if s.Refused() != "" {
				valid = 0
			}
		}
		a.policyMetrics.valid.Set(valid)
		if changed {
			a.warnOfVacantRoutes()
		}
	}
}

// refresh takes what a policy's file holds, and reports whether that was taken. What is
// wrong is refused, once until it changes or somebody asks, and the policy in force stays.
func (a *App) refresh(s *judge.Source, asked bool) (changed bool) {
	before := s.Refused()
	changed, err := s.Reload(asked)
	switch {
	case err != nil && (asked || s.Refused() != before):
		a.policyMetrics.loads.WithLabelValues("refused").Inc()
		a.log.Error("the changed policy is refused; the one before stays in force", "error", err)
	case changed:
		a.policyMetrics.loads.WithLabelValues("taken").Inc()
		message := "the policy has changed"
		if asked {
			message = "the policy has been read again"
		}
		a.log.Info(message, "policy", absolute(s.File()))
		a.warnOfVacantGroups(s)
	case asked && err == nil:
		a.log.Info("there is no policy to read again", "policy", absolute(s.File()))
	}
	return changed
}

// warnOfVacantGroups says which groups a policy asks in vain.
func (a *App) warnOfVacantGroups(s *judge.Source) {
	for _, vacant := range a.config.Console.Vacant(s.Policy()) {
		a.log.Warn(vacant, "policy", absolute(s.File()))
	}
}

// warnOfVacantRoutes says which groups routes name in vain, by the policies in force.
func (a *App) warnOfVacantRoutes() {
	var inForce []*policy.Policy
	for _, s := range a.judge.Sources() {
		inForce = append(inForce, s.Policy())
	}
	for _, vacant := range a.config.VacantRoutes(inForce...) {
		a.log.Warn(vacant)
	}
}

func (a *App) startPolicy(_ context.Context, running *lifecycle) error {
	if a.judge.Shadow() {
		a.log.Warn("policy.mode is shadow: calls are judged, logged and counted, and nothing is held or denied")
	}
	running.background("policy", a.watchPolicies)
	return nil
}
