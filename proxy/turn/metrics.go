package turn

import (
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/policy"
	"github.com/heldcall/heldcall/intercept"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics of turns. Every label is an enumeration.
type metrics struct {
	turns         *prometheus.CounterVec
	verdicts      *prometheus.CounterVec
	outcomes      *prometheus.CounterVec
	ruleDenials   *prometheus.CounterVec
	hosted        *prometheus.CounterVec
	failedClosed  *prometheus.CounterVec
	storeErrors   *prometheus.CounterVec
	continuations prometheus.Counter
	spliced       prometheus.Counter
	unplaced      prometheus.Counter
	unseen        prometheus.Counter
	firstByte     *prometheus.HistogramVec
	overhead      prometheus.Observer
	release       prometheus.Observer
}

func newMetrics(reg prometheus.Registerer, dialects []intercept.Dialect) *metrics {
	f := promauto.With(reg)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "heldcall_" + name, Help: help}, labels)
	}
	histogram := func(name, help string, first, factor float64, labels ...string) *prometheus.HistogramVec {
		return f.NewHistogramVec(prometheus.HistogramOpts{Name: "heldcall_" + name, Help: help, Buckets: prometheus.ExponentialBuckets(first, factor, 14)}, labels)
	}
	m := &metrics{
		turns:         counter("turns_total", "Answers of gated routes by dialect and how they ended.", "dialect", "outcome"),
		verdicts:      counter("call_verdicts_total", "Verdicts of policy on tool calls.", "verdict"),
		outcomes:      counter("calls_total", "How tool calls ended.", "outcome"),
		ruleDenials:   counter("rule_denials_total", "Tool calls that policy denied, by rule; all grants are counted as grant.", "rule"),
		hosted:        counter("hosted_tools_total", "Tools run by the provider that requests offered, by verdict.", "verdict"),
		failedClosed:  counter("failed_closed_total", "Answers that were not released, by code.", "code"),
		storeErrors:   counter("proxy_store_errors_total", "Operations on durable state that failed in the data plane.", "operation"),
		continuations: counter("continuations_total", "Upstream requests that heldcall made to report a denial to the model.").WithLabelValues(),
		spliced:       counter("spliced_turns_total", "Hidden turns put back into agents' requests.").WithLabelValues(),
		unplaced:      counter("unplaced_turns_total", "Hidden turns without a certain place in the agent's history, counted in each request.").WithLabelValues(),
		unseen:        counter("results_unseen_total", "Conversations that went on without the results of released calls, so that no rule could judge them.").WithLabelValues(),
		firstByte:     histogram("upstream_first_byte_seconds", "Time from the request to upstream to the head of its answer.", 0.005, 2, "dialect"),
		overhead:      histogram("overhead_seconds", "Time that heldcall's own work added: before the upstream request, and from the last ruling to the release.", 0.00001, 2.5).WithLabelValues(),
		release:       histogram("decision_to_release_seconds", "Time from a turn's last decision to its release.", 0.0005, 2).WithLabelValues(),
	}
	m.zero(dialects)
	return m
}

// zero creates the series that alerts look for, so that they exist before the
// first event.
func (m *metrics) zero(dialects []intercept.Dialect) {
	for _, dialect := range dialects {
		for _, outcome := range []string{"passed", "upstream_error", "failed"} {
			m.turns.WithLabelValues(dialect.Name(), outcome)
		}
	}
	for _, v := range []policy.Action{policy.Allow, policy.Deny, policy.Ask} {
		m.verdicts.WithLabelValues(string(v))
		m.hosted.WithLabelValues(string(v))
	}
	for _, o := range []approvals.Outcome{
		approvals.OutcomeAllowedByRule, approvals.OutcomeAllowedByPerson, approvals.OutcomeAllowedByTimeout, approvals.OutcomeModified,
		approvals.OutcomeDeniedByRule, approvals.OutcomeDeniedByPerson, approvals.OutcomeExpired, approvals.OutcomeCancelled, approvals.OutcomeParked, approvals.OutcomeAborted,
		approvals.OutcomeAnswered, approvals.OutcomeDefault, approvals.OutcomeInvalidQuestion,
	} {
		m.outcomes.WithLabelValues(string(o))
	}
	for _, operation := range []string{"open", "record", "cancel", "turns"} {
		m.storeErrors.WithLabelValues(operation)
	}
	for _, c := range []intercept.Code{
		intercept.CodeUpstreamUnreachable, intercept.CodeUpstreamCut, intercept.CodeAnswerNotUnderstood, intercept.CodeStoreUnavailable, intercept.CodeShuttingDown, intercept.CodeOverloaded,
	} {
		m.failedClosed.WithLabelValues(string(c))
	}
}

func (m *metrics) verdict(a policy.Action)     { m.verdicts.WithLabelValues(string(a)).Inc() }
func (m *metrics) outcome(o approvals.Outcome) { m.outcomes.WithLabelValues(string(o)).Inc() }

// deniedBy counts a call that policy denied. The rules of a policy are few; the
// ids of grants are not.
func (m *metrics) deniedBy(v policy.Verdict) {
	rule := v.Rule
	if len(v.Grants) > 0 {
		rule = "grant"
	}
	m.ruleDenials.WithLabelValues(rule).Inc()
}

// storeError counts an operation on durable state that failed.
func (m *metrics) storeError(operation string) { m.storeErrors.WithLabelValues(operation).Inc() }

// Ended counts an answer of a route without calls, which is no turn.
func (e *Engine) Ended(route, outcome string) {
	e.metrics.turns.WithLabelValues(route, outcome).Inc()
}
