package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/judge"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// reloadEvery is how often the policy files are read.
const reloadEvery = time.Second

// policyMetrics count the loads of policy files.
type policyMetrics struct {
	valid prometheus.Gauge
	loads *prometheus.CounterVec
}

func newPolicyMetrics(reg prometheus.Registerer) policyMetrics {
	f := promauto.With(reg)
	m := policyMetrics{
		valid: f.NewGauge(prometheus.GaugeOpts{Name: "heldcall_policy_valid", Help: "1 if the last load of every policy file succeeded, else 0."}),
		loads: f.NewCounterVec(prometheus.CounterOpts{Name: "heldcall_policy_reloads_total", Help: "Loads of changed policy files, by result."}, []string{"result"}),
	}
	for _, result := range []string{"taken", "refused"} {
		m.loads.WithLabelValues(result)
	}
	m.valid.Set(1)
	return m
}

// policies reloads the policies when their files change.
type policies struct {
	judge     *judge.Judge
	log       *slog.Logger
	metrics   policyMetrics
	requested chan struct{}
	parts     *parts         // with the audit log
	changes   *audit.Changes // since the start
}

func newPolicies(p *parts) *policies {
	return &policies{judge: p.judge, log: p.options.Log, metrics: newPolicyMetrics(p.registry), requested: make(chan struct{}, 1), parts: p}
}

// start records the policies that have changed since heldcall last ran, and watches the files.
func (p *policies) start(ctx context.Context, running *lifecycle) error {
	p.changes = audit.NewChanges(p.parts.store.events)
	if err := p.parts.untilAnswered(ctx, p.record); err != nil {
		return err
	}
	if p.judge.Shadow() {
		p.log.Warn("policy.mode is shadow: calls are judged, logged and counted, and nothing is held or denied")
	}
	running.background("policy", p.watch)
	return nil
}

// record writes to the audit log which policies have changed. A change decides requests that wait.
func (p *policies) record(ctx context.Context) error {
	inForce := map[string]string{}
	for _, s := range p.judge.Sources() {
		inForce[s.Name()] = s.SHA256()
	}
	changed, err := p.changes.Policies(ctx, inForce)
	if changed {
		p.decideWaiting()
	}
	return err
}

// decideWaiting has the gate decide the requests that wait by the policies in force.
func (p *policies) decideWaiting() {
	select {
	case p.parts.policyChanged <- struct{}{}:
	default: // it has still to look
	}
}

// reload reads the files again at the next opportunity, whether they have changed or not.
func (p *policies) reload() {
	select {
	case p.requested <- struct{}{}:
	default: // a reload is already requested
	}
}

// watch reloads changed files, and all files on request, until the context ends.
func (p *policies) watch(ctx context.Context) error {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-p.requested:
			asked = true
		}
		valid, changed := 1.0, false
		for _, s := range p.judge.Sources() {
			changed = p.refresh(s, asked) || changed
			if s.Refused() != "" {
				valid = 0
			}
		}
		p.metrics.valid.Set(valid)
		if err := p.parts.untilAnswered(ctx, p.record); err != nil && ctx.Err() == nil {
			p.log.Error("a change of the policy is not in the audit log yet; trying again", "error", err, "in", reloadEvery)
		}
		if changed {
			p.decideWaiting() // another replica may have recorded the change
			p.warnOfVacantRoutes()
		}
	}
}

// refresh loads the file of a policy, and reports whether the policy has changed. An
// invalid file leaves the policy in force; it is logged once until it changes, and on request.
func (p *policies) refresh(s *judge.Source, asked bool) (changed bool) {
	before := s.Refused()
	changed, err := s.Reload(asked)
	switch {
	case err != nil && (asked || s.Refused() != before):
		p.metrics.loads.WithLabelValues("refused").Inc()
		p.log.Error("the changed policy is refused; the one before stays in force", "error", err)
	case changed:
		p.metrics.loads.WithLabelValues("taken").Inc()
		message := "the policy has changed"
		if asked {
			message = "the policy has been read again"
		}
		p.log.Info(message, "policy", absolute(s.File()))
		p.warnOfVacantGroups(s)
		p.warnOfWidened(s)
	case asked && err == nil:
		p.log.Info("there is no policy to read again", "policy", absolute(s.File()))
	}
	return changed
}

// warnOfVacantGroups logs the groups of a policy that have no member.
func (p *policies) warnOfVacantGroups(s *judge.Source) {
	for _, vacant := range p.parts.inForce.Load().Console.Vacant(s.Policy()) {
		p.log.Warn(vacant, "policy", absolute(s.File()))
	}
}

// warnOfWidened logs the allow patterns that cover more than they did in language 1, if the policy names no language.
func (p *policies) warnOfWidened(s *judge.Source) {
	if patterns := s.Policy().Widened(); len(patterns) > 0 {
		p.log.Warn("allow patterns of the policy cover more than in earlier versions: check them with heldcall policy check, then write language: 2; or write language: 1 to keep what they covered",
			"policy", absolute(s.File()), "patterns", patterns)
	}
}

// warnOfVacantRoutes logs the groups of routes that no rule in force asks, or that have
// no member.
func (p *policies) warnOfVacantRoutes() {
	var inForce []*policy.Policy
	for _, s := range p.judge.Sources() {
		inForce = append(inForce, s.Policy())
	}
	for _, vacant := range p.parts.inForce.Load().VacantRoutes(inForce...) {
		p.log.Warn(vacant)
	}
}
